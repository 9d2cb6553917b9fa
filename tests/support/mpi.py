"""Programs that MPI starts several times at once, as ``mpi4py.futures`` wants it."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.support.browser import missing

ROOT = Path(__file__).parents[2]
#: Open MPI refuses root, and more processes than processors; MPICH does not mind
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
#: seconds after which a program hangs
HUNG_S = 400


def mpiexec():
    """The command, that of this environment first; skips the test where none is."""
    if find_spec("mpi4py") is None:
        missing("mpi4py")
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return shutil.which("mpiexec", path=beside) or missing("mpiexec, of any MPI")


def play(script, *arguments, ranks=3):
    """A program that has ended, with what it printed; rank 0 has no tasks."""
    program = [sys.executable, "-m", "mpi4py.futures", script, *arguments]
    return subprocess.run(
        [mpiexec(), "-n", str(ranks), *map(str, program)],
        env={**os.environ, **ALLOWED, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HUNG_S,
    )
