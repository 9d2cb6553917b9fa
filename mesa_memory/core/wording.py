"""The words of all texts that reach a model or an agent, and the names in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mesa_memory.core.content import by_id
from mesa_memory.core.prompt_files import (
    FIRST_LANGUAGE,
    MAX_TEXT_CHARS,
    TEMPLATE_FAULTS,
    PromptFile,
    built_in,
    languages,
    own_files,
)
from mesa_memory.errors import MissingExtra

#: the language of each agent's own prompts
AUTO = "auto"
#: letters from which a guess of the language is worth something
SHORTEST_TEXT = 20
#: the prompt file of what all requests share, and its part that says what a step is
COMMON, STEP = "common", "step"
#: longest name of a step, in characters
STEP_NAME_CHARS = 60
#: names of the addressees of a message, and in other lists; of more, the number is told
MAX_ADDRESSEES, MAX_LISTED_NAMES = 4, 8


class Wording:
    """All files of one language, with a user's own in the place of some.

    Args:
        language: a folder of ``mesa_memory/prompts``, such as ``"es"``.
        folder: has files of the same names, for this language alone in a folder
            ``<language>``. A part that a file lacks is told as the package does.
        step_name: what a step is, such as ``"one day"``; empty says nothing of it.

    Attributes:
        used: names of the files from which something was told, for the record.
        told, say: tell a part of the prompt files ``memory`` and ``events``, see a call.

    Raises:
        PromptFileError: for an unknown language, a folder or file that is not there, or a
            file that does not fit.
    """

    def __init__(
        self,
        language: str = FIRST_LANGUAGE,
        folder: str | Path | None = None,
        step_name: str = "",
    ) -> None:
        self.language = language
        self.files = dict(built_in(language))
        self.used: dict[str, None] = {}
        self.told, self.say = partial(self, "memory"), partial(self, "events")
        for name, file in own_files(language, folder).items():
            file.check_against(built_in(FIRST_LANGUAGE)[name])
            file.parts = self.files[name].parts | file.parts
            self.files[name] = file
        if step_name:
            common = PromptFile(COMMON, self.files[COMMON].text)
            common.parts[STEP] = self(COMMON, STEP, step_name=step_name)
            self.files[COMMON] = common

    @cached_property
    def step(self) -> str:
        """The sentence that says what a step is; empty without one."""
        return step_sentence(self.files[COMMON])

    def __call__(self, file: str, part: str, **values: Any) -> str:
        """The text of a part, with these values in it.

        Raises:
            PromptFileError: if it cannot be filled in, see also ``check_size``.
        """
        self.used[file] = None
        found = self.files[file]
        if (phrase := found.phrases.get(part)) is not None:
            try:
                given = tuple([bool(values[name]) for name in phrase.asked])
                form = phrase.forms.get(given)
                form = phrase.form(given) if form is None else form
                return (form % values).strip("\n")
            except KeyError as error:
                problem = f"cannot be filled in: {error} is undefined"
                raise found.fault(part, problem) from error
        try:
            text = found.templates[part].render(values).strip("\n")
        except TEMPLATE_FAULTS as error:
            raise found.fault(part, f"cannot be filled in: {error}") from error
        if len(text) > MAX_TEXT_CHARS:
            found.check_size(part, text, values)
        return text

    def listed(self, names: Sequence[str], part: str = "names") -> str:
        """Names in a sentence, by a part of ``events``; of many, how many more."""
        shown = names[:MAX_LISTED_NAMES]
        if more := len(names) - len(shown):
            return self.say("more names", others=shown, more=more)
        return self.say(part, others=shown, more=0) if names[1:] else "".join(names)

    def has(self, file: str, part: str) -> bool:
        """True if there is such a part."""
        return part in self.parts(file)

    def parts(self, file: str) -> list[str]:
        """The names of a file's parts, in its order; none of a file that does not exist."""
        return list(self.files[file].parts) if file in self.files else []

    def described(self, schema: Any, purpose: str) -> Any:
        """A reply's schema as models are shown it.

        A class of a task that has a prompt file lacks its docstring and the descriptions
        of its fields, which are written for readers of the code: the file says all.
        """
        bare = schema is not None and purpose in self.files
        return _without_descriptions(schema) if bare else schema

    def __reduce__(self) -> tuple:
        """In another process, the texts are the same although the folder may be missing."""
        own = {
            name: file.text
            for name, file in self.files.items()
            if file is not built_in(self.language)[name]
        }
        return restored, (self.language, own)


def step_sentence(common: PromptFile) -> str:
    """The sentence on a step in the file of all requests; empty without a name."""
    nameless = STEP not in common.parts or common.used(STEP)
    return "" if nameless else common.parts[STEP]


def checked_step_name(name: Any) -> str:
    """A name of a step for the middle of a sentence; empty for None.

    Raises:
        TypeError: if it is not a text.
        ValueError: if it is empty, long, or not a part of a sentence.
    """
    if name is None:
        return ""
    expected = (
        "step_name must say what a step is, such as 'one day', on one line of at most "
        f"{STEP_NAME_CHARS} characters, without a full stop or braces"
    )
    if not isinstance(name, str):
        raise TypeError(f"{expected}; got {name!r:.80}")
    plain = name.strip().isprintable() and not set("{}") & set(name)
    if not plain or name.strip()[-1:] in ("", *".。!?") or len(name) > STEP_NAME_CHARS:
        raise ValueError(f"{expected}; got {name!r:.80}")
    return name.strip()


def restored(language: str, own: Mapping[str, str]) -> Wording:
    """A wording with these texts of files, by name."""
    made = Wording(language)
    made.files |= {name: PromptFile(name, text) for name, text in own.items()}
    return made


#: what texts are told in if nothing else was chosen
ENGLISH = Wording()


# -- the schema of a reply ----------------------------------------------------------------


class _Bare(BaseModel):
    """Leaves the descriptions out of the schema of the class it is mixed into."""

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = _bare(super().model_json_schema(*args, **kwargs))
        return found


@lru_cache(maxsize=1000)
def _without_descriptions(schema: Any) -> Any:
    own = {
        name: getattr(schema, name)
        for name in ("__doc__", "__module__", "__qualname__")
    }
    return type(schema.__name__, (_Bare, schema), own)


def _bare(node: Any) -> Any:
    """A schema without descriptions."""
    if isinstance(node, list):
        return [_bare(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _bare(value)
        for key, value in node.items()
        if key != "description" or not isinstance(value, str)
    }


# -- names in texts ---------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Voice:
    """The names and the words of a text.

    Called with a unique id, it gives the agent's name.

    Attributes:
        naming: gives the name.
        wording: all other words.
        owner: unique id of the agent that remembers: what it heard went to it, and
            messages name those to whom they went; None leaves them out.
        to_owner: whether it reads the text itself and is called "you".
        names: the requested ones by unique id; without an owner, they are not kept.
    """

    naming: Callable[[Any], str] = by_id
    wording: Wording = ENGLISH
    owner: Any = None
    to_owner: bool = False
    names: dict[Any, str] = field(default_factory=dict)

    def __call__(self, unique_id: Any) -> str:
        """The name of an agent; of the reader, too."""
        if self.owner is None or type(unique_id) not in (int, str):
            return self.naming(unique_id)
        name = self.names.get(unique_id)
        if name is None:
            name = self.names[unique_id] = self.naming(unique_id)
        return name

    def noting(self) -> "Voice":
        """The same voice, whose ``names`` are empty yet."""
        return Voice(self, self.wording, self.owner, self.to_owner)

    def calls(self, names: Mapping[Any, str]) -> bool:
        """True if these are the names of agents now."""
        return [self(unique_id) for unique_id in names] == list(names.values())

    def message(self, sender: Any, recipients: Sequence[Any], text: str) -> str:
        """A spoken line with its speaker, and its listeners where known."""
        say, to = self.wording.say, self._listeners(sender, recipients)
        return say("message", who=self._speaker(sender), to=to, text=text)

    def repeated_message(
        self,
        said: Sequence[tuple[Any, Sequence[Any]]],
        count: int,
        step: str,
        text: str,
    ) -> str:
        """A line for a message that was said several times.

        Args:
            said: sender and recipients of each time, oldest first. Of several senders, the
                line leaves out who heard it.
            count: how often.
            step: of the newest.
        """
        senders, to = list(dict.fromkeys([sender for sender, _ in said])), ""
        if len(senders) == 1:
            heard = dict.fromkeys([other for _, several in said for other in several])
            who, to = (
                self._speaker(senders[0]),
                self._listeners(senders[0], list(heard)),
            )
        else:
            who = self.listed(senders, self.owner if self.to_owner else None)
        values = {"who": who, "to": to, "count": count, "step": step, "text": text}
        return self.wording.say("repeated message", **values)

    def _speaker(self, sender: Any) -> str:
        """The speaker at the beginning of a line."""
        who = self(sender)
        own = self.to_owner and self.owner is not None and sender == self.owner
        return self.wording.say("you") if own else who

    def _listeners(self, sender: Any, recipients: Sequence[Any]) -> str:
        """The listeners, as far as they are known and told; else empty."""
        say, to = self.wording.say, ""
        you = self.owner if self.to_owner else None
        heard = self._heard(sender, recipients) if self.owner is not None else []
        if heard:
            several = len(heard) > MAX_ADDRESSEES + 1
            shown = heard[:MAX_ADDRESSEES] if several else heard
            names = [self(other) for other in shown]
            if you is not None and shown[0] == you:
                own = say("to you")
                names = [own if o == you else n for o, n in zip(shown, names)]
            to = names[0]
            if len(heard) > 1:
                to = say("to several", others=names, more=len(heard) - len(names))
        return to

    def listed(self, unique_ids: Iterable[Any], you: Any = None) -> str:
        """Names in a sentence: ``Ada, Bob and Agent 4``; of many, how many more.

        Args:
            you: the one who is called "you", behind the names; None calls all by name.
        """
        say, ids = self.wording.say, list(unique_ids)
        several = [self(each) for each in ids if you is None or each != you]
        if len(several) < len(ids):
            several.insert(MAX_LISTED_NAMES - 1, say("and you"))
        return self.wording.listed(several) or say("nobody else")

    def _heard(self, sender: Any, recipients: Sequence[Any]) -> list[Any]:
        """The listeners, the owner first."""
        heard = [other for other in recipients if other != sender]
        if self.owner in heard:
            others = [other for other in heard if other != self.owner]
            return [self.owner] * (len(heard) - len(others)) + others
        return [self.owner] if not heard and sender != self.owner else heard


#: of texts for researchers: agents by their ids, in English
PLAIN = Voice()


# -- the languages of a run -------------------------------------------------------------


@dataclass
class Wordings:
    """The wordings of a run, by language.

    Attributes:
        language: of all agents; ``"auto"`` takes that of each agent's prompts.
        languages: gives the language of an agent, or None for ``language``.
        folder: a user's prompt files; None without any.
        step_name: what a step is, such as ``"one day"``; empty says nothing of it.
    """

    language: str = FIRST_LANGUAGE
    folder: str | Path | None = None
    step_name: str = ""
    known: dict[str, Wording] = field(default_factory=dict)
    languages: Callable[[Any], str | None] | None = None

    def __post_init__(self) -> None:
        self.of(self.language)

    def of(self, language: str | None = None) -> Wording:
        """The wording of a language, made once; None is the run's.

        Raises:
            PromptFileError: see ``Wording``.
        """
        name = self.language if language is None else language
        if name == AUTO:  # of no agent
            name = FIRST_LANGUAGE
        if name not in self.known:
            self.known[name] = Wording(name, self.folder, self.step_name)
        return self.known[name]

    def of_agent(self, agent: Any) -> Wording:
        """The words that an agent is told in: of its own language, or else the run's.

        Raises:
            PromptFileError: for an unknown language, see ``Wording``.
            TypeError: if ``languages`` gives anything but a text or None.
            MissingExtra: if the language is to be detected and py3langid is not
                installed.
        """
        named = None if self.languages is None else self.languages(agent)
        named = self.language if named is None else named
        if not isinstance(named, str):
            raise TypeError(
                "languages must give the name of a language, such as 'es', or None; of "
                f"agent {agent.unique_id} it gave {named!r:.80}"
            )
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
