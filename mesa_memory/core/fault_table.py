"""Errors of language-model servers, sorted by the action that helps: one table for all.

Servers report the same fault in different words, states and codes. The table reads the
error's HTTP state, then its codes, then the numbers and words of its message. The first
row that fits decides. The message is cut first, so an error of any size is read quickly.
"""

import json
import re
from collections.abc import Iterator
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


class Row(NamedTuple):
    """A row of the table; it fits a fault with one of its codes, or with its words.

    Attributes:
        outcome: the action that helps.
        codes: see ``Fault``; they fit in any state.
        words: of the message.
        states: in which the words fit.
        unless: words that make it another fault.
    """

    outcome: str
    codes: frozenset[str]
    words: re.Pattern[str]
    states: tuple[int | None, ...]
    unless: re.Pattern[str] | None = None

    def fits(self, fault: Fault) -> bool:
        """True if this row decides."""
        by_words = fault.status in self.states and self.words.search(fault.said)
        if not (by_words or self.codes & fault.codes):
            return False
        return self.unless is None or not self.unless.search(fault.said)


def _words(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE | re.DOTALL)


_WAIT = re.compile(
    r"(?:try|retry|trying)(?: again| your request)? (?:in|after) ((?:[\d.]+ ?[a-z]+ ?)+)",
    re.IGNORECASE,
)
_SIZE = r"(?:tokens?\b|context|\bprompt\b|\binputs?(?: text| length| data| size| is| was)*\b)"
_OVER = (
    r"(?:too (?:long|large|many)|exceed|(?:longer|greater|larger) than|overflow|超|reduce the"
    r"|must (?:be|have) (?:<=|less|fewer)|should be \[|maximum (?:context|prompt|input))"
)
_REFUSING = (400, 403, 406, 422, 451)

#: the first row that fits decides
TABLE = (
    Row(
        FILTERED,
        frozenset(
            {"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation"}
            | {"datainspectionfailed", "cyberpolicyviolation", "moderationblocked"}
            | {"contentmoderation", "guardrailintervened", "contentpolicy"}
        ),
        _words(
            r"content[ _-](?:filter|moderation|management|policy)",
            r"content exists risk|inappropriate content|usage (?:policy|policies|guidelines)",
            r"(?:was|were|been) flagged|safety (?:reasons|system|filter|settings)",
            r"blocked by .{0,40}(?:filter|guardrail|safety)|敏感|contentpolicy",
            r"sensitive (?:words|content|information)",
            r"responsible ai|guardrail .{0,40}(?:blocked|violat|intervened)",
        ),
        _REFUSING,
    ),
    Row(
        BAD_OUTPUT,
        frozenset(
            {"jsonvalidatefailed", "toolusefailed", "outputparsefailed"}
            | {"incompletegeneration", "malformedfunctioncall"}
        ),
        _words(
            r"failed[ _]generation|failed to (?:generate|validate) (?:\w+ ){0,2}(?:json|tool)",
            r"failed to call a (?:function|tool)|error parsing tool call",
            r"failed to parse (?:input at pos|(?:\w+ )?(?:tool|function) call)",
            r"tool call validation failed|model did ?n[o']t (?:call|produce|return)",
            r"model (?:has )?(?:produced|generated) .{0,30}(?:invalid|could not|unexpected)",
            r"(?:model(?:'s)?|generated) (?:json|output|tool call)s? .{0,30}"
            r"(?:does not|could not|invalid|not valid|malformed)",
            r"incomplete generation|could not finish the message because",
        ),
        (400, 422, 424, 500),
    ),
    Row(
        TOO_LONG,
        frozenset(
            {"contextlengthexceeded", "contextwindowexceeded", "stringabovemaxlength"}
            | {"exceedcontextsizeerror", "tokenslimitreached", "requesttoolarge"}
        ),
        _words(
            f"{_SIZE}.{{0,60}}?{_OVER}",
            f"{_OVER}.{{0,60}}?{_SIZE}",
            r"(?:request|payload|body) (?:size )?(?:is )?(?:too large|exceeds)|输入.{0,20}超",
        ),
        (400, 413, 422, 500),
        # That is a setting, not the prompt.
        unless=_words(
            r"(?<!\+ `)max_?(?:completion_?|output_?|new_?)?tokens\W{0,3}"
            r"(?:or \W?max_\w+\W{1,2}|\d+\W{1,2})?(?:is|are|must|value|should|exceeds|:)",
            r"\d (?:completion|output) tokens|maximum tokens you requested",
        ),
    ),
    Row(
        REFUSED,
        frozenset(
            {"insufficientquota", "billingnotactive", "billinghardlimitreached"}
            | {"insufficientbalance", "insufficientcredits", "accountdeactivated"}
            | {"arrearage", "freetieronly", "exceededcurrentquotaerror"}
            | {"accountoverdueerror", "paymentrequired", "billingerror"}
        ),
        _words(
            r"insufficient[ _](?:quota|balance|credits?|funds)|credit balance",
            r"balance (?:is )?(?:too low|insufficient|not enough)|余额不足|欠费",
            r"(?:out of|any|no|all available|more) credits|spend(?:ing)? limit|good standing",
            r"credits (?:are|have been) (?:depleted|exhausted|used)",
            r"exceeded your (?:current quota|monthly)|account .{0,60}(?:not active|overdue"
            r"|suspended|deactivated)|billing .{0,20}(?:inactive|not active|hard limit)",
        ),
        (400, 401, 402, 403, 429),
        # Gemini says so of each rate limit, too.
        unless=_words(_WAIT.pattern, r"per ?(?:minute|second)"),
    ),
    Row(
        REFUSED,
        frozenset({"apikeyinvalid", "invalidapikey"}),
        # Some providers' code raises this as a lost connection, or a server's error.
        _words(r"missing (?:[\w ]*api[ _]key|credentials)"),
        (*range(400, 600), None),
    ),
    Row(
        BUSY,
        frozenset(
            {"overloadederror", "throttlingexception", "throttling", "engineoverloaded"}
            | {"modelnotreadyexception", "serviceunavailable", "capacityexceeded"}
        ),
        _words(r"(?!)"),
        (),
    ),
)


def is_of_account(fault: Fault) -> bool:
    """True if the account is empty or closed."""
    return fault.status == 402 or TABLE[3].fits(fault)


def outcome(fault: Fault) -> str | None:
    """The action that helps; None if neither the table nor the state decides."""
    status = fault.status
    if _is_larger_than_limit(fault):
        return TOO_LONG
    for row in TABLE:
        if row.fits(fault):
            return row.outcome
    if status is None:
        return None
    if status == 413:
        return TOO_LONG
    busy = status in PASSING_STATES or status >= 500 or status < 400
    return BUSY if busy else REFUSED


_NUMBER = r"(\d[\d,_.']*\d|\d)"
#: (requested, limit), or the other way round, in messages about length
_PAIRS = (
    (re.compile(rf"{_NUMBER}(?: tokens?)? ?>=? ?(?:\w+: ?)?{_NUMBER}"), (1, 2)),
    (
        re.compile(
            rf"limit:? {_NUMBER}.{{0,60}}?requested:? {_NUMBER}",
            re.IGNORECASE | re.DOTALL,
        ),
        (2, 1),
    ),
    (
        re.compile(
            rf"(?:only|up to|at most|max\w*(?: of| is)?|window of|limit of):? {_NUMBER}\b"
            r".{0,60}?(?:actual|got|given|received|provided|contains|has|is|was|in|requested)"
            rf":? {_NUMBER}",
            re.IGNORECASE | re.DOTALL,
        ),
        (2, 1),
    ),
)
_ABOUT_LENGTH = re.compile(r"token|length|context|n_ctx|prompt", re.IGNORECASE)


def _is_larger_than_limit(fault: Fault) -> bool:
    """True if the message names a size and a limit, and the size is larger.

    A rate limit is one as well: a request for more tokens than a minute has can never
    pass, however long one waits.
    """
    told, too_long = fault.said, TABLE[2]
    if fault.status not in (*too_long.states, 429) or not _ABOUT_LENGTH.search(told):
        return False
    if too_long.unless and too_long.unless.search(told):
        return False
    for pattern, (requested, limit) in _PAIRS:
        if found := pattern.search(told):
            return _whole(found[requested]) > _whole(found[limit])
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
