"""A person's notes on steps, agents and records of runs, in a file beside the store.

The store itself is never changed. The file has a line of JSON for each note and for each
removal, and lines are only ever added; so several programs may write at once, and what
was removed can still be read by a person.
"""

import json
import threading
from codecs import BOM_UTF8
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from mesa_memory.core.content import storable
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreUnavailable
from mesa_memory.stores.base import is_path

logger = logger_of(__name__)

#: what follows the name of the store in the name of its notes
ENDING = ".notes.jsonl"
#: characters of a note
LONGEST = 10_000


@dataclass(frozen=True)
class Note:
    """A note that a person made.

    Attributes:
        number: its line in the file, from 1.
        run: number of the run in its store.
        step: what it is about happened then.
        text: as it was typed.
        agent: unique id as text, if it is about one.
        record: id, if it is about one.
    """

    number: int
    run: int
    step: float
    text: str
    agent: str | None = None
    record: str | None = None


class _Line(BaseModel, strict=True, extra="forbid", allow_inf_nan=False):
    """A note, as its line in the file."""

    run: int
    step: float
    text: str
    agent: str | None = None
    record: str | None = None


class _Removal(BaseModel, strict=True, extra="forbid"):
    """Takes away the note whose line has this number."""

    removes: int


_LINE: TypeAdapter[_Line | _Removal] = TypeAdapter(_Line | _Removal)


class Notes:
    """The notes on all runs of a store.

    Args:
        location: of the store, as ``Run.location``. Notes on a run that is only in
            memory are in memory, too; those on a database are in a file in the current
            folder, named after the database.

    Attributes:
        path: of the file, which exists from the first note on; None is memory.
    """

    def __init__(self, location: str) -> None:
        self.path = notes_path(location)
        self._lines: list[_Line | _Removal | None] = []
        self._read: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def of(self, run: int) -> list[Note]:
        """The notes on a run, by step.

        Lines that are not notes are skipped; a warning in the log has their numbers.

        Raises:
            StoreUnavailable: if the file cannot be read.
        """
        with self._lock:
            self._refresh()
            found: dict[int, Note] = {}
            for number, said in enumerate(self._lines, 1):
                if isinstance(said, _Removal):
                    found.pop(said.removes, None)
                elif said is not None and said.run == run:
                    found[number] = Note(number, **dict(said))
            return sorted(found.values(), key=lambda note: (note.step, note.number))

    def add(
        self,
        run: int,
        step: float,
        text: str,
        agent: Any = None,
        record: str | None = None,
    ) -> None:
        """Keeps a note.

        Args:
            run: number of the run in its store.
            step: to which the note belongs.
            text: at most ``LONGEST`` characters.
            agent: unique id, if it is about one.
            record: id, if it is about one.

        Raises:
            ValueError: if the text is empty, or too long.
            StoreUnavailable: if the file cannot be written.
        """
        text = storable(text.strip())
        if not text or len(text) > LONGEST:
            raise ValueError(
                f"a note needs 1 to {LONGEST:,} characters, got {len(text):,}: shorten it"
            )
        about = None if agent is None else str(agent)
        told = asdict(Note(0, run, step, text, about, record))
        del told["number"]
        self._append(told)

    def remove(self, number: int) -> None:
        """Takes a note out of the list.

        Raises:
            StoreUnavailable: if the file cannot be written.
        """
        self._append({"removes": number})

    def _append(self, told: dict[str, Any]) -> None:
        line = storable(json.dumps(told, ensure_ascii=False)).encode()
        with self._lock:
            if self.path is None:
                self._lines.append(_parsed(line))
                return
            try:
                with self.path.open("ab+") as file:
                    if file.tell():
                        file.seek(-1, 2)
                        if file.read(1) != b"\n":  # its last writer was killed
                            line = b"\n" + line
                    file.write(line + b"\n")
            except OSError as error:
                raise self._unavailable("written", error) from error

    def _refresh(self) -> None:
        """Reads the file if it has changed."""
        if self.path is None:
            return
        try:
            now = self.path.stat()
            if (now.st_size, now.st_mtime_ns) == self._read:
                return
            lines = self.path.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
        except FileNotFoundError:
            self._lines, self._read = [], None
            return
        except OSError as error:
            raise self._unavailable("read", error) from error
        self._lines = [_parsed(line) for line in lines]
        self._read = now.st_size, now.st_mtime_ns
        pairs = zip(lines, self._lines, strict=True)
        odd = [
            n for n, (line, said) in enumerate(pairs, 1) if line.strip() and not said
        ]
        if odd:
            logger.warning(
                "%s: lines %s are not notes and are skipped. Correct or delete them.",
                self.path,
                ", ".join(map(str, odd)),
            )

    def _unavailable(self, done: str, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"notes cannot be {done} ({error.strerror or error}). Allow it, or copy the "
            "run into a folder of your own.",
            location=str(self.path),
        )


def _parsed(line: bytes) -> _Line | _Removal | None:
    """A line of the file; None if it is neither a note nor a removal."""
    try:
        return _LINE.validate_json(line)
    except ValidationError:
        return None


def notes_path(location: str) -> Path | None:
    """The file of the notes on a store's runs; None for a store in memory."""
    if location == ":memory:":
        return None
    if is_path(location):
        return Path(location + ENDING)
    database = location.partition("?")[0].rpartition("/")[2] or "database"
    return Path(f"{database}{ENDING}")
