"""Errors of language-model servers, sorted by the action that helps: one table for all.

Servers report the same fault in different words, states and codes. The table reads the
error's HTTP state, then its codes, then the numbers and words of its message. The rows
are in ``fault_table.toml``. The message is cut first, so an error of any size is read quickly.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: longest error body, in bytes, and longest message, in characters, that are read
ERROR_BYTES, SAID_CHARS = 8192, 2000

#: Told at once: the same request fails again. A key, an account, a model's name.
REFUSED = "refused"
#: Waited for: overload, rate limits, outages.
BUSY = "busy"
#: Asked in parts.
TOO_LONG = "too long"
#: Only the event that the provider's filter refuses goes without an answer.
FILTERED = "filtered"
#: Asked again: the model wrote something that its provider could not use.
BAD_OUTPUT = "bad output"

#: HTTP states of faults that pass by themselves, as do all states from 500
PASSING_STATES = (408, 409, 424, 425, 429, 498)


class Fault(NamedTuple):
    """A server's error.

    Attributes:
        status: of HTTP; None if it is unknown.
        codes: machine-readable names such as ``insufficientquota``; lower case, without
            underscores and hyphens.
        said: the message, at most ``SAID_CHARS`` characters.
    """

    status: int | None
    codes: frozenset[str] = frozenset()
    said: str = ""


class FailedAttempt(NamedTuple):
    """An HTTP request that got no usable answer.

    Attributes:
        model: the model that was asked.
        kind: an outcome, such as ``"busy"``.
        status: HTTP status; None without a response, such as for a lost connection.
        action: the client's reaction, such as ``"sent again after 0.5 s"``.
    """

    model: str
    kind: str
    status: int | None
    action: str


class Row:
    """A row of the table; it fits a fault with one of its codes, or with its words.

    Args:
        row: see ``fault_table.toml``.
        parts: patterns by the names under which words refer to them.
    """

    def __init__(self, row: dict[str, Any], parts: dict[str, str]) -> None:
        self.outcome: str = row["outcome"]
        self.codes = frozenset(row["codes"])
        self.states: list[int] = row.get("states", [])
        self._words, self._unless = (
            _pattern(row[name], parts) if name in row else None
            for name in ("words", "unless")
        )

    def fits(self, fault: Fault) -> bool:
        """True if this row decides."""
        in_state = not self.states or fault.status in self.states
        by_words = in_state and self._words and self._words.search(fault.said)
        return bool(by_words or self.codes & fault.codes) and not self.excludes(fault)

    def excludes(self, fault: Fault) -> bool:
        """True if words make it another fault."""
        return bool(self._unless and self._unless.search(fault.said))


def _pattern(words: list[str], parts: dict[str, str]) -> re.Pattern[str]:
    pattern = "|".join(words)
    for name, part in parts.items():
        pattern = pattern.replace(f"<{name}>", part)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_PARTS, _NAMED, _LENGTHS = map(_ROWS.pop, ("parts", "named", "lengths"))
#: the first row that fits decides
TABLE = {name: Row(row, _PARTS) for name, row in _ROWS.items()}
#: patterns of what a refusal names, by the option
NAMED = {name: _pattern([words], _PARTS) for name, words in _NAMED.items()}
_SIZES = [_pattern([words], _PARTS) for words in _LENGTHS["sizes"]]
_WAIT = _pattern(["<wait>"], _PARTS)


def is_of_account(fault: Fault) -> bool:
    """True if the account is empty or closed."""
    return fault.status == 402 or TABLE["account"].fits(fault)


def outcome(fault: Fault) -> str | None:
    """The action that helps; None if neither the table nor the state decides."""
    status = fault.status
    if _is_larger_than_limit(fault):
        return TOO_LONG
    for row in TABLE.values():
        if row.fits(fault):
            return row.outcome
    if status is None:
        return None
    if status == 413:
        return TOO_LONG
    busy = status in PASSING_STATES or status >= 500 or status < 400
    return BUSY if busy else REFUSED


_ABOUT_LENGTH = re.compile(r"token|length|context|n_ctx|prompt", re.IGNORECASE)


def _is_larger_than_limit(fault: Fault) -> bool:
    """True if the message names a size and a limit, and the size is larger.

    A rate limit is one as well: a request for more tokens than a minute has can never
    pass, however long one waits.
    """
    told, too_long = fault.said, TABLE["too_long"]
    if fault.status not in (*too_long.states, 429) or not _ABOUT_LENGTH.search(told):
        return False
    if too_long.excludes(fault):
        return False
    for pattern in _SIZES:
        if found := pattern.search(told):
            return _whole(found["requested"]) > _whole(found["limit"])
    return False


def _whole(text: str) -> int:
    return int("".join(filter(str.isdigit, text))[:15])


#: the beginning of a unit -> its seconds
_UNITS = (("ms", 0.001), ("mil", 0.001), ("m", 60.0), ("h", 3600.0), ("d", 86400.0))


def wait_in(said: str) -> float:
    """The seconds to wait that a message names, as in ``try again in 1m2.5s``; else 0."""
    found = _WAIT.search(said)
    text = found[1].lower() if found else ""
    parts: list[Any] = re.findall(r"(\d+(?:\.\d+)?) ?([a-z]+)", text)
    total = 0.0
    for number, unit in parts[:4]:
        known = (seconds for begins, seconds in _UNITS if unit.startswith(begins))
        total += float(number) * next(known, 1.0)
    return total


# -- reading ----------------------------------------------------------------------------

_CODES = ("code", "type", "status", "reason", "error_type", "__type")
_MESSAGES = ("message", "Message", "detail", "msg", "error", "raw")
_INSIDE = ("errors", "details", "metadata", "innererror")
#: the same in a text that is not JSON, or only the beginning of it
_CODE = re.compile(r"[\"'](?:code|type|status|reason)[\"']: ?[\"']([\w.-]{3,60})[\"']")
_MESSAGE = re.compile(r"[\"']message[\"']: ?\"((?:[^\"\\]|\\.)*)")


def read(status: int | None, body: bytes | str) -> Fault:
    """The fault in the body of a server's answer, in any of the usual forms."""
    body = body[:ERROR_BYTES]
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    text = text.strip()
    try:
        return in_json(status, json.loads(text))
    except (ValueError, RecursionError):
        codes = frozenset(_plain(code) for code in _CODE.findall(text))
        message = _MESSAGE.search(text)
        return Fault(status, codes, (message[1] if message else text)[:SAID_CHARS])


def in_json(status: int | None, told: Any) -> Fault:
    """The fault in an answer that was read as JSON.

    Only messages and codes are looked at. What else a server repeats may be a prompt.
    """
    parts = list(_parts(told, 6))
    codes = dict.fromkeys(text for is_code, text in parts if is_code)
    said = " ".join(dict.fromkeys(text for is_code, text in parts if not is_code))
    if unsaid := [code for code in codes if code not in said]:
        said += f" ({', '.join(unsaid[:2])})"
    return Fault(status, frozenset(map(_plain, codes)), said.strip()[:SAID_CHARS])


def _parts(node: Any, depth: int) -> Iterator[tuple[bool, str]]:
    """(whether it is a code, the text) of each code and message."""
    if isinstance(node, list):
        for item in node[:10]:
            yield from _parts(item, depth - 1)
    elif isinstance(node, str):
        yield False, node[:SAID_CHARS]
    if not isinstance(node, dict) or depth <= 0:
        return
    for name in _MESSAGES:
        value = node.get(name)
        if name == "raw" and isinstance(value, str):  # another server's answer
            inner = read(None, value)
            yield from ((True, code) for code in inner.codes)
            yield False, inner.said
        elif value:
            yield from _parts(value, depth - 1)
    for name in _CODES:
        if isinstance(value := node.get(name), str):
            yield True, value[:100]
    for name in _INSIDE:
        inside = node.get(name)
        yield from _parts(inside, depth - 1) if isinstance(inside, dict | list) else ()
    if isinstance(delay := node.get("retryDelay"), str):
        yield False, f"Retry in {delay[:20]}."


def _plain(code: str) -> str:
    """A code without its namespace, case and hyphens."""
    return re.sub(r"[^a-z0-9]", "", code.rpartition(".")[2].rpartition("#")[2].lower())
