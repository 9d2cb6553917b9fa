"""Other wordings of a memory's text: the same content in another form."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_STEP = re.compile(r"\b([Ss])tep\b")
_BULLET = re.compile(r"^\s*[-*]\s+")
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True)
class OtherWording:
    """Shows a text as a function words it, at any length.

    Attributes:
        name: of the wording, for tables and the record.
        function: from a text to a text.
    """

    name: str
    function: Callable[[str], str]

    def __call__(self, memory: Any, section: str, text: str) -> str:
        """The text in this wording."""
        return self.function(text)

    def __str__(self) -> str:
        """The name."""
        return f"wording {self.name}"


def sections_reversed(text: str) -> str:
    """The last section first."""
    return "\n\n".join(_joined(section) for section in reversed(_sections(text)))


def newest_first(text: str) -> str:
    """The steps of each section, and the lines of each step, in the reverse order."""
    found = []
    for head, lines in _sections(text):
        blocks: list[list[str]] = []
        for line in lines:
            if is_heading(line) or not blocks or not is_heading(blocks[-1][0]):
                blocks.append([line])
            else:
                blocks[-1].insert(1, line)
        found.append(
            _joined((head, [line for block in blocks[::-1] for line in block]))
        )
    return "\n\n".join(found)


def without_headings(text: str) -> str:
    """The lines alone."""
    return "\n".join(
        line for _, lines in _sections(text) for line in lines if not is_heading(line)
    )


def markdown(text: str) -> str:
    """Headings with number signs, lines as a list."""
    return _retold(text, "- {1}", "### {}", "## {}")


def prose(text: str) -> str:
    """Each section as one paragraph."""
    return _retold(text, "{1}", "{}:", joint=" ")


def numbered(text: str) -> str:
    """The lines of each section numbered from 1."""
    return _retold(text, "{0}. {1}", "{}:")


def day_for_step(text: str) -> str:
    """``Day`` in the place of ``Step``."""
    return _STEP.sub(lambda found: "Day" if found[1] == "S" else "day", text)


#: the wordings of an audit, by name
WORDINGS = {
    name: OtherWording(name, function)
    for name, function in (
        ("sections reversed", sections_reversed),
        ("newest first", newest_first),
        ("no headings", without_headings),
        ("markdown", markdown),
        ("prose", prose),
        ("numbered", numbered),
        ("day for step", day_for_step),
    )
}


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """Headings of sections and the lines below each, headings of steps among them.

    Empty lines are left out. What stands before the first heading has an empty one.
    """
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in filter(str.strip, text.split("\n")):
        if is_heading(line) and not _NUMBER.search(line):
            found.append((line, []))
        else:
            found[-1][1].append(line)
    return [section for section in found if section != ("", [])]


def is_heading(line: str) -> bool:
    """True for the heading of a section, a step or a conversation.

    A line about an event begins with a bullet, or has a colon after its speaker: it is
    not a heading, even if it ends with a colon.
    """
    told = line.rstrip()
    return told.find(":") == len(told) - 1 >= 0 and not _BULLET.match(line)


def _retold(
    text: str, form: str, heading: str, section: str = "{}:", joint: str = "\n"
) -> str:
    """Sections in other forms.

    Args:
        form: of a line, from its number and text.
        heading: of a step.
        section: the heading of a section.
        joint: between the lines of a section.
    """
    found = []
    for head, lines in _sections(text):
        told = [section.format(head.rstrip(":"))] * bool(head)
        number = 0
        for line in lines:
            if is_heading(line):
                told.append(heading.format(line.rstrip().rstrip(":")))
            else:
                number += 1
                told.append(form.format(number, _BULLET.sub("", line)))
        found.append(joint.join(told))
    return "\n\n".join(found)


def _joined(section: tuple[str, list[str]]) -> str:
    head, lines = section
    return "\n".join([head, *lines] if head else lines)
