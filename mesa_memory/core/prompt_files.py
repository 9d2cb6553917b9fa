"""The files of the words that reach a model or an agent, as they are read and checked.

A file is Markdown with a part under each heading ``## name``. A part is a Jinja template;
text before the first heading is for readers. The English file of a name says there
which values its parts are given: ``Needs:`` values that a part must use,
``May use:`` the others. A task's parts may also use ``me`` and ``role``. Code chooses the
values, files choose the words.

A file may come from another author, so a part is text, never a program: it has values,
conditions and loops over values. It calls nothing, reads no attribute that the package's
own files do not read, and its text grows no faster than its values.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

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
_JINJA = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # these are texts for models, not pages
)
# A file may use the values that it names, and nothing else.
_JINJA.globals.clear()

#: errors of a template that cannot be read or filled in
TEMPLATE_FAULTS = (
    *(TemplateError, TypeError, ValueError, ArithmeticError, LookupError),
    *(AttributeError, RecursionError, MemoryError),
)
#: a longer text must be explained by its values, in characters
MAX_TEXT_CHARS = 65_536
#: what a part may be made of
_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.CondExpr),
    *(nodes.Name, nodes.Const, nodes.Compare, nodes.Operand, nodes.And, nodes.Or),
    *(nodes.Not, nodes.Neg, nodes.Add, nodes.Sub, nodes.Mod, nodes.Concat),
    *(nodes.Filter, nodes.For, nodes.Getattr, nodes.Getitem, nodes.Slice),
)
_FILTERS = frozenset(
    ("join", "length", "first", "last", "lower", "upper", "capitalize", "trim")
)
_LOOP = frozenset(("index", "index0", "first", "last", "length"))
#: a number in a text, such as "%+.1f"
_NUMBER = re.compile(r"%[-+ 0]?\d?(\.\d)?[dfgs]%?")


#: what a phrase may be made of, see ``Phrase``
_PHRASE_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const),
    *(nodes.If, nodes.Not, nodes.And, nodes.Or),
)


class Phrase:
    """A part that only asks which of its values are empty, as most do.

    Attributes:
        asked: names of the values that it asks for.
        forms: for each answer (True: the value is not empty) the text to be filled in,
            with ``%(name)s`` for each value, as far as it was needed.
    """

    def __init__(self, tree: nodes.Template) -> None:
        self._body = tree.body
        tests = [node.test for node in tree.find_all(nodes.If)]
        tests += tree.find_all((nodes.And, nodes.Or))
        found = nodes.List(tests).find_all(nodes.Name)
        self.asked = tuple({name.name: None for name in found})
        self.forms: dict[tuple[bool, ...], str] = {}

    def form(self, answer: tuple[bool, ...]) -> str:
        """The text to be filled in for an answer, see ``forms``."""
        form = ""
        for node in _shown(self._body, dict(zip(self.asked, answer, strict=True))):
            if isinstance(node, nodes.Name):
                form += f"%({node.name})s"
            else:
                text = getattr(node, "data", None) or str(getattr(node, "value", ""))
                form += text.replace("%", "%%")
        self.forms[answer] = form
        return self.forms[answer]


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
    def phrases(self) -> Mapping[str, Phrase]:
        """The parts without loops and comparisons.

        Raises:
            PromptFileError: for a part that is not a template of values.
        """
        trees = {name: self._tree(name) for name in self.parts}
        return {n: Phrase(tree) for n, tree in trees.items() if _is_phrase(tree)}

    @cached_property
    def templates(self) -> Mapping[str, Template]:
        """The parts that are not phrases, compiled.

        Raises:
            PromptFileError: for a part that is not a template of values.
        """
        others = (name for name in self.parts if name not in self.phrases)
        return {name: self._compiled(name) for name in others}

    def check_size(self, part: str, text: str, values: Mapping[str, Any]) -> None:
        """Refuses a long text that its values do not explain.

        Raises:
            PromptFileError: for more than ``MAX_TEXT_CHARS`` characters, and four times
                those of its values.
        """
        if len(text) > MAX_TEXT_CHARS and len(text) > 4 * len(repr(values)):
            raise self.fault(
                part,
                f"makes a text of {len(text)} characters; beyond {MAX_TEXT_CHARS} it may "
                "have at most four times the characters of its values",
            )

    def used(self, part: str) -> set[str]:
        """The names of the values that a part uses.

        Raises:
            PromptFileError: if the part is not a template of values.
        """
        return meta.find_undeclared_variables(self._tree(part))

    def _tree(self, part: str) -> nodes.Template:
        """The part as Jinja reads it, if it is made of values, conditions and loops."""
        try:
            tree = _JINJA.parse(self.parts[part])
            wrong = next(filter(None, map(_not_allowed, tree.find_all(nodes.Node))), "")
        except TEMPLATE_FAULTS as error:
            raise self.fault(part, f"is not a Jinja template: {error}") from error
        if wrong:
            raise self.fault(
                part,
                f"uses {wrong}; a part may use values, conditions, loops over values, "
                f"sums, numbers such as '%.1f' and the filters {', '.join(sorted(_FILTERS))}",
            )
        return tree

    def _compiled(self, part: str) -> Template:
        tree = self._tree(part)
        try:
            return _JINJA.from_string(tree)
        except TEMPLATE_FAULTS as error:
            raise self.fault(part, f"is not a Jinja template: {error}") from error

    def _attributes(self, part: str) -> set[str]:
        """The names of the attributes that a part reads."""
        return {node.attr for node in self._tree(part).find_all(nodes.Getattr)}

    def fault(self, part: str, problem: str) -> PromptFileError:
        """The error that a part has this problem."""
        return PromptFileError(
            f"part '{part}' of the prompt file '{self.name}' {problem}"
        )

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
        read = _LOOP.union(*map(first._attributes, first.parts))
        for part in self.parts:
            self._compiled(part)
            for used, known in (
                (self.used(part), first.allowed),
                (self._attributes(part), read),
            ):
                if wrong := sorted(used - known):
                    names = ", ".join(sorted(known)) or "none"
                    raise self.fault(
                        part, f"uses '{wrong[0]}'; the values that exist are: {names}"
                    )
            missing = sorted((first.used(part) & first.needed) - self.used(part))
            if missing:
                raise self.fault(
                    part, f"must use '{missing[0]}', or the model is not told of it"
                )


def _is_phrase(tree: nodes.Template) -> bool:
    return all(type(node) in _PHRASE_NODES for node in tree.find_all(nodes.Node))


def _shown(
    body: Iterable[nodes.Node], given: Mapping[str, bool]
) -> Iterator[nodes.Node]:
    """The texts and values of a phrase if these values are given, and the others empty."""
    for node in body:
        if isinstance(node, nodes.Output):
            yield from _shown(node.nodes, given)
        elif isinstance(node, nodes.If):
            branches = [(each.test, each.body) for each in (node, *node.elif_)]
            holding = (then for test, then in branches if _holds(test, given))
            yield from _shown(next(holding, node.else_), given)
        elif isinstance(node, nodes.And | nodes.Or):
            left = _holds(node.left, given) is isinstance(node, nodes.Or)
            yield from _shown([node.left if left else node.right], given)
        else:
            yield node


def _holds(test: nodes.Node, given: Mapping[str, bool]) -> bool:
    """True if a condition of a phrase holds."""
    if isinstance(test, nodes.Name):
        return given[test.name]
    if isinstance(test, nodes.Not):
        return not _holds(test.node, given)
    if isinstance(test, nodes.And | nodes.Or):
        either = _holds(test.left, given), _holds(test.right, given)
        return any(either) if isinstance(test, nodes.Or) else all(either)
    return bool(getattr(test, "value", False))


def _not_allowed(node: nodes.Node) -> str:
    """The forbidden thing that a node is; empty if it is allowed."""
    if type(node) not in _NODES:
        return f"'{type(node).__name__}'"
    if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
        return f"the filter '{node.name}'"
    if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        return f"'{node.attr}'"
    if isinstance(node, nodes.Getitem):
        place = node.arg.node if isinstance(node.arg, nodes.Neg) else node.arg
        number = isinstance(getattr(place, "value", None), int)
        return "" if number or isinstance(place, nodes.Slice) else "[…] with a name"
    if isinstance(node, nodes.Mod):
        form = getattr(node.left, "value", None)
        if not isinstance(form, str) or not _NUMBER.fullmatch(form):
            return f"% with {form!r}"
    if isinstance(node, nodes.For):
        return _endless(node)
    return ""


def _endless(loop: nodes.For) -> str:
    """The reason that a loop may run longer than its values; empty if it cannot."""
    if loop.recursive:
        return "a recursive loop"
    for inner in loop.find_all(nodes.For):
        # Each item is gone through once, so all loops together end with the values.
        whole = getattr(inner.iter, "node", None)
        if getattr(whole, "name", None) != getattr(loop.target, "name", ""):
            return "a loop within a loop that does not go through a part of its item"
    return ""


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
