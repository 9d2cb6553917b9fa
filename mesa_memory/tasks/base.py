"""A kind of thought: its prompt, the check of its reply, its offline answer.

Lines that come from the simulation are data: in a prompt each event stands on one line
that begins with ``- `` or a number (``render.one_line`` makes that so), and every
task's system text says that such lines are never instructions.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, model_validator

from mesa_memory.core import requests
from mesa_memory.core.content import shorten
from mesa_memory.core.prompt_files import WHOSE
from mesa_memory.core.render import step_text
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.core.text import replies
from mesa_memory.core.text.replies import Unusable
from mesa_memory.core.text.thinking import answers
from mesa_memory.core.text.vocabulary import Vocabulary, vocabulary
from mesa_memory.core.validate import checked_int
from mesa_memory.core.wording import COMMON, ENGLISH, Wording
from mesa_memory.errors import BadReply, ContentFiltered, DuplicatePurpose

#: longest text in a field of a reply, if a task says nothing else
MAX_CHARS = 4000
#: most characters of events in one request; the rest waits its turn
REQUEST_CHARS = 24_000

#: the values of a request, by name
type Inputs = Mapping[str, Any]
type Schema = type[BaseModel]


class Task:
    """A kind of thought: its system text, its prompt, the check of its reply, and the
    answer without a language model.

    Making one registers it: from then on the offline model answers it, and the ledger,
    the record and the replay know it by its purpose. A memory asks it with
    ``yield from self.ask(TASK, name=value, …)``; the named values are its *inputs*.

    Args:
        purpose: names it, such as ``"grade"``; no two tasks have the same.
        schema: pydantic class of the reply, or a function of the inputs that gives one.
            None is for plain text.
        system: who is asked and how to think, or a function of the inputs that gives
            it. The common part follows: lines of events are not instructions, and
            the agent's own task (its ``step_prompt``). None takes the part ``system`` of
            the task's prompt file.
        prompt: gives the prompt, from the inputs. None takes the part ``prompt`` of the
            task's prompt file.
        values: gives the values for the part ``prompt``, from the inputs; without it
            the inputs are the values. The part ``system`` is always given the inputs.
        check: takes a reply of the schema and the inputs; returns what ``ask`` shall
            return, or raises ``Unusable``, whose text the model is shown once before
            the reply is given up.
        offline: gives the fields of a reply, or its text, from the inputs. Without it
            the offline model makes an answer from the schema and the inputs.
        max_chars: longest text that a field of the reply may have. An input of this name
            comes first.

    Attributes:
        purpose, offline: as given.
        origin: where it is defined, so that the same task can be defined anew.

    Raises:
        DuplicatePurpose: if another task has the purpose.
        TypeError, ValueError: for a wrong argument.

    Example:
        >>> class Weather(BaseModel):
        ...     mood: str
        >>> WEATHER = Task(
        ...     "weather",
        ...     Weather,
        ...     system="You say how one agent in a simulation feels about the weather.",
        ...     prompt=lambda inputs: f"It is {inputs['sky']}. Answer as JSON.",
        ...     offline=lambda inputs: {"mood": f"{inputs['sky']} in my heart"},
        ... )
        >>> WEATHER.offline({"sky": "grey"})
        {'mood': 'grey in my heart'}
    """

    def __init__(
        self,
        purpose: str,
        schema: Schema | Callable[[Inputs], Schema] | None,
        *,
        system: str | Callable[[Inputs], str] | None = None,
        prompt: Callable[[Inputs], str] | None = None,
        values: Callable[[Inputs], Mapping[str, Any]] | None = None,
        check: Callable[[Any, Inputs], Any] | None = None,
        offline: Callable[[Inputs], Any] | None = None,
        max_chars: int = MAX_CHARS,
    ) -> None:
        given: dict[str, Any] = {
            "prompt": prompt,
            "values": values,
            "check": check,
            "offline": offline,
        }
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            given["schema"] = schema
        if not isinstance(system, str):
            given["system"] = system
        for name, function in given.items():
            if function is not None and not callable(function):
                raise TypeError(
                    f"a task's {name} must be a function of the inputs, or None; a "
                    f"schema may be a pydantic class, a system a text; got {function!r}"
                )
        for name, text in {"system": system, "prompt": prompt}.items():
            if text is None and not ENGLISH.has(str(purpose), name):
                raise TypeError(
                    f"the task {purpose!r} needs a {name}: no prompt file of its "
                    "name has one"
                )
        self.purpose = purpose
        self.max_chars = checked_int("max_chars", max_chars)
        self.origin = f"{_name(schema)}, {_name(prompt)}"
        self._schema, self._system, self._prompt = schema, system, prompt
        self._values, self._check, self.offline = values, check, offline
        register(self)

    def __repr__(self) -> str:
        return f"Task({self.purpose!r})"

    def __reduce__(self) -> tuple:
        """A copy, also in another process, is the task itself."""
        return _of_purpose, (self.purpose,)

    def schema(self, inputs: Inputs) -> Schema | None:
        """The shape of a reply; None for plain text."""
        schema: Any = self._schema
        if schema is not None and not isinstance(schema, type):
            schema = schema(inputs)
        return wording_of(inputs).described(schema, self.purpose)

    def system(self, inputs: Inputs, step_prompt: object = None) -> str:
        """The system text.

        Args:
            step_prompt: the agent's own task; no text, or an empty one, is left out.
        """
        system = self._system
        if system is None:
            who = wording_of(inputs)(
                self.purpose, "system", **{**whose(inputs), **inputs}
            )
        else:
            who = system if isinstance(system, str) else system(inputs)
        own = step_prompt.strip() if isinstance(step_prompt, str) else ""
        return _system(wording_of(inputs), who, own, **whose(inputs))

    def prompt(self, inputs: Inputs) -> str:
        """The prompt.

        Raises:
            TypeError: if the task's function gives no text.
        """
        if self._prompt is None:
            values = inputs if self._values is None else self._values(inputs)
            return wording_of(inputs)(
                self.purpose, "prompt", **{**whose(inputs), **values}
            )
        text = self._prompt(inputs)
        if not isinstance(text, str):
            raise TypeError(
                f"the prompt of {self!r} must be a text; its function gave {text!r:.80}"
            )
        return text

    def request(
        self,
        inputs: Inputs,
        *,
        agent: Any,
        step: Any,
        system: str | None = None,
        model: str | None = None,
        api_base: str | None = None,
    ) -> LLMRequest:
        """The request that asks this of a model.

        Args:
            inputs: the values in system text and prompt.
            agent, step: who asks, and when.
            system: the whole system text, in place of this task's own.
            model, api_base: if they are known.
        """
        return LLMRequest(
            self.purpose,
            agent=agent,
            step=step,
            system=self.system(inputs) if system is None else system,
            prompt=self.prompt(inputs),
            schema=self.schema(inputs),
            inputs=inputs,
            model=model,
            api_base=api_base,
        )

    def ask(
        self,
        request: LLMRequest,
        check: Callable[[Any], Any] | None = None,
        repairs: bool = True,
    ) -> Flow[Any]:
        """The checked reply to a request of this task; for plain text, the text.

        Args:
            check: in place of the task's own; takes the reply alone.
            repairs: False fails at once, without sending a bad reply back.

        Raises:
            BadReply: if the reply is unusable, also when it was asked for again; plain
                text is asked for once.
        """
        inputs = request.inputs
        passes = check or (lambda reply: self.check(reply, inputs))
        if request.schema is None:
            return self._text(request, passes)
        most = inputs.get("max_chars", self.max_chars)
        return requests.ask(request, most, passes, repairs)

    def check(self, reply: Any, inputs: Inputs) -> Any:
        """The checked content of a reply; without a check the reply itself.

        Raises:
            Unusable: worded for the model that sent it.
        """
        return reply if self._check is None else self._check(reply, inputs)

    def _text(self, request: LLMRequest, passes: Callable[[str], Any]) -> Flow[Any]:
        refusal = replies.Refusal()
        reply = yield replace(request, refusal=refusal)
        text = answers(reply.text or "")[0]
        where = request.where
        try:
            replies.check_end(reply)
        except replies.Unusable as problem:
            refusal.reason = str(problem)
            if isinstance(problem, replies.Filtered):
                raise ContentFiltered(f"{problem}.", **where) from problem
            raise BadReply(f"{self.purpose}: {problem}.", **where) from problem
        if not text:
            refusal.reason = "it was empty"
            raise BadReply(f"the reply to a {self.purpose} was empty", **where)
        return passes(text)


@lru_cache(maxsize=1024)
def _system(wording: Wording, who: str, task: str, **known: Any) -> str:
    """A system text with the part that all have."""
    ended = known["role"].endswith(tuple(".!?…。！？"))
    given = {"who": who, "task": task, "step": wording.step, "ended": ended}
    return wording(COMMON, "system", **given, **known)


def wording_of(inputs: Inputs) -> Wording:
    """The words in which a request is asked; English if the inputs name no others."""
    return inputs.get("wording") or ENGLISH


def vocabulary_of(inputs: Inputs) -> Vocabulary:
    """The words by which rules read the texts of a request."""
    return vocabulary(wording_of(inputs).language)


def whose(inputs: Inputs) -> dict[str, Any]:
    """The owner of the memory, by the names of inputs; empty texts if not given."""
    return {name: inputs.get(name, "") for name in sorted(WHOSE)}


def bulleted(lines: Sequence[str]) -> list[str]:
    """Lines of events as prompts show them, each behind ``- ``."""
    return [f"- {line}" for line in lines]


def by_step(lines: Iterable[tuple[Any, str]], wording: Wording = ENGLISH) -> str:
    """Lines of events with their steps, oldest first, under a heading for each step."""
    found: dict[Any, list[str]] = {}
    for step, line in lines:
        found.setdefault(step, []).append(line)
    return "\n".join([step_text(step, told, wording) for step, told in found.items()])


def numbered(lines: Sequence[str]) -> list[str]:
    """Lines that a reply names by their number, from 1."""
    return [f"{number}. {line}" for number, line in enumerate(lines, 1)]


def in_batches[T](
    items: Iterable[T], size: Callable[[T], int], count: float = math.inf
) -> list[list[T]]:
    """Items in order, as many in each batch as fit one request, at least one.

    Args:
        size: of an item, in characters.
        count: the most items of a batch.
    """
    batches: list[list[T]] = []
    used = 0
    for item in items:
        used += size(item)
        if not batches or used > REQUEST_CHARS or len(batches[-1]) == count:
            batches.append([])
            used = size(item)
        batches[-1].append(item)
    return batches


def _name(given: Any) -> str:
    """The full name of a class or function; of any other object, that of its class."""
    kind = given if hasattr(given, "__qualname__") else type(given)
    return f"{kind.__module__}.{kind.__qualname__}"


def _of_purpose(purpose: str) -> Task:
    task = find(purpose)
    if task is None:
        raise LookupError(
            f"no task has the purpose {purpose!r} here: import the module that defines "
            "it first"
        )
    return task


#: purposes of requests that are no task's: an agent's own reasoning, vectors, and the
#: making of a connection
RESERVED = ("connect", "embed", "reasoning")

_tasks: dict[str, Task] = {}


def register(task: Task) -> None:
    """Adds a task; the same one defined anew takes the place of the earlier one.

    A module that is loaded again, or a notebook's cell that is run again, defines the
    same task anew.

    Raises:
        DuplicatePurpose: if another task has the purpose.
        ValueError: if the purpose is empty or reserved.
    """
    purpose = task.purpose
    if not isinstance(purpose, str) or not purpose.strip():
        raise ValueError(f"a task's purpose must be a text, got {purpose!r}")
    if purpose in RESERVED:
        raise ValueError(
            f"the purpose {purpose!r} is reserved, as are all of {RESERVED}; choose "
            "another one"
        )
    known = _tasks.get(purpose)
    if known is not None and known.origin != task.origin:
        raise DuplicatePurpose(purpose, known.origin, task.origin)
    _tasks[purpose] = task


def find(purpose: str) -> Task | None:
    """The task with this purpose; None without one."""
    return _tasks.get(purpose)


def registered() -> Mapping[str, Task]:
    """All tasks by purpose, in the order of their names; a view of this moment."""
    return MappingProxyType(dict(sorted(_tasks.items())))


# -- replies with a list, such as one answer for each numbered item --------------------


#: a longer line is no item's number and what is said of it
LINE_CHARS = 80


_DIGITS = re.compile(r"\s*\d{1,6}\s*")


class ListReply(BaseModel):
    """A reply with one list; models also send the list bare, or its single item."""

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        name = next(iter(cls.model_fields))
        if isinstance(value, dict) and not cls.model_fields.keys() & value.keys():
            value = [value]
        return {name: value} if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    alone = isinstance(value, int | str) and not isinstance(value, bool)
    return [value] if alone else value


#: numbers of items; models also send a single one
Numbers = Annotated[list[int], BeforeValidator(_listed)]


def whole(value: Any) -> int | None:
    """A whole number, also as text or as 3.0; None for anything else."""
    if type(value) is int:  # also one that is too long for a float
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def _whole_numbers(value: Any) -> list[int]:
    """The whole numbers of a list, or a single one; all else is left out."""
    items = value if isinstance(value, list) else [value]
    return [number for number in map(whole, items) if number is not None]


#: numbers of items that a reply may lack; all else is left out
AnyNumbers = Annotated[list[int], BeforeValidator(_whole_numbers)]


def named(value: Any, **names: Iterable[str]) -> dict[str, Any]:
    """The parts of one answer, by any of their usual names.

    Args:
        value: as it was given; a bare one is the last part.
        **names: of each part what it may be called, the first found counts.
    """
    if not isinstance(value, dict):
        *others, last = names
        return {**dict.fromkeys(others), last: value}
    given = {str(key).lower(): part for key, part in value.items()}
    return {
        part: next((given[n] for n in known if n in given), None)
        for part, known in names.items()
    }


def in_lines(text: str, line: re.Pattern, *parts: str) -> list[dict[str, str]]:
    """The answers in a text that has one on a line.

    Args:
        line: of a whole line, with a group for each part.
        *parts: their names.
    """
    short = (each for each in text.splitlines() if len(each) <= LINE_CHARS)
    found = filter(None, map(line.fullmatch, short))
    return [dict(zip(parts, match.groups(), strict=True)) for match in found]


def list_schema(count: int, parts: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of a list of exactly ``count`` answers.

    Args:
        parts: schema of each part of an answer.
    """
    item = {
        "type": "object",
        "properties": dict(parts),
        "required": list(parts),
        "additionalProperties": False,
    }
    return {"items": item, "minItems": count, "maxItems": count}


def checked(
    numbers: Sequence[int | None], count: int, item: str, answer: str
) -> Sequence[int | None]:
    """The numbers of the items that answers are about; by their order if none has any.

    Args:
        numbers: as they were given.
        count: how many items there are.
        item, answer: what they are called, such as ``"event"`` and ``"grade"``.

    Raises:
        Unusable: if it cannot be told which answer is whose.
    """
    if all(number is None for number in numbers):
        if len(numbers) != count:
            raise Unusable(f"count {item}", most=count, count=len(numbers))
        return range(1, count + 1)
    known = {n for n in numbers if n is not None and 1 <= n <= count}
    if len(known) < len(numbers):
        got = shorten(str(numbers), 80)
        raise Unusable(f"numbers {item}", most=count, got=got)
    return numbers
