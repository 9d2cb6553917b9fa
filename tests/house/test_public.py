"""What is public exists and is documented; importing it is light."""

import subprocess
import sys
from importlib import import_module

import pytest

import mesa_memory
import mesa_memory.layers
from mesa_memory import experiments

MODULES = ("experiments", "interventions", "layers", "llm", "memories", "metrics",
           "retrieval", "testing")  # fmt: skip
MAX_NAMES = 45


def test_every_public_name_exists_and_is_documented():
    assert len(mesa_memory.__all__) <= MAX_NAMES
    modules = [import_module(f"mesa_memory.{name}") for name in MODULES]
    for module in (mesa_memory, *modules):
        assert module.__all__ == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_a_name_that_does_not_exist_is_an_attribute_error():
    for module in (mesa_memory, mesa_memory.layers):
        with pytest.raises(AttributeError, match="no attribute 'Memery'"):
            _ = module.Memery


def test_the_package_says_where_a_study_is_and_has_no_such_name():
    assert not hasattr(mesa_memory, "Study") and not hasattr(mesa_memory, "verify")
    assert getattr(mesa_memory, "Study", None) is None
    with pytest.raises(
        AttributeError, match=r"from mesa_memory\.experiments import ver"
    ):
        _ = mesa_memory.verify
    for name in experiments.__all__:
        assert not hasattr(mesa_memory, name)


def test_importing_the_package_and_its_command_is_light_and_opens_no_socket():
    code = (
        "import socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "import mesa_memory\n"
        "own = sorted(n for n in sys.modules if n.startswith('mesa_memory.'))\n"
        "assert not own, own\n"
        "import mesa_memory.cli\n"
        "heavy = {'litellm', 'mesa', 'mesa_llm', 'numpy', 'pandas', 'matplotlib'}\n"
        "heavy = (heavy | {'rich', 'sqlalchemy'}) & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from mesa_memory import STLTMemory, configure\n"
        "import mesa_memory.llm.litellm_sender\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
