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


#: sequences in which a difference was found once
FOUND = {
    "what was erased after a checkpoint is still erased when the run goes back": (
        "stlt",
        [
            ("steps", {}),
            ("keeps", {"kept": True, "then": Change("erases", 3, 9)}),
            ("steps", {}),
            ("goes_back", {"again": fork, "then": Change()}),
        ],
    ),
    "what became stale after a checkpoint is still so when the run goes back": (
        "long_term",
        [
            ("steps", {}),
            ("steps", {}),
            ("keeps", {"kept": True, "then": Change("edits", 0, 0)}),
            ("steps", {}),
            ("goes_back", {"again": resume, "then": Change()}),
        ],
    ),
    "new records of a copy stand before those that have ended": (
        "long_term",
        [
            ("steps", {}),
            ("changes", {"change": Change("erases", 3, 4)}),
            ("copies", {"recorded": False, "then": Change("hears", 1, 28)}),
            ("changes", {"change": Change("exchanges", 3, 27)}),
        ],
    ),
    "an agent that left after the last step is back": (
        "story_engine",
        [
            ("steps", {}),
            ("goes_on", {"again": fork, "then": Change("leaves")}),
            ("goes_on", {"again": resume, "then": Change()}),
        ],
    ),
    "facts are ranked by the order in which they were indexed": (
        "fact",
        [("steps", {})] * 6 + [("goes_on", {"again": fork, "then": Change()})],
    ),
    "a copy's new records stand before its old ones": (
        "stlt",
        [
            ("steps", {}),
            ("keeps", {"kept": True, "then": Change()}),
            ("goes_back", {"again": fork, "then": Change("implants", 1)}),
            ("changes", {"change": Change("exchanges")}),
        ],
    ),
    "an erased fact has no earlier revisions": (
        "session",
        [("steps", {})]
        + [
            ("goes_on", {"again": resume, "then": Change(*change)})
            for change in (
                ("leaves", 2, 0),
                ("edits", 1, 1),
                ("edits", 0, 8),
                ("erases", 2, 29),
                ("comes", 0, 4),
                ("exchanges", 3, 5),
            )
        ],
    ),
    "an edited record of a copy stands before its step": (
        "episodic",
        [
            ("steps", {}),
            ("keeps", {"kept": True, "then": Change()}),
            ("goes_back", {"again": resume, "then": Change("edits", 1, 23)}),
        ],
    ),
}


@pytest.mark.parametrize("difference", FOUND)
@pytest.mark.parametrize(
    "execution", ["blocking", pytest.param("deferred", marks=pytest.mark.slow)]
)
def test_a_difference_that_was_found_once_does_not_come_back(difference, execution):
    kind, events = FOUND[difference]
    life = lives(kind)()
    life.begin(kind=kind, execution=execution, recorded=True, days=0)
    try:
        for name, given in events:
            getattr(life, name)(**given)
    finally:
        life.teardown()
