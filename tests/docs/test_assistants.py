"""What assistants read, ``llms.txt`` and the skill, is true."""

import re
import shlex
from pathlib import Path

import click
import pytest

from mesa_memory.cli import main

DOCS = Path(__file__).parent.parent.parent / "docs"
SKILL = DOCS / "skill" / "SKILL.md"
COMMAND = re.compile(r"`(mesa-memory [^`]+)`")


def command_of(words):
    """The command that a line names, and the words after it."""
    command = main
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    return command, words


@pytest.mark.parametrize("line", sorted(set(COMMAND.findall(SKILL.read_text()))))
def test_each_command_of_the_skill_exists_with_its_options(line):
    command, words = command_of(shlex.split(line)[1:])
    known = {name for each in command.params for name in each.opts}
    assert {word for word in words if word.startswith("--")} <= known
    places = [each for each in command.params if isinstance(each, click.Argument)]
    needed = [each for each in places if each.required]
    assert not needed or any(word.isupper() for word in words)


def test_the_page_of_commands_has_each_command():
    page = (DOCS / "howto" / "command_line.md").read_text()
    assert [n for n in main.commands if f"`mesa-memory {n} " not in page] == []


@pytest.mark.parametrize("page", [SKILL, DOCS / "llms.txt"], ids=lambda page: page.name)
def test_each_link_leads_to_a_page(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert len(links) >= 1
    for link in links:
        generated = link.endswith("guarantees.md")
        assert generated or (page.parent / link).exists(), link
