"""The files of the words that reach a model or an agent, as they are read and checked.

A file is Markdown with a part under each heading ``## name``. A part is a Jinja template;
text before the first heading is for readers. The English file of a name says there
which values its parts are given: ``Needs:`` values that a part must use,
``May use:`` the others. A task's parts may also use ``me`` and ``role``. Code chooses the
values, files choose the words.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template, TemplateError, meta

from mesa_memory.errors import PromptFileError

#: the languages' folders
FOLDER = Path(__file__).parents[1] / "prompts"
#: every other language has the files and parts of this one
FIRST_LANGUAGE = "en"

#: the values that all parts of a task are given: the agent's name, the beginning of its
#: system prompt
WHOSE = frozenset({"me", "role"})

_HEADING = re.compile(r"^## (.+?)[ \t]*$", re.MULTILINE)
_VALUES = re.compile(r"^(Needs|May use): (.*)$", re.MULTILINE)
# What agents say is a value, so it is put in as it is: never a template, never escaped.
_JINJA = Environment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701, these are texts for models, not pages
)
# A file may use the values that it names, and nothing else.
_JINJA.globals.clear()


class PromptFile:
    """One file: its parts by name.

    Attributes:
        name: without the ending, such as ``"consolidate"``.
        parts: heading -> template text.
        needed, allowed: names of the values that must, and that may, be used.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        head, *rest = _HEADING.split(text)
        bodies = (body.strip() for body in rest[1::2])
        self.parts = dict(zip(rest[::2], bodies, strict=True))
        told = {
            kind: set(re.findall(r"`(\w+)`", line))
            for kind, line in _VALUES.findall(head)
        }
        self.needed: set[str] = told.get("Needs", set())
        self.allowed = self.needed | told.get("May use", set())
        if "system" in self.parts:
            self.allowed |= WHOSE

    @property
    def text(self) -> str:
        """The parts as they stand in a file, without the head for readers."""
        return "\n".join(f"## {name}\n\n{part}\n" for name, part in self.parts.items())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def templates(self) -> Mapping[str, Template]:
        """The parts, ready to be filled in."""
        return {name: _JINJA.from_string(part) for name, part in self.parts.items()}

    def used(self, part: str) -> set[str]:
        """The names of the values that a part uses.

        Raises:
            PromptFileError: if the part is not a template.
        """
        try:
            return meta.find_undeclared_variables(_JINJA.parse(self.parts[part]))
        except TemplateError as error:
            raise PromptFileError(
                f"part '{part}' of the prompt file '{self.name}' is not a Jinja template: "
                f"{error}"
            ) from error

    def check_against(self, first: "PromptFile") -> None:
        """Lets a file pass that has the parts and values of the first one.

        Raises:
            PromptFileError: for an unknown part or value, or a needed value that no part
                uses.
        """
        unknown = [part for part in self.parts if part not in first.parts]
        if unknown:
            raise PromptFileError(
                f"the prompt file '{self.name}' has the part '{unknown[0]}'; its parts are: "
                f"{', '.join(first.parts)}"
            )
        for part in self.parts:
            wrong = sorted(self.used(part) - first.allowed)
            if wrong:
                raise PromptFileError(
                    f"part '{part}' of the prompt file '{self.name}' uses '{wrong[0]}'; the "
                    f"values that exist are: {', '.join(sorted(first.allowed)) or 'none'}"
                )
        for part in self.parts:
            missing = sorted((first.used(part) & first.needed) - self.used(part))
            if missing:
                raise PromptFileError(
                    f"part '{part}' of the prompt file '{self.name}' must use "
                    f"'{missing[0]}', or the model is not told of it"
                )


def languages() -> list[str]:
    """The languages that there are, in the order of the alphabet."""
    return sorted(path.name for path in FOLDER.iterdir() if any(path.glob("*.md")))


@cache
def built_in(language: str) -> Mapping[str, PromptFile]:
    """The package's files of a language, by name.

    Raises:
        PromptFileError: for an unknown language.
    """
    if not isinstance(language, str) or language not in languages():
        raise PromptFileError(
            f"prompts in the language {language!r} do not exist; the languages are: "
            f"{', '.join(languages())}"
        )
    return _files(FOLDER / language)


def _files(folder: Path) -> dict[str, PromptFile]:
    return {
        path.stem: PromptFile(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.md"))
        if path.stem.lower() != "readme"
    }


def own_files(language: str, folder: str | Path | None) -> dict[str, PromptFile]:
    """A user's files for a language, by name; none without a folder.

    Raises:
        PromptFileError: for a folder that is not there, without files, or with a file of
            another name.
    """
    if folder is None:
        return {}
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise PromptFileError(f"there is no folder {str(folder)!r} with prompt files")
    found = _files(root) | _files(root / language)
    names = built_in(FIRST_LANGUAGE)
    for name in found:
        if name not in names:
            raise PromptFileError(
                f"the folder {str(folder)!r} has a prompt file '{name}'; the names are: "
                f"{', '.join(names)}"
            )
    if not found and not any((root / each).is_dir() for each in languages()):
        raise PromptFileError(
            f"the folder {str(folder)!r} lacks prompt files named '<name>.md'"
        )
    return found
