"""A person's notes on steps, agents and records of runs, in a file beside the store.

The store itself is never changed. The file has a line of JSON for each note and for each
removal, and lines are only ever added; so several programs may write at once, and what
was removed can still be read by a person.
"""

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mesa_memory.core.content import storable
from mesa_memory.errors import StoreCorrupt, StoreUnavailable

#: what follows the name of the store in the name of its notes
ENDING = ".notes.jsonl"
#: characters of a note
LONGEST = 10_000


@dataclass(frozen=True)
class Note:
    """What a person noted.

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
        self._lines: list[str] = []
        self._read: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def of(self, run: int) -> list[Note]:
        """The notes on a run, by step.

        Raises:
            StoreCorrupt: if a line of the file is no note.
            StoreUnavailable: if the file cannot be read.
        """
        with self._lock:
            self._refresh()
            found: dict[int, Note] = {}
            for number, line in enumerate(self._lines, 1):
                said = self._parsed(number, line)
                if "removes" in said:
                    found.pop(said["removes"], None)
                elif said["run"] == run:
                    found[number] = Note(number=number, **said)
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
        line = json.dumps(told, ensure_ascii=False)
        with self._lock:
            if self.path is None:
                self._lines.append(line)
                return
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")
            except OSError as error:
                raise self._unavailable("written", error) from error

    def _refresh(self) -> None:
        """Reads the file if it has changed."""
        if self.path is None:
            return
        try:
            now = self.path.stat()
            if (now.st_size, now.st_mtime_ns) != self._read:
                self._lines = self.path.read_text(encoding="utf-8").splitlines()
                self._read = now.st_size, now.st_mtime_ns
        except FileNotFoundError:
            self._lines, self._read = [], None
        except OSError as error:
            raise self._unavailable("read", error) from error

    def _unavailable(self, done: str, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"notes cannot be {done} ({error.strerror or error}). Allow it, or copy the "
            "run into a folder of your own.",
            location=str(self.path),
        )

    def _parsed(self, number: int, line: str) -> dict[str, Any]:
        try:
            said = json.loads(line)
            if "removes" not in said:
                Note(number=number, **said)
                float(said["step"])
            return said
        except (ValueError, TypeError) as error:
            raise StoreCorrupt(
                f"line {number} is no note ({error}). Mend it, or take it out.",
                location=str(self.path),
            ) from error


def notes_path(location: str) -> Path | None:
    """Where the notes on a store's runs are; None for a store in memory."""
    if location == ":memory:":
        return None
    if "://" not in location:
        return Path(location + ENDING)
    database = location.partition("?")[0].rpartition("/")[2] or "database"
    return Path(f"{database}{ENDING}")
