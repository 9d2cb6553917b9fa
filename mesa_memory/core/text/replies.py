"""From a model's reply to a validated value.

Models wrap JSON in fences, prose or ``<think>`` blocks, refuse, stop in the middle or
send nothing. ``read`` accepts every form that is unambiguous and refuses the rest with
a reason that can be shown to the model.

"I'm sorry, but I can't help with that request" is a refusal, "I'm sorry that I could
not help Agent 4" is a memory. A refusal says that it cannot do, and then names nothing
but the request itself. The words of many languages are in ``refusals.toml``.
"""

import json
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from mesa_memory.core.render import shorten
from mesa_memory.core.text.thinking import MARKED, answers, decision, thinks_only
from mesa_memory.core.wording import ENGLISH, Wording

#: a refusal stands at the beginning; this much is looked at
LOOKED_AT = 400

_SORRY = (
    r"(?:i am (?:\w+ )?sorry|(?:my )?apologies|sorry|i apologi[sz]e|unfortunately|no)"
)
_AN_AI = r"as an? (?:ai|(?:large )?language model)(?: (?:language )?model| assistant)?"
_UNABLE = (
    r"i (?:can'?t|can ?not|could ?n'?t|could not|won'?t|will not"
    r"|am (?:unable|not (?:able|allowed|permitted|comfortable|going))"
    r"|(?:must|have to)(?= (?:\w+ly )?(?:decline|refuse)\b))\b"
)
#: the first word of all of them
_FIRST = re.compile(r"\W*(?:i|my|apologies|sorry|unfortunately|no|as)\b")
_INABILITY = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+|however\W+)?)?(?:{_AN_AI}\W+)?{_UNABLE}(?P<rest>.*)"
)
_NO_PERSON = re.compile(
    rf"\W*(?:{_SORRY}\W+(?:but\W+)?)?{_AN_AI}\W+i (?:can|do|am|have|must|will|won)"
    r"(?:not|n'?t|'t| not| no| unable)\b"
)
_ONLY_SORRY = re.compile(rf"\W*{_SORRY}\W*")
_THE_REQUEST = re.compile(r"\b(?:this|that|your|such an?) (?:\w+ )?requests?\b")
#: where what is said about the request ends
_CLAUSE = re.compile(r"[.!?;:…—–]|,? (?:as|because|since|due|at this time)\b")
_TABLES = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))
#: words that, where no others stand, can only mean the request
_GENERIC = frozenset(_TABLES["request"]["words"].split())


def _any_of(table: str) -> str:
    return "|".join(_TABLES[table].values()).replace("\n", "")


_GREETING = re.compile(rf"[^\w]*(?:{_any_of('opening')})")
_SERVICE, _ITSELF = re.compile(_any_of("service")), re.compile(_any_of("itself"))
_FAULT = re.compile(rf"\W*(?:{_any_of('fault')})")


def speaks_to_user(text: str) -> bool:
    """True if a text is a greeting, an offer, a refusal or an error in any of many languages.

    A memory may begin in the same way, so ask only for a text that shares nothing with
    the events.
    """
    start = " ".join(text[:LOOKED_AT].lower().replace("’", "'").split())
    if _FAULT.match(start) or _ITSELF.search(start):
        return True
    speaks = _GREETING.match(start) or start.endswith(("?", "？", "؟"))
    return bool(speaks and _SERVICE.search(start))


def refuses(text: str) -> bool:
    """True if ``text`` is a refusal of the request, not an answer to it."""
    start = text[:LOOKED_AT].lower()
    if not _FIRST.match(start):  # as nearly always
        return False
    start = " ".join(start.replace("’", "'").split())
    start = start.replace("i'm", "i am")
    if _ONLY_SORRY.fullmatch(start) or _NO_PERSON.match(start):
        return True
    unable = _INABILITY.match(start)
    if not unable:
        return False
    said = _CLAUSE.split(unable["rest"], maxsplit=1)[0]
    words = re.findall(r"[^\W_]+", said)
    return _GENERIC.issuperset(words) or bool(_THE_REQUEST.search(said))


# -- replies ---------------------------------------------------------------------------


#: the prompt file with the reasons why a reply is refused
REPAIR = "repair"
#: the good ends of a reply, in the words of all known servers
_GOOD_ENDS = frozenset([
    "", "none", "null", "stop", "stopped", "end_turn", "end", "eos", "eos_token",
    "stop_sequence", "stop_string", "stop_token", "stop_str", "complete", "completed",
    "tool_calls", "tool_call", "tool_use", "function_call", "tool", "done", "normal",
    "finish", "finished", "finish_reason_unspecified", "eosfound", "userstopped",
])  # fmt: skip
#: words in the end of a reply that a content filter has cut
_FILTER = re.compile(
    r"filter|safety|recitation|blocklist|blocked|prohibited|spii|refus|sensitive|toxic"
    r"|guardrail|moderat|inspection|violat|flagged",
    re.IGNORECASE,
)
#: the end of a reply that ended well, that was filtered, that its provider could not use
STOP, FILTERED, BAD_OUTPUT = "stop", "content_filter", "bad_output"
#: characters of a refused reply that the model is shown again
REPAIR_CHARS = 2000
#: characters of a reply that are read; more is never needed and may be an attack
READ_CHARS = 100_000
#: most characters that are scanned for JSON values; failed tries count, too
SCAN_CHARS = 1_000_000
#: a try costs as much time as scanning this many characters; one that nests too deep, as the second
TRY_CHARS, DEEP_CHARS = 250, 5000
#: most characters of almost JSON times its brackets: the repair takes time with both
REPAIR_COST = 400_000
#: values that are looked into
MAX_WRAPPED_VALUES = 8
#: fences, quotes and objects around a reply that are taken off
MAX_WRAPPINGS = 3
#: longest reason that the model is given
REASON_CHARS = 300

#: a fence of Markdown at the beginning of a line, and what stands in it; a pattern that
#: begins with a sign is found sooner than one that begins with ``^``
_FENCED = re.compile(r"(?ms)```(?<![^\n]```)[\w-]*\n(.*?)(?:^```|```\Z|\Z)")
_OPENING = re.compile(r"[{\[]")
#: what begins like JSON, though it may not end like it
_JSON_LIKE = re.compile(r"""[{\[]\s*["'“”„‘’«{\[\]}]|\{\s*\w+\s*:|^\W*json\s*[{\[]""")
#: line breaks inside JSON texts are let through; models forget to escape them
_DECODER = json.JSONDecoder(strict=False)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
#: what brings them into the texts of JSON
_ESCAPE = re.compile(r"\\(?:[bf]|u(?:00|[dD][89a-fA-F]))")
#: an error page of a server between here and the model: a tag that only pages begin
#: with, and a further element. An agent may be called ``<script>`` or ``<html>``.
_PAGE = re.compile(
    r"^\W*<(!doctype|\?xml|html|head|body|center|h1)\b[^>]*>.*<(?!/?\1\b)\w[^>]*>",
    re.IGNORECASE | re.DOTALL,
)
_NO_LETTERS = re.compile(r"[\W_]+")
#: more than any of the following has
_LETTERS = re.compile(r"(?:[\W_]*+[^\W_]){10}")
#: what models write where there is nothing to say
_NOTHING = ("", "none", "null", "na", "empty", "nothing", "undefined")


class Unusable(ValueError):
    """The reason that a reply is refused, worded for the model that sent it.

    Args:
        reason: a text, or the name of a part of the prompt file ``repair``.
        **values: of that part.
    """

    def __init__(self, reason: str, **values: Any) -> None:
        self.reason, self.values = reason, values
        super().__init__(self.told(ENGLISH))

    def told(self, wording: Wording) -> str:
        """The reason in the words of a request."""
        if not wording.has(REPAIR, self.reason):
            return self.reason
        return wording(REPAIR, self.reason, **self.values)

    def __reduce__(self) -> tuple:
        return _remade, (type(self), self.reason, self.values)


def _remade(kind: type[Unusable], reason: str, values: dict[str, Any]) -> Unusable:
    return kind(reason, **values)


@dataclass
class Refusal:
    """The verdict on a reply, for the record of its request.

    Attributes:
        reason: why the request was given up; empty if the reply was used, or sent back.
        doubt: why the reply is doubtful; empty if it is not.
    """

    reason: str = ""
    doubt: str = ""


class Doubtful(Unusable):
    """A better reply may come, but this one can be used if none does."""


class Filtered(Unusable):
    """The provider's content filter has cut the reply; asking again is of no use."""


def end_of(said: Any) -> str:
    """The end of a reply in one word for each kind, from a server's own word.

    Tools that were called stay named. An unknown end is kept as it is: it is not good.
    """
    # A client of the user's own may put any object there.
    word = str(said).strip() if isinstance(said, str | Enum) else ""
    small = word.lower().removeprefix("finishreason.")
    if small in ("tool_calls", "function_call", "length"):
        return small
    if small in _GOOD_ENDS:
        return STOP
    return FILTERED if _FILTER.search(word) else word[:40]


def check_end(reply: Any) -> None:
    """Lets a reply pass that came to a good end.

    Raises:
        Filtered: if the provider's content filter has cut it.
        Unusable: if it was cut off, or its provider could not use it.
    """
    end = end_of(reply.finish)
    if end == FILTERED:
        raise Filtered("filtered")
    if end == BAD_OUTPUT:
        raise Unusable("unreadable")
    if end not in (STOP, "tool_calls", "function_call"):
        raise Unusable("cut off")


def read(reply: Any, schema: type[BaseModel], max_chars: int) -> Any:
    """The value in ``reply``, an instance of ``schema``.

    Args:
        max_chars: longest text any field of the value may have.

    Raises:
        Filtered: if a content filter has cut it.
        Unusable: if the reply is empty, refuses, is truncated, too long or does not
            fit the schema.
    """
    text = _clean((reply.text or "")[:READ_CHARS]).strip()
    found = [_unwrapped(answer) for answer in answers(text)]
    check_end(reply)
    if not found[0]:
        raise Unusable("empty reply")
    value = _unpacked(_validated(found, schema), schema)
    for name, item in value:
        if isinstance(item, str):
            if item == schema.model_fields[name].description:
                raise Unusable("description", name=name)
            check_text(name, item, max_chars)
    return value


def repair_prompt(problem: str, wording: Wording = ENGLISH) -> str:
    """The request to repair a refused reply."""
    return wording(REPAIR, "again", problem=problem)


def _clean(text: str) -> str:
    return text if text.isprintable() else _CONTROL.sub("", text)


def _validated(found: list[str], schema: type[BaseModel]) -> BaseModel:
    """The last JSON value that fits; else the bare text as the schema reads it."""
    problem: Unusable | None = None
    values: list[Any] = []
    for text in found:
        values = _json_values(text)
        for candidate in reversed(values):
            try:
                return schema.model_validate(candidate)
            except ValidationError as error:
                problem = _reason(error)
    for candidate in [*_wrapped(values), *_repaired(found[0])]:
        with suppress(ValidationError):
            return schema.model_validate(candidate)
    from_text = getattr(schema, "from_text", None)
    if from_text and not _JSON_LIKE.search(found[0]):
        value = from_text(found[0])
        if value is not None:
            return value
    raise problem or Unusable("no object")


def _unwrapped(text: str) -> str:
    """A text out of Markdown fences, JSON texts and thinking around it, in any order."""
    for _ in range(MAX_WRAPPINGS):
        fenced = _FENCED.search(text)
        inner = fenced[1].strip() if fenced else text
        if inner.startswith('"'):
            with suppress(ValueError):
                inner = str(json.loads(inner, strict=False)).strip()
        inner = decision(inner, own=False)
        # Prose around a fence may be a part of what is said, except around JSON.
        prose = fenced and (text[: fenced.start()] + text[fenced.end() :]).strip()
        if inner == text or (prose and not _JSON_LIKE.match(inner)):
            return text
        text = inner
    return text


def _unpacked(
    value: BaseModel, schema: type[BaseModel], depth: int = MAX_WRAPPINGS
) -> BaseModel:
    """A value whose only text may be the JSON again, or begin with thinking."""
    texts = {name: item for name, item in value if isinstance(item, str)}
    if len(texts) == 1 and depth:
        inner = _unwrapped(next(iter(texts.values())).strip())
        if _JSON_LIKE.match(inner):
            with suppress(Unusable):
                return _unpacked(_validated([inner], schema), schema, depth - 1)
    plain = dict(texts)
    for name, text in texts.items():
        if MARKED.search(text):
            said = decision(text, own=False)
            plain[name] = "" if thinks_only(said) else said
    return value if plain == texts else value.model_copy(update=plain)


def _wrapped(values: list[Any], depth: int = 3) -> list[Any]:
    """The JSON values inside of others, such as the arguments of a call."""
    found: list[Any] = []
    for value in values[-MAX_WRAPPED_VALUES:] if depth else ():
        if isinstance(value, dict):
            inner = list(value.values())[:MAX_WRAPPED_VALUES]
        else:
            inner = value if len(value) == 1 else []
        inner = [
            each
            for item in inner
            for each in (_json_values(item)[-1:] if isinstance(item, str) else [item])
            if isinstance(each, dict | list)
        ]
        found += [*inner, *_wrapped(inner, depth - 1)]
    return found


def _repaired(text: str) -> list[Any]:
    """The JSON values of a text that is almost JSON; none if it does not end."""
    start, end = _JSON_LIKE.search(text), max(text.rfind("}"), text.rfind("]"))
    part = text[start.start() : end + 1] if start else ""
    size = part.count("{") + part.count("[")
    if not part or len(part) * size > REPAIR_COST:
        return []
    import json_repair  # few replies need it

    try:
        value = json_repair.loads(part)
    except (ValueError, RecursionError):
        return []
    texts = value.values() if isinstance(value, dict) else ()
    if any(isinstance(t, str) and t.endswith(("}", "]", "'")) for t in texts):
        return []  # a quote inside a text has been taken for its end
    return [*_wrapped([value]), value][::-1]


def _reason(error: ValidationError) -> Unusable:
    details = error.errors(include_url=False, include_context=False)[:3]
    where = [".".join(map(str, each["loc"])) or "reply" for each in details]
    said = [f"{place}: {each['msg']}" for place, each in zip(where, details)]
    problem = shorten("; ".join(said), REASON_CHARS)
    return Unusable("wrong form", where=", ".join(where), problem=problem)


def _json_values(text: str) -> list[Any]:
    """The JSON objects and lists in ``text``, in order, lists before objects."""
    found = _scan(text)
    if len(found) < 2:
        return found
    return sorted(found, key=lambda value: isinstance(value, dict))


def _scan(text: str) -> list[Any]:
    found: list[Any] = []
    position, budget = 0, SCAN_CHARS
    escapes = _ESCAPE.search(text)
    while budget > 0 and (start := _OPENING.search(text, position)):
        position = start.start()
        try:
            value, end = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            budget -= error.pos - position + TRY_CHARS
            position += 1
        except (ValueError, RecursionError):  # a number of 5000 digits, a deep nest
            budget -= DEEP_CHARS
            position += 1
        else:
            budget -= end - position + TRY_CHARS
            position = end
            found.append(_cleaned(value) if escapes else value)
    return found


def _cleaned(value: Any, depth: int = 4) -> Any:
    """Without the control characters that JSON escapes may bring in.

    No schema looks deeper than ``depth``; a hostile reply may nest without end.
    """
    if isinstance(value, str):
        return _clean(value)
    if not depth:
        return value
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    if isinstance(value, dict):
        return {key: _cleaned(item, depth - 1) for key, item in value.items()}
    return value


def is_json(text: str) -> bool:
    """True for a text that is, or almost is, a JSON object or list."""
    text = text.strip()
    closed = text.endswith(("}", "]", "```"))
    return closed and bool(_JSON_LIKE.match(text.removeprefix("```json").lstrip()))


def is_blank(text: str) -> bool:
    """True for a text that copies, or begins with, the blank of an example."""
    return text.strip().startswith("…")


def check_text(name: str, text: str, max_chars: int) -> None:
    """Lets a text pass that says something.

    Raises:
        Unusable: if it is empty, a refusal or longer than ``max_chars``.
    """
    if not _LETTERS.match(text) and _NO_LETTERS.sub("", text).lower() in _NOTHING:
        raise Unusable("empty", name=name)
    if is_blank(text):
        raise Unusable("blank", name=name)
    if len(text) > max_chars:
        raise Unusable("too long", name=name, chars=len(text), most=max_chars)
    if "<" in text and _PAGE.search(text):
        raise Unusable("page", name=name)
    if refuses(text):
        raise Unusable("refusal", name=name)
