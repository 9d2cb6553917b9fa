"""File systems on which SQLite finds no shared memory, or none that works.

SQLite itself is what fails: it gets another VFS, or system calls that answer as those of a
network file system do. Nothing of the package is replaced. ``broken(NAME)`` does it for a
block; ``environment(NAME, folder)`` for every Python that a test starts.
"""

import ctypes
import errno
import fcntl
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

#: a VFS without shared memory, which locks a file by a folder beside it
DOTFILE = "unix-dotfile"
#: by name: the system call, the end of the file's name, the error, and the commands of
#: fcntl that get it; and the error that SQLite makes of it at the first access
CALLS = {
    "SQLITE_IOERR_SHMMAP": ("mmap", "-shm", errno.ENODEV, ()),
    "SQLITE_IOERR_SHMSIZE": ("pwrite64", "-shm", errno.ESTALE, ()),
    "SQLITE_IOERR_LOCK": ("fcntl", "-shm", errno.ENOLCK, (fcntl.F_GETLK,)),
    "SQLITE_IOERR_WRITE": ("pwrite64", "-wal", errno.ESTALE, ()),
    "SQLITE_CANTOPEN": ("open", "-shm", errno.EACCES, ()),
    "SQLITE_PROTOCOL": ("fcntl", "-shm", errno.ENOLCK, (fcntl.F_SETLK,)),
}
#: with these, no journal works
LOST = {"SQLITE_IOERR_WRITE": ("pwrite64", ".sqlite", errno.ESTALE, ())}

_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
_SIGNATURES = {
    "mmap": (_POINTER, _POINTER, _LONG, _INT, _INT, _INT, _LONG),
    "pwrite64": (_LONG, _INT, _POINTER, _LONG, _LONG),
    "fcntl": (_INT, _INT, _INT, _POINTER),
    "open": (_INT, ctypes.c_char_p, _INT, _INT),
}
_VFS_METHODS = "open delete access full dlopen dlerror dlsym dlclose random sleep time error time64"


class _Vfs(ctypes.Structure):
    """``sqlite3_vfs`` of SQLite's header file."""

    _fields_ = [
        ("version", _INT), ("size", _INT), ("longest", _INT), ("next", _POINTER),
        ("name", ctypes.c_char_p), ("data", _POINTER),
        *((name, _POINTER) for name in _VFS_METHODS.split()),
        ("set", ctypes.CFUNCTYPE(_INT, _POINTER, ctypes.c_char_p, _POINTER)),
        ("get", ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_char_p)),
    ]  # fmt: skip


def _library():
    """The SQLite library that Python uses."""
    import _sqlite3

    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = _POINTER
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        library.sqlite3_vfs_register.argtypes = [_POINTER, _INT]
    except (AttributeError, OSError):
        library = None
    if library is None or sys.platform != "linux":
        pytest.skip("Python's SQLite library cannot be reached here")
    return library


#: the changed system calls, which SQLite holds by address
_kept = []


def install(name):
    """Breaks SQLite in this process."""
    library = _library()
    if name == DOTFILE:
        library.sqlite3_vfs_register(library.sqlite3_vfs_find(DOTFILE.encode()), 1)
        return
    kind, _, table = name.partition(" ")
    call, ending, error, commands = (LOST if table == "lost" else CALLS)[kind]
    address = library.sqlite3_vfs_find(b"unix")
    vfs = _Vfs.from_address(address)
    form = ctypes.CFUNCTYPE(*_SIGNATURES[call], use_errno=True)
    real = form(vfs.get(address, call.encode()))

    def failing(*given):
        file = given[4 if call == "mmap" else 0]
        path = (
            os.fsdecode(file)
            if call == "open"
            else os.readlink(f"/proc/self/fd/{file}")
        )
        if path.endswith(ending) and (not commands or given[1] in commands):
            ctypes.set_errno(error)
            return -1
        return real(*given)

    _kept.append(form(failing))
    vfs.set(address, call.encode(), ctypes.cast(_kept[-1], _POINTER))


@contextmanager
def broken(name):
    """A block in which SQLite is broken, for connections that are made in it."""
    library = _library()
    install(name)
    try:
        yield
    finally:
        unix = library.sqlite3_vfs_find(b"unix")
        library.sqlite3_vfs_register(unix, 1)
        _Vfs.from_address(unix).set(unix, None, None)


def environment(name, folder):
    """Variables with which any Python that is started has a broken SQLite."""
    _library()
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "sitecustomize.py").write_text(
        f"from tests.support import sqlite_faults\nsqlite_faults.install({name!r})\n"
    )
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), root])}
