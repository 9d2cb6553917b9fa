"""The clauses of a sentence, and whether each is affirmed, denied or left open.

"Agent 1 is not a cheater", "It is false that Agent 1 is a cheater" and "Agent 1 ist kein
Betrüger" are denied, "No, Agent 1 is a cheater" and "I have no doubt that Agent 1 is a
cheater" are affirmed, "I wonder whether Agent 1 is a cheater" and "Agent 1 might be a
cheater" are open. The words of
several languages are in ``clauses.toml``; words with another meaning in another of these
languages are left out.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mesa_memory.core.text.naming import plainly_spelled

_BETWEEN = re.compile(r"(?<=[.!?])\s+(?![(（])|(?<=[。！？])(?![(（])|\n+|\\n|\s•\s")
#: kind, step and speaker before the words; a summary may name several
_FRAME = re.compile(
    r"^\W*(?:\w+: (?:text|message|content): |Step [\d.]+:\s*"
    r"|(?:Agent )?[^\s:][^:]{0,40}? says(?: to [^:]{1,60})?:\s*)+"
)
#: who said something several times, and how often, before the words
_SEVERAL = re.compile(
    r"^[^:：]{1,300}?\d+(?: times| fois| veces| vezes|-mal| [回次])[,、，]"
    r"[^:：]{1,40}\d\S*(?: 步)?[)）]?\s?[:：]\s*"
)
#: where a fact is from, after its words: "(said by Ines, step 2)"
_SOURCE = re.compile(
    r"\s*[(（][^()（）]*(?:steps?|schritte?|étapes?|pasos?|passos?|ステップ|第)\s*\d"
    r"[^()（）]*[)）]$",
    re.IGNORECASE,
)
_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _any_of(table: str) -> str:
    return "|".join(" ".join(_TABLES[table].values()).split())


def _words(table: str) -> re.Pattern[str]:
    """A pattern for the words of all languages; ``_`` in them is a space."""
    return re.compile(rf"\b(?:{_any_of(table).replace('_', ' ')})\b", re.IGNORECASE)


_NOT, _FALSE, _TRUE = _words("not"), _words("false"), _words("true")
_HARMLESS, _OPEN, _THAT = _words("harmless"), _words("open"), _words("that")
_WHO, _IT, _PERHAPS = _words("who"), _words("it"), _words("perhaps")
#: negations that are parts of words, and of scripts without spaces
_NOT_INSIDE = re.compile(_any_of("not_inside"), re.IGNORECASE)
_CUT = re.compile(
    r"[,;:()\u2013\u2014]\s+|[，；：、]|\s+-\s+"
    rf"|\s(?=(?:{_any_of('joints')}|{_any_of('open')}|{_any_of('that')})\s)".replace("_", " "),
    re.IGNORECASE,
)  # fmt: skip
_JOINED = re.compile(rf"(?:{_any_of('and')})\b|[\d#]", re.IGNORECASE)
#: longest part of a list of names
MAX_LISTED_CHARS = 60
#: a part of a list of names: "Agent 5" of "Agent 5, Agent 3 and Agent 1"
_LISTED = re.compile(r"(?:\w+\s+){0,2}\w*[\dA-Z#]\w*")
#: after a statement: a question about it that expects a yes
_TAG = re.compile(rf",\s*(?:{_any_of('tags').replace('_', ' ')})\s*\?$", re.IGNORECASE)


@dataclass(frozen=True)
class Clause:
    """A part of a sentence that states something by itself.

    Attributes:
        text: its words.
        denied: whether the speaker denies it.
        open: whether the speaker leaves open if it is so.
        judges: whether it calls something true or false, as "but that is a lie".
    """

    text: str
    denied: bool
    open: bool
    judges: bool


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text; a blank text is one."""
    found = [piece for piece in _BETWEEN.split(text) if piece.strip()]
    return found or [text]


def without_speaker(sentence: str) -> str:
    """A sentence without step, speaker and list mark before it, or its source after it."""
    said = _SOURCE.sub("", _SEVERAL.sub("", _FRAME.sub("", sentence)))
    return said.strip(" -•") or sentence.strip()


def is_question(sentence: str) -> bool:
    """True for a question; "…, isn't he?" is a statement."""
    said = sentence.rstrip(" \"')”»")
    return said.endswith(("?", "？")) and not _TAG.search(said)


def clauses(sentence: str) -> list[Clause]:
    """The clauses of a sentence, in order; at least one.

    A clause after "that" is denied if the one before it is: "I do not think that …", "It
    was not Agent 1 who …".
    """
    found: list[Clause] = []
    for text in _parts(plainly_spelled(_TAG.sub("", sentence))):
        said = _HARMLESS.sub(" ", text)
        false = _FALSE.search(said) is not None
        brought = bool(found) and _is_brought(text, found[-1].text)
        denied = (_denies(said) != false) != (brought and found[-1].denied)
        judges = false or _TRUE.search(said) is not None
        left_open = _OPEN.match(text) or (not denied and _PERHAPS.search(text))
        found.append(Clause(text, denied, bool(left_open), judges))
    return found


def _is_brought(text: str, before: str) -> bool:
    """True for a clause that says what the one before it speaks of."""
    return bool(_THAT.match(text) or (_WHO.match(text) and _IT.match(before)))


def _denies(text: str) -> bool:
    return bool(_NOT.search(text) or _NOT_INSIDE.search(text))


def _parts(sentence: str) -> list[str]:
    """The sentence cut at commas and joining words; a list of names stays in one."""
    pieces = [piece for piece in _CUT.split(sentence) if piece.strip()] or [sentence]
    found, listed = [pieces[0]], _is_listed(pieces[0])
    for piece in pieces[1:]:
        joined = _JOINED.match(piece) is not None
        if listed and (joined or _is_listed(piece)):
            found[-1] += f" {piece}" if joined else f" and {piece}"
        else:
            found.append(piece)
        listed = _is_listed(piece)
    return found


def _is_listed(piece: str) -> bool:
    if len(piece) > MAX_LISTED_CHARS or _denies(piece):
        return False
    return _LISTED.fullmatch(piece.strip()) is not None
