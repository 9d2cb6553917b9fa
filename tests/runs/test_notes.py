"""A person's notes, kept beside a run."""

import hashlib
from pathlib import Path

import pytest

from mesa_memory import Services
from mesa_memory.errors import StoreUnavailable
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


SEPARATORS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\r", "\r\n"]


@pytest.mark.parametrize("sign", SEPARATORS)
def test_a_note_with_a_line_separator_is_one_note(tmp_path, sign):
    notes = Notes(str(tmp_path / "town.sqlite"))
    notes.add(1, 1.0, "first")
    notes.add(1, 2.0, f"as pasted{sign}from a page", agent=f"a{sign}b")
    notes.add(1, 3.0, "last")
    notes.remove(notes.of(1)[0].number)
    assert told(Notes(str(tmp_path / "town.sqlite"))) == [
        (2.0, f"a{sign}b", None, f"as pasted{sign}from a page"),
        (3.0, None, None, "last"),
    ]


ODD = [
    b"no json",
    b"[]",
    b"3",
    b'{"run": 1}',
    b'{"step": "x"}',
    b'{"removes": [1]}',
    b'{"removes": "1"}',
    b'{"run": 1, "step": "5", "text": "x"}',
    b'{"run": 1, "step": NaN, "text": "x"}',
    b'{"run": 1, "step": 1e999, "text": "x"}',
    b'{"run": 1, "step": 5, "text": null}',
    b'{"run": [1], "step": 5, "text": "x"}',
    b'{"run": 1, "step": 5, "text": "x", "agent": {"id": 3}}',
    b'{"run": 1, "step": 5, "text": "x", "colour": "red"}',
    b'{"run": 1, "step": 5, "text": "\xff\xfe"}',
    b'{"run": 1, "step": 5, "text": "\\ud800"}',
    b'{"run": 1, "step": 5, "te',
    b"[" * 100_000,
    b'{"removes":' * 100_000,
    b"9" * 10_000,
    b"\x00\x00",
]


@pytest.mark.parametrize("line", ODD, ids=lambda line: repr(line[:40]))
def test_a_line_that_is_not_a_note_is_named_and_takes_no_other_away(
    tmp_path, line, caplog
):
    file = tmp_path / "town.sqlite"
    notes = Notes(str(file))
    notes.add(1, 1.0, "good")
    with notes.path.open("ab") as written:
        written.write(line)  # without an end, as of a writer that was killed
    notes.add(1, 3.0, "after")
    for reader in (notes, Notes(str(file))):
        assert [text for *_, text in told(reader)] == ["good", "after"]
    assert "town.sqlite.notes.jsonl: lines 2 are not notes" in caplog.text
    assert line in notes.path.read_bytes()


def test_a_file_that_an_editor_has_saved_is_read(tmp_path):
    """Notepad writes a byte order mark and other ends of lines."""
    notes = Notes(str(tmp_path / "town.sqlite"))
    lines = [
        '{"run": 1, "step": 1, "text": "one"}',
        "",
        '{"run": 1, "step": 2, "text": "two"}',
    ]
    notes.path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    notes.add(1, 3.0, "half of an emoji: \ud83d")
    assert [text for *_, text in told(notes)] == [
        "one",
        "two",
        "half of an emoji: \ufffd",
    ]


def test_where_nothing_can_be_written_the_error_says_what_to_do(tmp_path):
    with pytest.raises(StoreUnavailable, match="notes cannot be written"):
        Notes(str(tmp_path / "none" / "town.sqlite")).add(1, 1.0, "lost")
