"""What a page does to a running model: questions, and forks with a change."""

import pytest

from mesa_memory import Services
from mesa_memory.runs import open_run
from mesa_memory.runs.past import past
from mesa_memory.viz.data import interventions
from mesa_memory.viz.live.by_hand import Change, ask, forked
from mesa_memory.viz.views import evidence
from tests.support.playing import lived
from tests.support.recorded import HOSTILE
from tests.support.recorded_talk import Inn


@pytest.fixture(params=["memory", "file"])
def inn(request, tmp_path):
    model = Inn(record=True if request.param == "memory" else str(tmp_path / "run.db"))
    yield lived(model, 3)
    Services.of(model).recorder.close()


def run_of(model):
    recorder = Services.of(model).recorder
    recorder.sync()
    return open_run(recorder.store, recorder.run)


def remembered(model):
    return [
        [(r.id, r.content) for r in agent.memory.current_records()]
        for agent in model.agents
    ]


def test_a_question_is_answered_and_leaves_no_trace_in_memories(inn):
    before = remembered(inn)
    answer = ask(inn, 2, "Where does Carl live?")
    assert answer.strip()
    assert remembered(inn) == before
    inn.step()
    (call,) = run_of(inn).calls(2, purpose="probe", as_records=True)
    assert call["reply"] in (answer, call["reply"])
    assert interventions.interventions(run_of(inn)) == []


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(inn, question):
    with pytest.raises(ValueError, match="question must be a text"):
        ask(inn, 2, question)
    with pytest.raises(ValueError, match="agent 99 is not in the model any more"):
        ask(inn, 99, "Where?")


def test_a_fork_with_an_implant_is_a_run_of_its_own(inn):
    before = remembered(inn)
    change = Change(2, HOSTILE, event="message")
    other = forked(inn, change, name="what if")
    assert remembered(inn) == before
    other.step()
    run, whole = run_of(other), run_of(inn)
    assert (run.name, run.parent, run.parent_step) == ("what if", whole.id, 3)
    assert (run.steps, whole.steps) == ([1, 2, 3, 4], [1, 2, 3])
    (one,) = interventions.interventions(run)
    assert (one["kind"], one["agent"], one["says"]) == (
        "implant",
        2,
        "implanted by hand",
    )
    assert past(run, 2).by_id[one["record"]]["content"] == {"message": HOSTILE}
    resting = [r for r in past(run, 2).rows if one["record"] in (r["sources"] or ())]
    for row in resting:
        found = evidence.evidence(run, row["id"])
        changed = interventions.of_records([one])
        notes = [
            n["note"] for n in evidence.nodes(found, past(run, 2), changed=changed)
        ]
        assert any("implanted by hand at step 3" in note for note in notes)
    Services.of(other).recorder.close()


def test_an_agent_that_is_gone_is_not_changed_and_leaves_no_fork(inn):
    runs = len(run_of(inn).runs(as_records=True))
    with pytest.raises(ValueError, match="agent 99 is not in the model any more"):
        forked(inn, Change(99, "All is well."))
    assert len(run_of(inn).runs(as_records=True)) == runs


def test_a_model_that_is_not_recorded_says_what_to_do():
    model = Inn(record=None)
    model.step()
    with pytest.raises(ValueError, match="only a recorded model"):
        forked(model)
    assert ask(model, 2, "Where does Carl live?")
