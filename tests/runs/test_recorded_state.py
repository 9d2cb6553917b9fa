"""What a recorded run says of the past is what the live memories showed then."""

import pytest
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, ShortTermMemory, open_run, resume
from tests.support.playing import ended, lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.town import Citizen

AGENTS, STEPS = 20, 30
FIELDS = ("id", "kind", "step", "content", "importance", "sources")


@pytest.fixture(scope="module")
def town_and_run(tmp_path_factory):
    """A recorded run, and what each memory showed at the end of each step."""
    file = str(tmp_path_factory.mktemp("lived") / "run.sqlite")
    town = RecordedTown(file, n=AGENTS)
    shown = {}
    for _ in range(STEPS):
        town.step()
        for citizen in town.citizens:
            memory = citizen.memory
            shown[citizen.unique_id, town.steps] = [
                [r.id, r.kind, r.step, r.content, r.importance, list(r.sources)]
                for r in memory.current_records()
            ]
    ended(town)
    with open_run(file) as run:
        yield run, shown, town


def test_every_state_is_what_the_memory_showed(town_and_run):
    run, shown, _ = town_and_run
    assert any(len(records) > 12 for records in shown.values())
    for (agent, step), records in shown.items():
        rows = run.state(agent, step, as_records=True)
        found = [[row[name] for name in FIELDS] for row in rows]
        assert sorted(found, key=str) == sorted(records, key=str), (agent, step)


def test_everything_concluded_resolves_to_events_of_the_same_agent(town_and_run):
    run, _, town = town_and_run
    concluded = 0
    for citizen in town.citizens:
        made = {
            row["record"] if "record" in row else row["id"]
            for row in run.history(agent=citizen.unique_id, as_records=True)
            if row["kind"] in ("summary", "reflection", "impression")
        }
        for record in sorted(made)[-4:]:
            concluded += 1
            rows = run.provenance(record, as_records=True)
            assert not any(row["missing"] for row in rows), record
            assert {row["agent"] for row in rows} == {citizen.unique_id}
            leaves = {row["id"] for row in rows} - {row["parent"] for row in rows}
            kinds = {row["kind"] for row in rows if row["id"] in leaves}
            assert kinds <= {"message", "observation", "action"}, record
    assert concluded > 40


def test_a_run_kept_in_memory_is_asked_while_it_goes_on():
    town = RecordedTown("", record=True)
    lived(town, 3)
    recorder = Services.of(town).recorder
    recorder.sync()
    with open_run(recorder.store) as run:
        assert list(run.steps) == [1, 2, 3]
        town.step()
        recorder.sync()
        assert list(run.steps) == [1, 2, 3, 4]
    recorder.close()


def test_what_a_reader_does_with_a_recall_is_not_in_the_record(tmp_path):
    file = str(tmp_path / "run.sqlite")
    town = RecordedTown(file, n=6)
    town.step()
    found = town.citizens[5].memory.recall("fish", k=3)
    seen = [(r.record.id, r.rank, r.parts["relevance"]) for r in found]
    found[0].parts["relevance"] = 100.0
    found[1].parts.clear()
    del found[2:]
    play(town, 1)
    with open_run(file) as run:
        rows = run.recalls(6, as_records=True)
        asked = [row for row in rows if row["purpose"] == "query"]
        assert [(r["id"], r["rank"]) for r in asked] == [pair[:2] for pair in seen]
        assert [r["relevance"] for r in asked] == pytest.approx(
            [relevance for *_, relevance in seen], abs=1e-6
        )


class Mayfly(Citizen):
    """Lives for one step."""


def born(town, memory=ShortTermMemory):
    fly = Mayfly(town, CoTReasoning, "openai/local")
    fly.memory = memory(fly)
    return fly


def test_an_agent_that_dies_in_its_first_step_is_in_the_record(tmp_path):
    file = str(tmp_path / "run.sqlite")
    town = RecordedTown(file, n=2)
    here_before = born(town)
    for fly in (here_before, None):
        fly = fly or born(town)
        fly.memory.add_to_memory("observation", {"light": "everywhere"})
        fly.remove()
    play(town, 1)
    with open_run(file) as run:
        found = {row["agent"]: row for row in run.agents(as_records=True)}
        assert sorted(found) == [1, 2, 3, 4]
        for name in (3, 4):
            assert found[name]["class"] == "Mayfly"
            assert found[name]["memory"] == "ShortTermMemory"
            (row,) = run.state(name, 1, as_records=True)
            assert row["content"] == {"light": "everywhere"}


def test_who_was_silent_before_a_run_was_resumed_is_in_the_record(tmp_path):
    file = str(tmp_path / "run.sqlite")
    town = QuietTown(file)
    play(town, 1)
    town = resume(QuietTown, file)
    town.quiet.memory.add_to_memory("observation", {"light": "everywhere"})
    play(town, 1)
    with open_run(file) as run:
        assert [row["agent"] for row in run.agents(as_records=True)] == [1, 2, 3]


class QuietTown(RecordedTown):
    """Has one agent more, who does nothing of itself."""

    def __init__(self, file, n=2):
        super().__init__(file, n)
        self.quiet = born(self)
        self.quiet.step = lambda: None
