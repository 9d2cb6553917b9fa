"""The words of all texts that reach a model or an agent, in one language.

A file is Markdown with a part under each heading ``## name``. A part is a Jinja template;
text before the first heading is for readers. The English file of a name says there
which values its parts are given: ``Needs:`` those that must be used somewhere in the file,
``May use:`` the others. A task's parts may also use ``me`` and ``role``. Code chooses the values, files choose the words.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, TemplateError, meta

from mesa_memory.errors import MissingExtra, PromptFileError

#: the languages' folders
FOLDER = Path(__file__).parents[1] / "prompts"
#: every other language has the files and parts of this one
FIRST_LANGUAGE = "en"

#: the language of each agent's own prompts
AUTO = "auto"
#: letters from which a guess of the language is worth something
SHORTEST_TEXT = 20

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


class Wording:
    """All files of one language, with a user's own in the place of some.

    Args:
        language: a folder of ``mesa_memory/prompts``, such as ``"es"``.
        folder: has files of the same names, for this language alone in a folder
            ``<language>``. A part that a file lacks is told as the package does.

    Attributes:
        used: names of the files from which something was told, for the record.

    Raises:
        PromptFileError: for an unknown language, a folder or file that is not there, or a
            file that does not fit.
    """

    def __init__(
        self, language: str = FIRST_LANGUAGE, folder: str | Path | None = None
    ) -> None:
        self.language = language
        self.files = dict(_built_in(language))
        self.used: dict[str, None] = {}
        for name, file in _own_files(language, folder).items():
            file.check_against(_built_in(FIRST_LANGUAGE)[name])
            file.parts = self.files[name].parts | file.parts
            self.files[name] = file

    def __call__(self, file: str, part: str, **values: Any) -> str:
        """The text of a part, with these values in it.

        Raises:
            PromptFileError: if a template cannot be filled in.
        """
        self.used[file] = None
        try:
            return self.files[file].templates[part].render(values).strip("\n")
        except TemplateError as error:
            raise PromptFileError(
                f"part '{part}' of the prompt file '{file}' cannot be filled in: {error}"
            ) from error

    def has(self, file: str, part: str) -> bool:
        """True if there is such a part."""
        return part in self.parts(file)

    def parts(self, file: str) -> list[str]:
        """The names of a file's parts, in its order; none of a file that does not exist."""
        return list(self.files[file].parts) if file in self.files else []

    def __reduce__(self) -> tuple:
        """In another process, the texts are the same although the folder may be missing."""
        own = {
            name: file.text
            for name, file in self.files.items()
            if file is not _built_in(self.language)[name]
        }
        return restored, (self.language, own)


def languages() -> list[str]:
    """The languages that there are, in the order of the alphabet."""
    return sorted(path.name for path in FOLDER.iterdir() if any(path.glob("*.md")))


@cache
def _built_in(language: str) -> Mapping[str, PromptFile]:
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


def _own_files(language: str, folder: str | Path | None) -> dict[str, PromptFile]:
    if folder is None:
        return {}
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise PromptFileError(f"there is no folder {str(folder)!r} with prompt files")
    found = _files(root) | _files(root / language)
    names = _built_in(FIRST_LANGUAGE)
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


def restored(language: str, own: Mapping[str, str]) -> Wording:
    """A wording with these texts of files, by name."""
    made = Wording(language)
    made.files |= {name: PromptFile(name, text) for name, text in own.items()}
    return made


#: what texts are told in if nothing else was chosen
ENGLISH = Wording()


@dataclass
class Wordings:
    """The wordings of a run, by language.

    Attributes:
        language: of agents without a ``language`` of their own; ``"auto"`` takes that of
            each agent's prompts.
        folder: a user's prompt files; None without any.
    """

    language: str = FIRST_LANGUAGE
    folder: str | Path | None = None
    known: dict[str, Wording] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.of(self.language)

    def of(self, language: object = None) -> Wording:
        """The wording of a language, made once; anything but a text is the run's.

        Raises:
            PromptFileError: see ``Wording``.
        """
        name = language if isinstance(language, str) and language else self.language
        if name == AUTO:  # of no agent
            name = FIRST_LANGUAGE
        if name not in self.known:
            self.known[name] = Wording(name, self.folder)
        return self.known[name]

    def of_agent(self, agent: Any) -> Wording:
        """In which words an agent is told: by its ``language``, or else the run's.

        Raises:
            PromptFileError: see ``Wording``.
            MissingExtra: if the language is to be detected and py3langid is not
                installed.
        """
        named = getattr(agent, "language", None)
        if not isinstance(named, str):
            named = self.language
        return self.of(_detected(agent) if named == AUTO else named)


def _detected(agent: Any) -> str:
    """The language of an agent's ``system_prompt`` and ``step_prompt``, by py3langid.

    One of ``languages()``; English if there is little to go by.
    """
    told = (getattr(agent, name, None) for name in ("system_prompt", "step_prompt"))
    text = " ".join(part for part in told if isinstance(part, str))
    if len(text) < SHORTEST_TEXT and text.isascii():
        return FIRST_LANGUAGE
    return _classified(text)


@lru_cache(maxsize=1000)
def _classified(text: str) -> str:
    return str(_identifier().classify(text)[0])


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ModuleNotFoundError as error:
        raise MissingExtra("py3langid", "languages") from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(languages())
    return identifier
