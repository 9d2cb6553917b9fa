"""What every command does: it says what takes long, and completes in a shell."""

import os
import subprocess
import sys
import time

import pytest

from mesa_memory.cli.progress import told_if_slow
from tests.support.waiting import HUNG

SHELLS = ("bash", "zsh", "fish")


def test_what_takes_long_is_said_and_what_is_quick_is_not(capsys):
    with told_if_slow("Looking"):
        pass
    said, end = "", time.monotonic() + HUNG
    with told_if_slow("Waiting"):
        while not said and time.monotonic() < end:
            time.sleep(0.05)
            said += capsys.readouterr().err
    assert said == "Waiting ...\n"


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_the_documented_line_completes_commands_in_each_shell(shell):
    code = "from mesa_memory.cli import main; main(prog_name='mesa-memory')"
    script, offered = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"_MESA_MEMORY_COMPLETE": f"{shell}_{what}"} | given,
            capture_output=True,
            text=True,
        ).stdout
        for what, given in (
            ("source", {}),
            (
                "complete",
                {
                    "COMP_WORDS": "mesa-memory rep",
                    "COMP_CWORD": "1" if shell != "fish" else "rep",
                },
            ),
        )
    )
    assert "mesa-memory" in script and "_MESA_MEMORY_COMPLETE" in script
    assert "report" in offered
