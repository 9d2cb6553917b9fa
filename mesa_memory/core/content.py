"""Event content: a copy as plain data, and any value of it as one line of text.

What is stored is JSON-ready and the same in every process: it must not change when the
caller goes on using its objects, must not hold agents or models alive, and must not put
a memory address into a prompt.

What agents say is data: on its line nothing is hidden, long text is cut, and nothing
adds a line that looks like another speaker, nor a character that a reader does not see
and a language model obeys.
"""

import enum
import math
import re
import sys
from collections import deque
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import Any

#: nested content deeper than this is shown as text
MAX_DEPTH = 12

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_ATOMS = frozenset({float, bool, type(None)})
#: for ``isinstance``: a dict is one, and is told sooner by its own class
MAPPINGS = (dict, Mapping)
#: Python refuses to write longer integers as text
_LONG = 10**4000
_ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-fA-F]+")
_BREAKS = {"\n": "\\n", "\r": "\\r", "\t": " ", "\u2028": "\\n", "\u2029": "\\n"}
#: never needed to read a text
_INVISIBLE = [
    *range(0x20),
    *range(0x7F, 0xA0),
    *range(0x202A, 0x202F),  # turn the reading direction around
    *range(0x2060, 0x2070),  # operators, isolates and what Unicode has given up
    *(0x115F, 0x1160, 0x3164, 0xFFA0),  # fillers, which look like a space
    *(0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB),
    *range(0x1D173, 0x1D17B),  # beams and slurs of music
]
#: scripts that join letters or break lines by characters without a width
_JOINING = (
    r"\u0590-\u08ff\u0900-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uabff"
    r"\ufb1d-\ufdff\ufe70-\ufefc\U00010a00-\U00010aff\U00011000-\U00011fff"
    r"\U0001e900-\U0001e95f"
)
_RIGHT_TO_LEFT = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff"
_PICTOGRAM = (
    r"\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff\ufe0f\u20e3\U0001f3fb-\U0001f3ff"
)
_IDEOGRAPH = r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SELECTORS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
#: the flags of England, Scotland and Wales are written with tags
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in f"{land}\x7f")
    for land in ("gbeng", "gbsct", "gbwls")
)
#: what some texts need and others hide things with; the first group may stay
_IN_PLACE = re.compile(
    rf"({_FLAGS}"
    rf"|(?<=[{_JOINING}])[\u200b-\u200d]"
    rf"|(?<=[{_PICTOGRAM}])\u200d(?=[{_PICTOGRAM}])"
    rf"|(?<=[^{_SELECTORS}\u200b-\u200f\U000e0000-\U000e007f\s])[\ufe00-\ufe0f]"
    rf"|(?<=[{_IDEOGRAPH}])[\U000e0100-\U000e01ef]"
    rf"|(?<=[\u1820-\u18af])\u180e)"
    rf"|[\u061c\u180e\u200b-\u200f{_SELECTORS}\U000e0000-\U000e007f]"
)
_MARKS = re.compile(r"[\u061c\u200e\u200f]")
_LETTERS = re.compile(f"[{_RIGHT_TO_LEFT}]")
_ESCAPES = str.maketrans({chr(code): f"\\x{code:02x}" for code in _INVISIBLE} | _BREAKS)
_UNSAFE = re.compile(
    "[" + re.escape("".join(map(chr, _ESCAPES)))
    + rf"\ud800-\udfff\u061c\u180e\u200b-\u200f{_SELECTORS}\U000e0000-\U000e007f]"
)  # fmt: skip

_WORD = re.compile(r"[^\W\d_]+|\d+")
#: longest unique id in a text, in characters
ID_CHARS = 80


# -- as plain data ----------------------------------------------------------------------


def plain(value: Any, depth: int = 0) -> Any:
    r"""A copy of ``value`` made of dict, list, tuple, str, numbers, bool and None.

    Sets are sorted and arrays become lists. An agent becomes ``"ClassName 7"``, a member
    of an ``Enum`` its name, an object with named fields a dict of them. NUL and lone
    surrogates become ``"\ufffd"``, and any other object its text without address.
    """
    kind = type(value)
    if kind is str:
        return storable(value)
    if kind is int:
        return value if -_LONG < value < _LONG else _long_text(value)
    if kind in _ATOMS:
        return value
    if depth >= MAX_DEPTH:
        return text_of(value)
    depth += 1
    if isinstance(value, MAPPINGS):
        copied = {}
        for key, item in value.items():
            # Nearly all of it is plain text, for which nothing is called.
            clean = type(key) is str and key.isascii() and "\0" not in key
            name = key if clean else _key(key)
            if type(item) is str:
                clean = item.isascii() and "\0" not in item
            else:
                clean = type(item) is int and -_LONG < item < _LONG
            copied[name] = item if clean else plain(item, depth)
        return copied
    if kind is list or kind is tuple:
        several = [i if type(i) in _ATOMS else plain(i, depth) for i in value]
        return several if kind is list else tuple(several)
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    # A package that is not loaded has made no value; the command line starts without it.
    np = sys.modules.get("numpy")
    if np and isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), depth + 1)
    if isinstance(value, enum.Enum):
        return _member(value, depth)
    if isinstance(value, str | int | float):
        return plain(_base(value), depth)
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=_order)
    if _is_agent(value):
        return f"{type(value).__name__} {plain(value.unique_id)}"
    named = _fields_of(value)
    if named is not None:
        return plain(named, depth)
    if isinstance(value, list | tuple | deque):
        return [plain(item, depth + 1) for item in value]
    return text_of(value)


def _member(value: enum.Enum, depth: int) -> Any:
    """A member of an ``Enum`` by its name, with its text if that says more.

    A combination of flags without a name is shown by its value.
    """
    name, own = value.name, value.value
    if name is None:
        return plain(own, depth + 1)
    told = plain(own, depth + 1)
    more = isinstance(told, str) and words(told) != words(name.replace("_", " "))
    return storable(f"{name} ({told})" if more else name)


def _is_agent(value: Any) -> bool:
    """True for an agent of Mesa; another object with a ``unique_id`` is data."""
    mesa = sys.modules.get("mesa")
    return mesa is not None and isinstance(value, mesa.Agent)


def _fields_of(value: Any) -> dict[str, Any] | None:
    """The named fields of an object; None for an object of another form.

    Dataclasses, named tuples, namespaces, classes of pydantic and attrs, and
    rows of pandas have named fields. So has an object with a ``unique_id`` whose class
    does not say how it is written.
    Their values are shown without parts then: a plain object may hold a whole model.
    """
    kind = type(value)
    pandas = sys.modules.get("pandas")
    if pandas and isinstance(value, pandas.Series) and value.index.is_unique:
        return value.to_dict()
    if isinstance(value, SimpleNamespace):
        return dict(vars(value))
    names: list[str] = []
    if is_dataclass(kind):
        names = [each.name for each in fields(kind)]
    elif listed_by := attribute(kind, "__attrs_attrs__"):
        names = [each.name for each in listed_by]
    elif isinstance(value, tuple):
        names = [*(attribute(kind, "_fields") or ())]
    elif attribute(kind, "__pydantic_validator__"):
        names = [*kind.model_fields, *(value.__pydantic_extra__ or ())]
    elif not _has_text(kind) and "unique_id" in (attribute(value, "__dict__") or ()):
        return {name: plain(each, MAX_DEPTH) for name, each in vars(value).items()}
    return {name: attribute(value, name) for name in names} if names else None


def _has_text(kind: type) -> bool:
    """True for a class that says how its objects are written."""
    return (kind.__str__, kind.__repr__) != (object.__str__, object.__repr__)


def attribute(value: Any, name: str) -> Any:
    """An attribute; None if it is missing or cannot be read."""
    try:
        return getattr(value, name, None)
    except Exception:  # a user's __getattr__ may do anything
        return None


def _long_text(value: int) -> str:
    return f"an integer of {value.bit_length()} bits"


def _base(value: Any) -> Any:
    """A subclass instance as its builtin; a bool never comes here."""
    # A subclass may write itself in another way, as a member of an Enum does.
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) else float(value)


def _key(key: Any) -> str | int | float | bool | None:
    if isinstance(key, str):
        return storable(str.__str__(key))
    told = plain(key)
    if told is None or isinstance(told, bool | int | str):
        return told
    if isinstance(told, float) and math.isfinite(told):
        return told
    return str(told)


def kind_text(kind: Any) -> str:
    """The kind of an event as text that every file and database can keep."""
    clean = type(kind) is str and kind.isascii() and "\0" not in kind
    return kind if clean else str(_key(kind))


def _order(value: Any) -> tuple[str, Any]:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return ("", value) if numeric else (type(value).__name__, str(value))


def storable(text: str) -> str:
    r"""``text`` with ``"\ufffd"`` for NUL and lone surrogates.

    No request, file or database takes those.
    """
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def text_of(value: Any) -> str:
    """The object's own text; a default one loses its memory address."""
    try:
        text = str(value)
    except Exception as error:  # a user's __str__ may do anything
        text = f"<{type(value).__name__}: no text, {type(error).__name__}>"
    return storable(_ADDRESS.sub("", text))


# -- as one line of text ----------------------------------------------------------------


def one_line(text: str) -> str:
    """``text`` without anything that breaks a line or hides.

    Joiners stay where a script or a pictogram needs them, direction marks in text that
    is written from right to left, selectors after what they select a form of.
    """
    # Nearly every text is clean, and looking is faster than translating.
    if (text.isascii() and text.isprintable()) or not _UNSAFE.search(text):
        return text
    marks = bool(_LETTERS.search(text))

    def placed(found: re.Match) -> str:
        hidden, before = found[0], text[max(found.start() - 1, 0) : found.start()]
        mark = marks and _MARKS.match(hidden) and not _MARKS.match(before)
        stays = found[1] or mark
        return hidden if stays else f"\\x{ord(hidden):02x}"

    return storable(_IN_PLACE.sub(placed, text).translate(_ESCAPES))


def shorten(text: str, limit: int) -> str:
    """``text`` cut to about ``limit`` characters, saying how many are left out.

    The middle goes: an answer, a decision or an instruction often stands at the end.
    """
    missing = len(text) - limit
    if missing <= 0:
        return text
    note = f"… ({missing} characters left out) …"
    if missing <= len(note):  # it would take as much room as what is left out
        return text
    first = limit - limit // 2
    return f"{text[:first]}{note}{text[len(text) - limit // 2 :]}"


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``; a longer one ends with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(text: str, limit: int) -> str:
    """The beginning of ``text``, see ``cut``, with single spaces and on one line."""
    return cut(" ".join(text.split()), limit)


def words(text: str) -> list[str]:
    """The lower-case words and numbers of ``text``."""
    return _WORD.findall(text.lower())


def count_tokens(text: str) -> int:
    """An estimate without a tokenizer: four characters to a token."""
    return tokens_of(len(text))


def tokens_of(chars: int) -> int:
    """``count_tokens`` of a text of this number of characters."""
    return (chars + 3) // 4


def dollars(amount: float | None) -> str:
    """US dollars in digits, with cents; of less than one, the first two that count."""
    if amount is None:
        return "unknown"
    small = 0 < abs(amount) < 1
    places = max(2, 1 - math.floor(math.log10(abs(amount)))) if small else 2
    return f"{amount:,.{places}f}"


def value_text(value: Any) -> str:
    """Any plain value on one line, compact, without quotes."""
    kind = type(value)
    if kind is str:
        clean = value.isascii() and value.isprintable()
        return value if clean else one_line(value)
    if kind is int or kind is float:
        return str(value)
    if isinstance(value, list | tuple):
        # A tuple that was stored comes back as a list; prompts must not tell them apart.
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, MAPPINGS):
        return "{" + pairs(value) + "}"
    return one_line(value if isinstance(value, str) else str(value))


def pairs(mapping: Mapping, without: Set[Any] = frozenset()) -> str:
    """The keys and values of a mapping, in order.

    Args:
        without: keys that are left out.
    """
    return ", ".join(
        [
            f"{one_line(str(k))}: {value_text(v)}"
            for k, v in mapping.items()
            if k not in without
        ]
    )


def rest_of(mapping: Mapping, said: Set[Any]) -> str:
    """``pairs`` without the spoken words; usually empty."""
    return "" if mapping.keys() <= said else pairs(mapping, said)


# -- unique ids of agents ---------------------------------------------------------------


def is_id(value: Any) -> bool:
    """True for a value that can be an agent's unique id."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def by_id(unique_id: Any) -> str:
    """An agent without a name: ``Agent 4``."""
    text = str(unique_id) if type(unique_id) is int else value_text(unique_id)
    return f"Agent {text if len(text) <= ID_CHARS else shorten(text, ID_CHARS)}"


def id_of(key: Any) -> Any:
    """The unique id in a key such as ``Citizen 8``."""
    last = str(key).rpartition(" ")[2]
    return int(last) if last.lstrip("-").isascii() and last.isdecimal() else last
