"""A life that is interrupted in any way is the same as one that is not."""

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from mesa_memory import fork, resume
from tests.support.lives import KINDS, Change, lives

SHORT = settings(
    max_examples=4,
    stateful_step_count=10,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


#: one kind in three by default
LIVED = [
    pytest.param(kind, marks=pytest.mark.slow if place % 3 else ())
    for place, kind in enumerate(KINDS)
]


@pytest.mark.parametrize("kind", LIVED)
def test_interruptions_change_nothing_that_agents_remember(kind):
    number = list(KINDS).index(kind)  # or all kinds would live the same lives
    run_state_machine_as_test(seed(number)(lives(kind)), settings=SHORT)


STEP = ("steps", {})
COPIED = ("copies", {"recorded": False, "then": Change("hears", 1, 28)})


def changed(*change):
    return ("changes", {"change": Change(*change)})


def kept(*change):
    return ("keeps", {"kept": True, "then": Change(*change)})


def went_on(again, *change):
    return ("goes_on", {"again": again, "then": Change(*change)})


def went_back(again, *change):
    return ("goes_back", {"again": again, "then": Change(*change)})


#: sequences in which a difference was found once
FOUND = {
    "what was erased after a checkpoint is still erased when the run goes back": (
        "stlt", STEP, kept("erases", 3, 9), STEP, went_back(fork),
    ),
    "what became stale after a checkpoint is still so when the run goes back": (
        "long_term", STEP, STEP, kept("edits"), STEP, went_back(resume),
    ),
    "new records of a copy stand before those that have ended": (
        "long_term", STEP, changed("erases", 3, 4), COPIED,
        changed("exchanges", 3, 27),
    ),
    "an agent that left after the last step is back": (
        "story_engine", STEP, went_on(fork, "leaves"), went_on(resume),
    ),
    "facts are ranked by the order in which they were indexed": (
        "fact", *[STEP] * 6, went_on(fork),
    ),
    "a copy's new records stand before its old ones": (
        "stlt", STEP, kept(), went_back(fork, "implants", 1), changed("exchanges"),
    ),
    "an erased fact has no earlier revisions": (
        "session", STEP, went_on(resume, "leaves", 2, 0), went_on(resume, "edits", 1, 1),
        went_on(resume, "edits", 0, 8), went_on(resume, "erases", 2, 29),
        went_on(resume, "comes", 0, 4), went_on(resume, "exchanges", 3, 5),
    ),
    "messages of a memory that was replaced are in the history when the run goes on": (
        "short_term", STEP, changed("comes"), STEP,
        ("forks_with_another_memory", {"number": 7, "then": Change()}), went_on(resume),
    ),
    "an edited record of a copy stands before its step": (
        "episodic", STEP, kept(), went_back(resume, "edits", 1, 23),
    ),
    "insights of a read stand before events that were pending": (
        "episodic", *[STEP] * 5, went_on(resume), STEP,
    ),
    "insights of a read stand before events that were pending, of a fork": (
        "episodic", *[STEP] * 7, went_on(fork), STEP,
    ),
}  # fmt: skip


@pytest.mark.parametrize("difference", FOUND)
@pytest.mark.parametrize(
    "execution", ["blocking", pytest.param("deferred", marks=pytest.mark.slow)]
)
def test_a_difference_that_was_found_once_does_not_come_back(difference, execution):
    kind, *events = FOUND[difference]
    life = lives(kind)()
    life.begin(kind=kind, execution=execution, recorded="itself", days=0)
    try:
        for name, given in events:
            getattr(life, name)(**given)
    finally:
        life.teardown()
