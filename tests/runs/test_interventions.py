"""What a researcher does to a memory, and asks of it."""

import re

import pytest

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    Services,
    configure,
    open_run,
)
from mesa_memory.interventions import edit, erase, exchange, implant, probe
from tests.support.models import citizen
from tests.support.playing import ended, lived, play
from tests.support.recorded_town import MEMORIES, RecordedTown
from tests.support.tables import assert_equal, tables


def town(tmp_path, steps=6, **given):
    """A town that has lived for some steps."""
    given.setdefault("n", len(MEMORIES))
    made = lived(RecordedTown(str(tmp_path / "run.sqlite"), **given), steps)
    Services.of(made).flush()
    return made


def texts(citizen):
    """What the citizen remembers, as one text."""
    memory = citizen.memory
    found = [str(record.content) for record in memory.current_records()]
    return "\n".join([*found, memory.get_prompt_ready()])


def test_an_implanted_event_is_remembered_like_any_other(tmp_path):
    place = town(tmp_path)
    for mind in place.citizens:
        record = implant(mind, "message", {"message": "The mill burns!", "sender": 99})
        assert record in mind.memory.current_records()
        assert "The mill burns!" in mind.memory.get_prompt_ready()
    place.step()
    assert all("The mill burns!" in texts(mind) for mind in place.citizens)


def test_an_implanted_grade_is_kept(tmp_path):
    place = town(tmp_path)
    stream = next(c for c in place.citizens if isinstance(c.memory, EpisodicMemory))
    record = implant(stream, "message", {"message": "Flee!"}, importance=5)
    place.step()
    assert record.importance == 5
    with pytest.raises(ValueError, match="1 to 5"):
        implant(stream, "message", {"message": "Flee!"}, importance=9)


def test_an_erased_record_is_gone_and_nothing_else(tmp_path):
    place = town(tmp_path)
    for mind in place.citizens:
        before = mind.memory.current_records()
        gone = before[len(before) // 2]
        erase(mind, gone.id)
        assert mind.memory.current_records() == [r for r in before if r is not gone]
        assert gone.closed_because == "erased"
        with pytest.raises(ValueError, match="not a current record"):
            erase(mind, gone)
    lived(place)


def test_an_edited_record_is_read_in_place_of_the_old_one(tmp_path):
    place = town(tmp_path)
    for mind in place.citizens:
        old = mind.memory.current_records()[-1]
        own = old.content if old.sources else {}
        new = edit(mind, old, own | {"text": "Owls!"})
        assert old.superseded_by == new.id
        assert (new.kind, new.step) == (old.kind, old.step)
        assert new.importance == old.importance
        current = mind.memory.current_records()
        assert new in current and old not in current
    lived(place)


def test_a_summary_and_an_impression_can_be_edited(tmp_path):
    place = town(tmp_path, steps=10)
    for mind in place.citizens:
        for record in mind.memory.current_records():
            if record.kind in ("summary", "impression"):
                new = edit(mind, record, record.content | {"text": "All was a dream."})
                assert new.sources == record.sources
                with pytest.raises(ValueError, match="must have"):
                    edit(mind, new, {"words": "none"})
    shown = [c.memory.get_prompt_ready() for c in place.citizens]
    assert sum("All was a dream." in text for text in shown) >= 3
    place.step()


def nameless(text, *ids):
    """A prompt without what depends on its reader: who is "you"."""
    return re.sub(rf"\b(?:{'|'.join(f'Agent {i}' for i in ids)}|[Yy]ou)\b", "X", text)


def nameless_lines(memory, text, *ids):
    """The lines of a prompt; of conversations the newest step's, as an event that was on
    its way stands in a talk of its own after the exchange.
    """
    lines = nameless(text, *ids).splitlines()
    # Of several who said the same, the reader stands last.
    lines = [re.sub(r"(Agent \d+) and X(?=, \d)", r"X and \1", each) for each in lines]
    if isinstance(memory, ConversationMemory):
        return sorted(line for line in lines if line.startswith("- Step 8"))
    return lines


def test_two_agents_exchange_what_they_remember(tmp_path):
    place = town(tmp_path, 8, n=2 * len(MEMORIES))
    for one, other in zip(place.citizens, place.citizens[len(MEMORIES) :]):
        if one.unique_id > len(MEMORIES):
            break
        mine, yours = one.memory.get_prompt_ready(), other.memory.get_prompt_ready()
        before = len(one.memory.current_records()), len(other.memory.current_records())
        exchange(one, other)
        pair = one.unique_id, other.unique_id
        for mind, before_it in ((one, yours), (other, mine)):
            now = nameless_lines(mind.memory, mind.memory.get_prompt_ready(), *pair)
            assert now == nameless_lines(mind.memory, before_it, *pair)
        after = len(other.memory.current_records()), len(one.memory.current_records())
        assert after == before
        assert {r.agent for r in one.memory.current_records()} == {one.unique_id}
    lived(place)


def test_interventions_are_recorded_as_such(tmp_path):
    place = town(tmp_path, 2)
    mind = place.citizens[1]
    old = implant(mind, "message", {"message": "Owls!"})
    edit(mind, old, {"message": "Bats!"})
    play(place, 1)
    with open_run(tmp_path / "run.sqlite") as run:
        found = run.interventions(as_records=True)
    told = [(row["agent"], row["step"], row["kind"]) for row in found]
    assert told == [(mind.unique_id, 2, kind) for kind in ("implant", "edit")]


def test_a_probe_leaves_no_trace(tmp_path):
    files = [tmp_path / "without.sqlite", tmp_path / "with.sqlite"]
    diaries = []
    for file in files:
        place = RecordedTown(str(file))
        for step in range(9):
            place.step()
            if file is files[1]:
                mind = place.citizens[step % len(place.citizens)]
                assert probe(mind, "Who sold fish?")
        ended(place)
        diaries.append((place.diary, place.random.getstate()))
    assert diaries[0] == diaries[1]
    without, probed = (tables(file, ignore=("seq",)) for file in files)
    asked = [row for row in probed["calls"] if row["purpose"] == "probe"]
    assert len(asked) == 9
    assert all("Who sold fish?" in row["prompt"] for row in asked)
    probed["calls"] = [row for row in probed["calls"] if row not in asked]
    del without["steps"], probed["steps"]
    assert_equal(without, probed)


def test_a_probe_answers_from_the_memory():
    agent = citizen()
    configure(agent.model, llm="offline")
    agent.memory = EpisodicMemory(agent)
    for step, text in enumerate(["The mill burns", "Bread is dear"], 1):
        agent.model.steps = step
        agent.memory.process_step(pre_step=True)
        agent.memory.add_to_memory("message", {"message": text, "sender": 4})
        agent.memory.process_step()
    assert "The mill burns" in probe(agent, "What happened to the mill?")
    assert probe(agent, "Qqq zzz?") == "I do not know."
