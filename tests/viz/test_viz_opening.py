"""Where a page opens whose address names neither step nor agent."""

from types import SimpleNamespace

import numpy as np
import pytest

from mesa_memory.viz.data import opening as data
from mesa_memory.viz.data.colouring import colour_keys
from mesa_memory.viz.data.scene import Scene
from mesa_memory.viz.selection import NEWEST, Choice, Selection


def scene(outcomes, others=()):
    agents = [3, "Ann", 9][: len(next(iter(outcomes.values()))) - len(others)]
    values = {n: np.array(rows, dtype=object) for n, rows in outcomes.items()}
    count = next(iter(values.values())).shape
    places = np.full((*count, 2), np.nan)
    steps = [float(2 * n) for n in range(count[1])]
    return Scene([*agents, *others], [*others], steps, [], places, values, {})


def made(rows):
    return lambda: {"made": np.array(rows, dtype=float)}


NOTHING = made([[0, 0, 0, 0]] * 3)
NO, YES = "no", "yes"


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([[NO, NO, YES, YES], [NO, NO, YES, YES], [NO, NO, NO, YES]], (4.0, 3)),
        ([[NO] * 4, [None, NO, NO, NO], [NO] * 4], (2.0, "Ann")),
        ([[NO] * 4, [NO, None, NO, YES], [YES] * 4], (2.0, "Ann")),
        ([[0, 1, 2, 3], [0, 1, 2, 9], [5, 5, 5, 5]], (6.0, "Ann")),
        ([[0.5] * 4, [0.25] * 4, [None, None, 7.0, None]], None),
        ([[NO] * 4, [YES] * 4, [NO] * 4], None),
    ],
)
def test_a_page_opens_at_the_step_with_most_changes_at_an_agent_that_changed(
    outcomes, expected
):
    assert data.opening(scene({"belief": outcomes}), NOTHING) == expected


def test_changes_of_all_outcomes_count_and_those_of_agents_without_a_memory_do_not():
    still, late = [NO] * 4, [NO, NO, NO, YES]
    moved = {"mood": [still, late, late], "trade": [late, still, late]}
    assert data.opening(scene(moved), NOTHING) == (6.0, 9)
    bare = {"mood": [[NO, YES, YES, YES], still, [NO, NO, YES, NO]]}
    assert data.opening(scene(bare, others=["7"]), NOTHING) == (2.0, 3)


def test_without_changes_of_outcomes_a_page_opens_where_memories_conclude_most():
    still = {"mood": [[NO] * 4] * 3}
    concluded = made([[0, 0, 1, 0], [0, 0, 2, 0], [1, 0, 0, 2]])
    assert data.opening(scene(still), concluded) == (4.0, "Ann")


def state(stamp=1, steps=(0.0, 2.0, 4.0), live=False, model=None):
    seen = scene({"mood": [[NO, YES, YES], [NO, NO, NO], [NO, NO, NO]]})
    return SimpleNamespace(
        key="a", stamp=(stamp,), steps=list(steps), agent_ids=["Ann", 3, 9],
        feed=SimpleNamespace(live=live, model=model), of=lambda function: seen,
    )  # fmt: skip


def test_a_page_stays_where_it_has_opened_until_the_run_goes_on_or_one_chooses():
    chosen = Selection(SimpleNamespace(value=Choice()))
    run = state()
    assert (chosen.step(run), chosen.agent(run)) == (2.0, 3)
    assert not chosen.follows(run)
    further = state(stamp=2, steps=(0.0, 2.0, 4.0, 6.0))
    assert (chosen.step(further), chosen.agent(further)) == (6.0, 3)
    assert chosen.follows(further)
    assert (chosen.step(run), chosen.agent(run)) == (2.0, 3)
    chosen.choose(view="agent")
    assert chosen.choice == Choice(view="agent", step=2.0, agent="3")
    chosen.choose(step=NEWEST)
    assert (chosen.step(run), chosen.agent(run)) == (4.0, 3)


def test_the_newest_step_is_not_the_one_at_which_a_page_opens():
    for before in (Choice(step=0.0), Choice()):
        chosen = Selection(SimpleNamespace(value=before))
        chosen.choose(step=NEWEST)
        assert "step=newest" in chosen.choice.query()
        assert Choice.parse(chosen.choice.query()) == chosen.choice
        assert chosen.step(state()) == 4.0 and chosen.follows(state())


@pytest.mark.parametrize("given", [{"agent": "9"}, {"view": "cost"}, {"step": 4.0}])
def test_an_address_that_chooses_is_followed(given):
    chosen = Selection(SimpleNamespace(value=Choice(**given)))
    assert chosen.step(state()) == 4.0
    assert chosen.agent(state()) == (9 if "agent" in given else "Ann")


def test_a_run_that_another_program_plays_is_followed_and_one_of_this_page_is_not():
    for model, step in ((None, 4.0), (object(), 2.0)):
        chosen = Selection(SimpleNamespace(value=Choice()))
        assert chosen.step(state(live=True, model=model)) == step


def test_texts_that_tell_every_agent_apart_and_sentences_are_no_colours():
    outcomes = {
        "own": ["says 0", "says 1", "says 2"], "mood": ["glad", "sad", "glad"],
        "sentence": ["I wonder what will become of us."] * 3, "wealth": [0.5, 1, 2],
    }  # fmt: skip
    shown = scene({name: [[one] for one in each] for name, each in outcomes.items()})
    keys = [key for key in colour_keys(shown) if key.startswith("outcome")]
    assert keys == ["outcome:mood", "outcome:wealth"]
