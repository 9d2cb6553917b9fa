"""Tells a model's refusal from an agent's memory in the first person.

"I'm sorry, but I can't help with that request" is a refusal, "I'm sorry that I could
not help Agent 4" is a memory. A refusal says that it cannot do, and then names nothing
but the request itself. The words of many languages are in ``refusals.toml``.
"""

import re
import tomllib
from pathlib import Path

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
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
#: words that, where no others stand, can only mean the request
_GENERIC = frozenset(_TABLES["request"]["words"].split())


def _any_of(table: str) -> str:
    return "|".join(_TABLES[table].values()).replace("\n", "")


_OPENING = re.compile(rf"[^\w]*(?:{_any_of('opening')})")
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
    speaks = _OPENING.match(start) or start.endswith(("?", "？", "؟"))
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
