"""A person's notes, kept beside a run."""

import hashlib
from pathlib import Path

import pytest

from mesa_memory import Services
from mesa_memory.errors import StoreCorrupt, StoreUnavailable
from mesa_memory.runs.notes import Notes
from tests.support.recorded_town import RecordedTown


def told(notes, run=1):
    return [(one.step, one.agent, one.record, one.text) for one in notes.of(run)]


def test_notes_are_kept_in_a_file_of_their_own_and_the_run_stays_untouched(tmp_path):
    file = tmp_path / "town.sqlite"
    town = RecordedTown(str(file), n=3)
    town.step()
    Services.of(town).recorder.close()
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    notes = Notes(str(file))
    assert notes.of(1) == []
    assert not Path(f"{file}.notes.jsonl").exists()
    notes.add(1, 3.0, "  Who told\nher?  ", agent=2, record="2/stlt/event/1")
    notes.add(1, 1.0, "the beginning – 始まり")
    notes.add(2, 1.0, "another run")
    other = Notes(str(file))
    assert told(other) == [
        (1.0, None, None, "the beginning – 始まり"),
        (3.0, "2", "2/stlt/event/1", "Who told\nher?"),
    ]
    other.remove(notes.of(1)[0].number)
    assert [note.step for note in notes.of(1)] == [3.0]
    assert len(notes.of(2)) == 1
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before


def test_notes_on_a_run_in_memory_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notes = Notes(":memory:")
    notes.add(1, 2.0, "here")
    assert told(notes) == [(2.0, None, None, "here")]
    assert list(tmp_path.iterdir()) == []


def test_notes_on_a_database_are_named_after_it_without_its_password(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Notes("postgresql+psycopg://ann:***@host/town?x=1").add(1, 2.0, "here")
    assert [file.name for file in tmp_path.iterdir()] == ["town.notes.jsonl"]


@pytest.mark.parametrize("text", ["", " \n ", "x" * 10_001])
def test_a_note_needs_a_text_that_can_be_shown(text):
    with pytest.raises(ValueError, match="1 to 10,000 characters"):
        Notes(":memory:").add(1, 1.0, text)


@pytest.mark.parametrize("line", ["no json", "[]", "3", '{"run": 1}', '{"step": "x"}'])
def test_a_line_that_is_no_note_is_named_and_nothing_is_lost(tmp_path, line):
    file = tmp_path / "town.sqlite"
    notes = Notes(str(file))
    notes.add(1, 1.0, "good")
    with notes.path.open("a", encoding="utf-8") as written:
        written.write(line + "\n")
    with pytest.raises(StoreCorrupt, match="line 2 is no note"):
        notes.of(1)
    assert "good" in notes.path.read_text(encoding="utf-8")


def test_where_nothing_can_be_written_the_error_says_what_to_do(tmp_path):
    with pytest.raises(StoreUnavailable, match="notes cannot be written"):
        Notes(str(tmp_path / "none" / "town.sqlite")).add(1, 1.0, "lost")
