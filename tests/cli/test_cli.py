"""The command ``mesa-memory``."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from mesa_memory import __version__
from mesa_memory.cli import main
from mesa_memory.cli.demo import show
from mesa_memory.cli.output import Output
from mesa_memory.examples.rumor import MEMORIES, MORE_MEMORIES
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.openai_server import OpenAIServer

SMALL = ["--agents", "4", "--steps", "3"]
DEMO = ("demo", "--headless")


def call(*arguments):
    import mesa_llm  # noqa: F401 - else the command says first that it is loading it

    return CliRunner().invoke(main, [str(a) for a in arguments])


# -- demo -----------------------------------------------------------------------------


def test_the_demo_shows_who_knows_what_and_why_and_what_it_cost():
    for memory in (*MEMORIES, *MORE_MEMORIES):
        result = call(*DEMO, "--memory", memory, *SMALL)
        assert result.exit_code == 0, result.output
        for part in (
            "believed",
            "remembers at step 3",
            "What it cost",
            "reasoning",
            "Wall time",
        ):
            assert part in result.stdout
        assert re.search(r"total\D+\d+\D+\d+.*0\.00", result.stdout)
        assert "\x1b" not in result.stdout  # plain text where there is no terminal


def test_the_demo_needs_neither_network_nor_key_nor_unicode():
    code = (
        "import os, socket, sys\n"
        "def refuse(*a, **k): raise AssertionError('a socket was opened')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "assert not [n for n in os.environ if n.endswith('_API_KEY')]\n"
        "from mesa_memory.cli import main\n"
        "main(['demo', '--headless', '--agents', '5', '--steps', '12'])\n"
    )
    bare = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=bare | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=600,
    )
    said = ran.stderr.decode("ascii").splitlines()
    assert ran.returncode == 0, said
    # Importing takes seconds.
    assert said[0].startswith("Loading")
    assert said[1].startswith("Plays 12 days in a town of 5 people")
    assert b"Wall time" in ran.stdout
    assert ran.stdout.isascii()


def test_words_of_agents_are_shown_as_they_are(capsys):
    model = RumorModel(3, memory="short_term")
    model.step()
    odd = "poison [/red] [bold]:smile: \x1b[31m"
    for agent in model.agents:
        agent.memory.add_to_memory("message", {"message": odd, "sender": 9})
    model.opinions = {a.unique_id: a.opinion() for a in model.agents}
    show(model, Output())
    Output().report(f"1 failed:\n  case 1: {odd}")  # such as the status of a study
    shown = capsys.readouterr().out
    assert r"  case 1: poison [/red] [bold]:smile: \x1b[31m" in shown
    assert "- Agent 9 to you: poison [/red] [bold]:smile:" in shown
    assert "\x1b[31m" not in shown


def test_a_cost_that_is_not_known_is_not_shown_as_zero():
    with OpenAIServer(answer=lambda _: "nothing") as server:
        base = ("--llm", "openai/some", "--api-base", server.base)
        result = call(*DEMO, "--memory", "none", *SMALL, *base)
    assert result.exit_code == 0, result.output
    assert len(re.findall("unknown", result.stdout)) == 2


# -- what goes wrong ------------------------------------------------------------------


def error_line(result):
    """The one line of the error, behind the one that says what the demo does."""
    *before, error = result.stderr.splitlines()
    assert [line.partition(" ")[0] for line in before] in ([], ["Plays"])
    return error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agents", 0], "0 is not in the range x>=3"),
        (["--steps", 0], "0 is not in the range x>=1"),
        (["--seed", -1], "-1 is not in the range"),
        (["--port", 70000], "70000 is not in the range"),
        (["--memory", "x"], "'x': choose from short_term, stlt"),
        (["--llm", "gpt-4o"], "Invalid model format 'gpt-4o'"),
    ],
)
def test_a_wrong_argument_ends_in_one_line_that_says_what_is_right(arguments, message):
    result = call(*DEMO, *SMALL, *arguments)
    assert result.exit_code == 2
    *usage, error = result.stderr.splitlines()
    assert message in error
    assert not usage or usage[0].startswith(("Usage", "Plays"))


def test_a_missing_key_ends_in_one_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY")
    result = call(*DEMO, *SMALL, "--llm", "openai/gpt-4o-mini")
    assert result.exit_code == 2
    assert error_line(result).startswith("Error: ")
    assert "OPENAI_API_KEY" in error_line(result)
    assert isinstance(result.exception, SystemExit)


# -- help -----------------------------------------------------------------------------


def test_the_version_is_the_packages():
    assert call("--version").stdout == f"mesa-memory, version {__version__}\n"


def test_help_is_plain_ascii():
    for command in [(), *((name,) for name in main.commands)]:
        result = call(*command, "--help")
        assert result.exit_code == 0
        assert result.stdout.isascii()
