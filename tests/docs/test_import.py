"""What README imports can be imported: in its order, in a program that has nothing set."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mesa_memory

ROOT = Path(__file__).parent.parent.parent
_LINE = re.compile(r"^(?:from mesa\S* )?import .+$", re.MULTILINE)
_OURS = re.compile(r"^from mesa_memory import ([\w, ]+)$", re.MULTILINE)


@pytest.mark.slow
def test_readmes_imports_work_in_their_order_without_a_variable():
    lines = _LINE.findall((ROOT / "README.md").read_text())
    assert len(lines) > 3
    bare = {k: v for k, v in os.environ.items() if not k.startswith("LITELLM_")}
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], env=bare, capture_output=True
    )
    assert ran.returncode == 0, ran.stderr.decode()


def test_every_name_that_a_page_imports_from_the_top_is_public():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for names in _OURS.findall(page.read_text()):
            for name in names.split(", "):
                module = find_spec(f"mesa_memory.{name}")
                assert module or hasattr(mesa_memory, name), (page.name, name)
