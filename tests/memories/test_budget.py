"""What fits a budget: rules, and a thousand random cases."""

import random

from mesa_memory.memories.prompt.budget import PERMANENT, Item, Share, fit


def lines(*sizes, **given):
    return [Item(size, **given) for size in sizes]


#: of one section its share, the budget, and the places that are shown
SINGLE = [
    (Share(lines(10, 20), frame=5), 35, (0, 1)),
    (Share(lines(10, 10, 10), frame=5), 25, (1, 2)),  # the oldest goes first
    (Share([Item(10, 3.0), Item(10, 1.0), Item(10, 2.0)]), 20, (0, 2)),
    (Share(lines(5, 50, 5)), 30, (2,)),  # no older line in place of a long one
    (Share(lines(30, 30, 30, rank=PERMANENT)), 70, (1, 2)),
    (Share([Item(10, group=1), Item(10, group=1), Item(10, group=2)], group_size=5), 40,
     (0, 1, 2)),
    (Share([Item(10, group=1), Item(10, group=1), Item(10, group=2)], group_size=5), 39,
     (1, 2)),
    (Share(lines(1, 1), frame=4), 3, ()),  # without room for a heading
    (Share(lines(1, 1), frame=4), -5, ()),
    (Share([]), 10, ()),
]  # fmt: skip


def test_of_one_section_the_lowest_rank_goes_first_and_then_the_oldest():
    assert fit([], 10) == []
    for share, total, shown in SINGLE:
        (found,) = fit([share], total)
        left_out = tuple(n for n in range(len(share.items)) if n not in shown)
        assert (found.shown, found.left_out, found.cut) == (shown, left_out, None)
        assert found.tokens <= max(total, 0)


def test_what_a_section_leaves_goes_to_the_others():
    small, big = Share(lines(10)), Share(lines(*[10] * 9))
    first, second = fit([small, big], 100)
    assert len(first.shown) == 1 and len(second.shown) == 9
    assert len(fit([big, big], 100)[0].shown) == 5, "equal shares"


def test_shares_say_who_gets_how_much():
    one, other = fit([Share(lines(*[1] * 99), w) for w in (3, 1)], 80)
    assert (len(one.shown), len(other.shown)) == (60, 20)


def test_a_record_held_twice_is_shown_once_and_is_not_left_out():
    both = Item(10, keys=("1",))
    first, second = fit([Share([both]), Share([both, Item(10, keys=("2",))])], 100)
    assert first.shown == (0,)
    assert (second.shown, second.left_out) == ((1,), ())


def test_what_one_section_has_no_room_for_another_one_may_show():
    window = Share([Item(10, 0, ("1",)), Item(90, 1, ("2",))], 1)
    stream = Share([Item(10, 0, ("1",))], 1)
    first, second = fit([window, stream], 105)
    assert first.shown == (1,) and second.shown == (0,)
    assert first.left_out == ()


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
