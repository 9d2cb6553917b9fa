"""Two memories side by side: data, then in a browser."""

from collections import Counter

import pytest

from mesa_memory import Services
from mesa_memory.runs import open_run
from mesa_memory.runs.past import past as past_of
from mesa_memory.viz.views import compare
from tests.support.browser import run_key
from tests.support.dashboards import dashboard
from tests.support.recorded_town import RecordedTown

STEPS = 8
SECRET = "<b>The miller hides gold.</b>"


def record(path, told=None):
    """A town; after one step an agent sees what it does not see in the other run."""
    town = RecordedTown(path, n=3)
    for step in range(1, STEPS + 1):
        town.step()
        if step == told:
            town.citizens[1].memory.add_to_memory("observation", {"seen": SECRET})
    Services.of(town).recorder.close()
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    return [
        record(str(folder / "one.sqlite")),
        record(str(folder / "same.sqlite")),
        record(str(folder / "other.sqlite"), told=3),
    ]


@pytest.fixture(scope="module")
def runs(files):
    opened = [open_run(file) for file in files]
    yield opened
    for run in opened:
        run.close()


def test_the_course_counts_what_the_states_hold(runs):
    run = runs[0]
    left, right = past_of(run, 1), past_of(run, 2)
    course = compare.course(left, right, run.steps)
    for place, step in enumerate(run.steps):
        mine, theirs = (
            Counter(compare.key(row) for row in past.at(step)) for past in (left, right)
        )
        assert course["both"][place] == (mine & theirs).total()
        assert course["only left"][place] == (mine - theirs).total()
        assert course["only right"][place] == (theirs - mine).total()


def test_a_text_held_twice_is_alone_once_if_the_other_has_it_once():
    row = {"kind": "note", "origin": "derived", "content": None, "text": "same"}
    found = compare.marked([row, row], [row])
    assert [one["held by"] for one in found] == [compare.LEFT, compare.BOTH]


def test_the_first_difference_of_runs_names_step_agent_and_text(runs):
    one, same, other = runs
    assert one.parting(same).first is None
    parting = one.parting(other)
    assert not parting.events
    found = parting.first
    assert found.step == 3
    assert found.right["agent"] == "2"
    assert "The miller hides gold." in " ".join(
        compare.told(found, found.right).values()
    )


@pytest.fixture(scope="module")
def address(files):
    with dashboard(files[0], files[2]) as base:
        yield base


@pytest.mark.slow
def test_two_runs_stand_side_by_side_with_their_first_difference(window, files):
    window.open("?view=compare&agent=2&step=6")
    window.until(lambda: "only one run has it" in window.text())
    window.page.get_by_role("button", name="Go there").click()
    window.shows(view="compare", step=3)
    assert "0 are only left, 1 only right" in window.text()
    # What an agent says is shown as text.
    assert SECRET in window.text()
    assert window.page.locator(".mm-chart canvas").count()
    same = f"run={run_key(files[0])}&other_run={run_key(files[0])}"
    window.open(f"?view=compare&agent=2&step=3&{same}&other_agent=3")
    window.shows(view="compare", agent=2, other_agent=3)
    assert "Right: agent 3" in window.text()
    assert "First difference" not in window.text()
    assert window.page.locator(".mm-chart canvas").count()
