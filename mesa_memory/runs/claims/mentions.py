"""The words, names and numbers of a sentence, in order."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from anyascii import anyascii

from mesa_memory.core.text.naming import folded, plainly_spelled
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS
from mesa_memory.tasks.grounding import stem

#: the root of "agent" in many languages; it tells nothing of what a text says
AGENT = "agent"
#: a number that was left out
ANY_NUMBER = "#"
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
)
_NUMBER = re.compile(rf"{ANY_NUMBER}?\d+(?:[.,]\d+)*")
_TOKEN = re.compile(
    rf"{_NUMBER.pattern}|{ANY_NUMBER}|[{_NO_SPACES}]+|[^\W\d_{_NO_SPACES}]+"
    r"|[\u2600-\u27bf\U0001f000-\U0001faff]"
)
_RUN = re.compile(f"[{_NO_SPACES}]")
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_NUMBER_WORDS = (
    "two dos zwei deux", "three tres drei trois", "four cuatro vier quatre",
    "five cinco fünf cinq", "six seis sechs", "seven siete sieben sept",
    "eight ocho acht huit", "nine nueve neun neuf", "ten diez zehn dix",
    "eleven once elf onze", "twelve doce zwölf douze",
)  # fmt: skip
_NUMBERS = {
    anyascii(word): str(number)
    for number, words in enumerate(_NUMBER_WORDS, 2)
    for word in words.split()
}
_DETERMINERS_TEXT = """
the an my your his her its our their no every some any el la los las un una unos unas mi tu su
del al esta este ningun ninguna der die das den dem des ein eine einen einem einer eines kein
keine keinen keinem keiner mein dein sein ihr unser im am zum zur vom beim ins le les une du
des au aux l d ce cette mon ton son notre votre leur il lo gli uno
"""
#: articles and the like: a capital after one of them does not make a name
DETERMINERS = frozenset(_DETERMINERS_TEXT.split())
_FUNCTION_WORDS_TEXT = """
nobody everybody somebody everyone someone nothing never maybe perhaps
nadie nunca todos alguien niemand jemand alle nie niemals personne
yesterday today tomorrow tonight also still already really agent agents agente agenten
de en y o es son ser estar fue era ha han hay se que con por para como muy ya tambien hoy
ayer ist sind bin bist sei seien wurde wird werden hat haben habe hatte und oder auch nicht
sehr auf mit von zu bei aus nach heute gestern schon ja doch noch dass et ou est sont ete
avec pour par dans sur qui elle nous vous ils aussi tres e di che
"""
#: words that tell nothing; "die" may be a verb
FUNCTION_WORDS = (
    ENGLISH_WORDS.stop_words
    | (DETERMINERS - {"die"})
    | set(_FUNCTION_WORDS_TEXT.split())
)
JOINING = frozenset(["and", "or", "y", "e", "o", "und", "oder", "et", "ou"])
#: between two numbers of one thing
BETWEEN_NUMBERS = JOINING | frozenset(
    ["to", "not", "instead", "of", "bis", "statt", "nicht", "a", "pas"]
)
#: before the one who does something, in a passive sentence
BY = frozenset(["by", "von", "por", "par", "da", "durch"])
#: German verbs that bring the deed to the end: "Agent 1 hat Agent 5 betrogen"
DEED_LAST = frozenset(["hat", "hatte", "habe", "haben", "hatten"])
_COUNTING = frozenset(["no", "nr", "number", "numero", "nummer"])


class Token(NamedTuple):
    """A word or number.

    Attributes:
        word: in small Latin letters; of a script without spaces, two signs.
        root: beginning of the word, which its forms have in common.
        number: digits, ``#`` for any number; empty for a word.
        capital: whether it begins with a capital.
    """

    word: str
    root: str
    number: str
    capital: bool


@lru_cache(maxsize=100_000)
def tokens(sentence: str) -> tuple[Token, ...]:
    """The words and numbers of a sentence, in order."""
    found = _TOKEN.findall(plainly_spelled(sentence))
    # A text in capitals has no names to tell.
    shouted = not any(word[1:].islower() or word.islower() for word in found)
    return tuple(each for word in found for each in _read(word, shouted))


@lru_cache(maxsize=50_000)
def _read(word: str, shouted: bool) -> tuple[Token, ...]:
    if word[-1].isdecimal() or word == ANY_NUMBER:
        return (Token(word, word, _digits(word) or ANY_NUMBER, False),)
    if _RUN.match(word):
        pairs = [word[n : n + 2] for n in range(max(1, len(word) - 1))]
        return tuple(Token(pair, pair, "", False) for pair in pairs)
    plain = anyascii(folded(word))
    capital = word[0].isupper() and not shouted
    return (Token(plain, stem(plain), _NUMBERS.get(plain, ""), capital),)


def _digits(number: str) -> str:
    """A number without signs between thousands, and with a decimal point."""
    return _THOUSANDS.sub("", number).replace(",", ".").lstrip(ANY_NUMBER)


def without_numbers(sentence: str, but: Collection[str]) -> str:
    """A sentence with ``#`` for all numbers in digits except some."""
    return _NUMBER.sub(lambda m: m[0] if _digits(m[0]) in but else ANY_NUMBER, sentence)


def is_name(said: Sequence[Token], place: int) -> bool:
    """True for a word that seems to be part of a name: it has a capital, and no article."""
    token = said[place]
    if not token.capital or token.number:
        return False
    if token.root == AGENT and said[place + 1 : place + 2]:
        return bool(said[place + 1].number)
    before = said[place - 1].word if place else ""
    return token.word not in FUNCTION_WORDS | DETERMINERS and before not in DETERMINERS


def label(said: Sequence[Token], place: int) -> str:
    """The root of the word before a number: "agent" for both of "Agents 1 and 5"."""
    for token in reversed(said[:place]):
        skipped = token.number or token.word in JOINING or token.word in _COUNTING
        if not skipped:
            telling = token.word not in FUNCTION_WORDS or token.root == AGENT
            return token.root if telling else ""
    return ""


def follower(said: Sequence[Token], place: int) -> str:
    """The root of the word after a number: "litres" for both of "180 instead of 240 litres"."""
    joined = place
    for n in range(place + 1, min(place + 4, len(said))):
        if said[n].number:
            joined = n
        elif said[n].word not in BETWEEN_NUMBERS:
            break
    after = said[joined + 1 : joined + 2]
    return after[0].root if after and after[0].word not in FUNCTION_WORDS else ""
