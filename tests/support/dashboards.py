"""Pages in a process of their own: the dashboard of recorded runs, and running models."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tests.support.browser import served

STARTING = "Solara server is starting at"


def command(*given: str) -> AbstractContextManager[str]:
    """The address of the page of a command, while it is served."""
    return served("-m", "mesa_memory.cli", *given, "--port", "0", "--no-open")


def dashboard(*places: str) -> AbstractContextManager[str]:
    """The address of a dashboard with these runs, while it is served."""
    return command("dashboard", *places)


@contextmanager
def live_pages() -> Iterator[str]:
    """The address of the pages of ``live_pages``, while they are served."""
    page = str(Path(__file__).with_name("live_pages.py"))
    options = ("--port", "0", "--no-open", "--production", "--no-check-version")
    command = ("-m", "solara", "run", page, "--host", "127.0.0.1", *options)
    with served(*command, announces=STARTING) as base:
        yield base
