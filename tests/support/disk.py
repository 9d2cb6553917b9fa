"""A small file system, for tests of a disk that fills up."""

import shutil
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(folder, megabytes):
    """Mounts a file system of this size in a new folder; skips where that fails."""
    folder.mkdir()
    size = f"size={megabytes}m"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder]
    if (
        not shutil.which("mount")
        or subprocess.run(command, capture_output=True).returncode
    ):
        pytest.skip("a file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
