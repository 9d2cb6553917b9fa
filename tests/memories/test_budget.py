"""What fits a budget: rules, and a thousand random cases."""

import random

from mesa_memory.memories.prompt.budget import PERMANENT, Item, Share, fit


def lines(*sizes, **given):
    return [Item(size, **given) for size in sizes]


def test_shares_say_who_gets_how_much():
    one, other = fit([Share(lines(*[1] * 99), w) for w in (3, 1)], 80)
    assert (len(one.shown), len(other.shown)) == (60, 20)


def test_permanent_lines_come_before_all_shares():
    chapters, window = Share(lines(30, 30, rank=PERMANENT), 1), Share(lines(50, 40), 9)
    first, second = fit([chapters, window], 100)
    assert first.shown == (0, 1)
    assert (second.shown, second.left_out) == ((1,), (0,))


def test_a_line_that_is_too_long_gets_the_share_of_its_section():
    long, many = Share(lines(500)), Share(lines(*[10] * 99))
    first, second = fit([long, many], 200)
    assert first.shown == () and first.left_out == (0,)
    assert first.cut == (0, 100) and len(second.shown) == 10


def some(dice):
    """Sections as they may come."""
    return [
        Share(
            [
                Item(
                    dice.choice([0, 1, 5, 20, 100]),
                    dice.choice([0.0, 0.5, 1.0, PERMANENT]),
                    tuple(dice.sample("abcdefgh", dice.randrange(3))),
                    dice.choice([None, 1, 2]),
                )
                for _ in range(dice.randrange(12))
            ],
            dice.choice([0.1, 1.0, 4.0]),
            dice.randrange(8),
            dice.randrange(4),
        )
        for _ in range(dice.randrange(6))
    ]


def cost(share, found):
    groups = {share.items[place].group for place in found.shown} - {None}
    lines = sum(share.items[place].size for place in found.shown)
    return lines + len(groups) * share.group_size


def test_of_any_sections_the_budget_holds_and_nothing_is_forgotten():
    for seed in range(1000):
        dice = random.Random(seed)
        shares, total = some(dice), dice.randrange(300)
        fitted = fit(shares, total)
        assert fitted == fit(shares, total), "the same gives the same"
        assert sum(found.tokens for found in fitted) <= total
        told = [
            set(shares[n].items[place].keys)
            for n, found in enumerate(fitted)
            for place in found.shown
        ]
        keys = set().union(*told)
        for share, found in zip(shares, fitted, strict=True):
            assert not {*found.shown} & {*found.left_out}
            if found.tokens:
                room = found.cut[1] if found.cut else 0
                assert found.tokens == cost(share, found) + share.frame + room
            for place, item in enumerate(share.items):
                if place in found.shown:
                    continue
                shown_elsewhere = bool(item.keys) and keys.issuperset(item.keys)
                assert shown_elsewhere != (place in found.left_out)
            ranks = [(share.items[place].rank, place) for place in found.left_out]
            if ranks and found.shown:
                shown = [(share.items[place].rank, place) for place in found.shown]
                assert max(ranks) < min(shown), "the lowest goes first"


def test_whatever_there_is_room_for_is_shown():
    for seed in range(200):
        dice = random.Random(seed)
        shares = some(dice)
        fitted = fit(shares, 10**6)
        assert all(not found.left_out and not found.cut for found in fitted)
