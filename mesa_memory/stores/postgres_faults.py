"""The errors of PostgreSQL as typed errors."""

from sqlalchemy.exc import DBAPIError

from mesa_memory.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_KEPT = "What was written before is kept."
#: beginnings of SQLSTATE codes (PostgreSQL, appendix A), the longer ones first
_STATES: tuple[tuple[str, type[StoreError], str], ...] = (
    ("53100", StoreFull, f"the server's disk is full. {_KEPT} Make room there."),
    ("53", StoreUnavailable, "the server accepts no more connections."),
    ("55P03", StoreBusy, "another writer held a lock for longer than the timeout."),
    ("40", StoreBusy, "another writer changed the same rows. Write it again."),
    ("57014", StoreBusy, "the server stopped a statement that took too long."),
    ("57P", StoreUnavailable, f"the server was stopped. {_KEPT} Start it again."),
    ("08", StoreUnavailable, f"the connection was lost. {_KEPT} Check the server."),
    ("28", StoreUnavailable, "the server refuses this user or password."),
    ("3D000", StoreUnavailable, "the database does not exist. Make it with createdb."),
    ("25006", StoreReadOnly, "this connection may only read."),
    ("42501", StoreReadOnly, "this user may not write here. Grant it, or use another."),
    ("XX", StoreCorrupt, "the server found damaged data. Restore a backup."),
    ("58P01", StoreError, "the server lacks a file, such as those of pgvector 0.7."),
    ("0A000", StoreError, "the server lacks a feature, such as pgvector 0.7."),
    ("42704", StoreError, "the server lacks a type; pgvector 0.7 or later is needed."),
)


def fault(error: DBAPIError, location: str) -> StoreError:
    """The typed error for one of psycopg."""
    original = error.orig
    said = " ".join(str(original).split())
    state = getattr(original, "sqlstate", None)
    for begin, kind, advice in _STATES:
        if state is not None and state.startswith(begin):
            return kind(f"{advice} (PostgreSQL: {said}, {state})", location=location)
    if state is None and type(original).__name__ in (
        "OperationalError",
        "InterfaceError",
        "ConnectionTimeout",
    ):
        return StoreUnavailable(
            f"the server cannot be reached. {_KEPT} Start it, and check host, port, "
            f"user and database. (psycopg: {said})",
            location=location,
        )
    return StoreError(
        f"the server reports an unexpected error. {_KEPT} (PostgreSQL: {said}, {state})",
        location=location,
    )
