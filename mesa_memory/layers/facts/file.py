"""Facts as a file that people read and edit, in Markdown."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import one_line
from mesa_memory.layers.facts.statement import FactStatement

#: the heading of the summary, and the attribute of a line that names none
SUMMARY_HEADING, NOTE_ATTRIBUTE = "Summary", "note"
#: longest file that is read, in characters
FILE_CHARS = 10_000_000

_ITEM = re.compile(r"[-*+]\s+(.*)")
_NOT = "not "


@dataclass(frozen=True)
class FactFile:
    """The contents of a file.

    Attributes:
        statements: in the order of the file.
        summary: None without one.
        says_empty: True for the file of a memory without facts: the title alone.
    """

    statements: Sequence[FactStatement]
    summary: str | None = None
    says_empty: bool = False


def to_markdown(
    title: str, summary: str | None, told: Iterable[tuple[FactStatement, str]]
) -> str:
    """Facts as Markdown: a heading for each subject, a line for each fact.

    Args:
        told: each with its remark, which becomes a comment.
    """
    sections: dict[str, list[str]] = {}
    for statement, beside in told:
        value = statement.value if statement.holds else f"{_NOT}{statement.value}"
        if statement.holds and value.lower().startswith(_NOT):
            value = f"&#{ord(value[0])};{_escaped(value[1:])}"
        else:
            value = _escaped(value)
        name = _escaped(statement.attribute).replace(":", "&#58;")
        line = f"- {name}: {value} <!-- {_escaped(beside)} -->"
        sections.setdefault(statement.subject, []).append(line)
    blocks = [f"# {_escaped(title)}"]
    if summary is not None:
        blocks.append(f"## {SUMMARY_HEADING}\n\n{_escaped(summary)}")
    for subject, lines in sections.items():
        heading = _escaped(subject)
        if heading.casefold() == SUMMARY_HEADING.casefold():
            heading = f"&#{ord(heading[0])};{heading[1:]}"
        blocks.append("\n".join([f"## {heading}", "", *lines]))
    return "\n\n".join(blocks) + "\n"


def of_markdown(text: str, now: float) -> FactFile:
    """Reads a file in Markdown; a line without an attribute is a note.

    Raises:
        TypeError, ValueError: if the text is not in that form.
    """
    _check(text)
    statements: list[FactStatement] = []
    summary: list[str] = []
    subject, first = "", False
    lines = [row.strip() for row in _without_comments(text).splitlines()]
    for line in lines:
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
            first = heading == SUMMARY_HEADING
            subject = "" if line.startswith("# ") else _unescaped(heading)
        elif first and line:
            summary.append(_unescaped(line))
        elif line and subject:
            item = _ITEM.fullmatch(line)
            statements.append(_statement(subject, item[1] if item else line, now))
        elif line:
            raise ValueError(
                f"the line {line[:80]!r} stands under no heading: a fact stands as "
                "'- attribute: value' below '## subject'"
            )
    written = [line for line in lines if line]
    says_empty = len(written) == 1 and written[0].startswith("# ")
    return FactFile(statements, " ".join(summary) or None, says_empty)


def _statement(subject: str, said: str, now: float) -> FactStatement:
    attribute, colon, value = said.partition(":")
    if not colon or not value.strip() or not attribute.strip():
        attribute, value = NOTE_ATTRIBUTE, said
    value = value.strip()
    holds = not value.lower().startswith(_NOT)
    value = value if holds else value[len(_NOT) :]
    name, told = (one_line(_unescaped(text.strip())) for text in (attribute, value))
    return FactStatement(subject, name, told, holds=holds, since=now, last=now)


def _check(text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError(f"the facts must be a text in Markdown, got {text!r:.80}")
    if len(text) > FILE_CHARS:
        raise ValueError(
            f"the facts have {len(text)} characters; at most {FILE_CHARS} are read"
        )


def _without_comments(text: str) -> str:
    """Markdown without its comments.

    Raises:
        ValueError: if a comment does not end.
    """
    kept, *rest = text.split("<!--")
    parts, inside = [kept], False
    for part in rest:
        _, end, after = part.partition("-->")
        parts.append(after)
        inside = not end
    if inside:
        raise ValueError(
            "a comment of the facts begins with '<!--' and does not end; close it with "
            "'-->', or write '&lt;!--' if it is text"
        )
    return "".join(parts)


def _escaped(text: str) -> str:
    return html.escape(one_line(text), quote=False).replace("--", "-&#45;")


def _unescaped(text: str) -> str:
    return html.unescape(text)
