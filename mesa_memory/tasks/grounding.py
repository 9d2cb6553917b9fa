"""Tells a summary of some events from a text that only stands in its place.

A greeting, an error page, "no changes", or what one hostile message dictates is well
formed and says nothing of the events. So a summary has to share something with them:
names, numbers, or words that mean something. Names are compared by their sound in Latin
letters, so that Анна is Anna; summaries may be in another language than the events.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from typing import NamedTuple
from unicodedata import numeric

from anyascii import anyascii
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from mesa_memory.core.replies import Unusable

#: a shared name proves as much as two shared words or numbers; so much is enough
ENOUGH = 2
#: less is enough for a text of few words, of which it is such a part
PART = 1 / 6
#: the new summary keeps at least one term in this many of the old one …
KEEP_ONE_OF = 10
#: … but need not keep more than this many
KEEP_AT_MOST = 5
#: length in characters from which a summary has had to choose what to tell
FULL_CHARS = 1000
#: fewest words of a quotation
QUOTED = 4

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_KANA, _THAI = "\u30a0-\u30ff", "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HIRAGANA = "\u3040-\u309f"
#: signs over and around letters, which Python does not count among the letters
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
#: words and numbers; scripts without spaces are taken in runs
_TOKEN = re.compile(
    rf"[{_HAN}]+|[{_KANA}]+|[{_THAI}]+|[{_HIRAGANA}]+"
    rf"|(?:(?![{_HAN}{_KANA}{_THAI}{_HIRAGANA}])(?:[^\W_]|[{_MARKS}]))+"
)
_ASCII_TOKEN = re.compile("[0-9A-Za-z]+")  # the same in ASCII, and much faster
_RUN = re.compile(rf"[{_HAN}{_THAI}]")
_HAN_RUN = re.compile(rf"[{_HAN}]")
#: "one" is also an article
_HAN_NUMBERS = "二三四五六七八九十"
_GRAMMAR = re.compile(rf"[{_HIRAGANA}]")
#: what makes "GPT-4" and "1.18.0" one word
_INSIDE = re.compile(r"(?<=\w)[-/.](?=\d)")
#: numbers that count lines, not what the lines say
_COUNTERS = re.compile(r"^\s*(?:step \S+ ?:|\d+[.)]\s)|\bstep \d+\b", re.I | re.M)
#: what kind of event it was
_KIND = re.compile(r"^\w+: ")
#: who spoke, or what kind of event it was
_HEAD = re.compile(r"^(?:agent \S+ says|[\w ]{1,30}):\s*", re.IGNORECASE)

#: what apologies begin with
_SORRY = """afraid apologies apologise apologize bedauerlicherweise bedaure desafortunadamente
desculpe desole entschuldigung helaas lamento leider malheureusement pardon perdon purtroppo
regret spiacente tyvarr tut unfortunately valitettavasti verzeihung"""
#: words of the task and of talk about the task; in a summary they say nothing
_TASK_WORDS = """
action actions activities activity additional agent agents already answer anything apply
appropriate assist assistance assistant assisting available based bad brief briefly
certainly change changed changes chat clarify clear collected common complete completed
consolidate consolidated content contents context continue continued conversation
conversations covered current currently data describe described detail details discuss
discussed discussion discussions empty environment error errors event events everything
exchange exchanged experience experienced experiences feel following format free further
gateway general generate generated glad gladly great happen happened happening happy
hello help helpful hi important include included including information input instruction
instructions integers interact interacted interacting interaction interactions invalid
involve involved involving issue items json keep key kind language large learn learned
let level like line lines list listed long look main maintain meaningful memories memory
message messages met mode model moment nature need new news none note noted nothing
number object observation observations observe observed occur occurred okay old ongoing
output over overall participate participants people plain plan_execution please point
points present previous previously process processed prompt provide provided providing
question questions ready receive received recent recorded records regarding related
relevant remain remained remains remember reply request requests respond response result
results role running said same says sections sentence server short simulation situation
situations sorry speak spoke step steps string subject summaries summarise summarised
summarize summarized summarizing summary sure talk talked task term terms text thank
thanks thing things time today told topic topics track type types unable unchanged
understand understood unknown unnecessary update updated updates updating user using
various version want welcome word words work worked working write written yet
"""
_GENERIC = frozenset((_TASK_WORDS + _SORRY).split())


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """The function words of each language, English first."""
    names = sorted(AVAILABLE_LANGUAGES, key=lambda name: (name != "english", name))
    return {
        name: frozenset(part for word in get_stop_words(name) for part in _split(word))
        for name in names
    }


@cache
def _languages_of() -> dict[str, tuple[int, ...]]:
    """Of each function word the places, in ``_function_words``, of its languages."""
    found: dict[str, tuple[int, ...]] = {}
    for place, words in enumerate(_function_words().values()):
        for word in words:
            found[word] = (*found.get(word, ()), place)
    return found


def _language(words: Iterable[str]) -> str:
    """The language that small words are most likely of.

    A few words may belong to any language; they are taken for English.
    """
    languages = _languages_of()
    places = Counter([p for word in set(words) for p in languages.get(word, ())])
    most = max(places.values(), default=0)
    best = min(p for p in places if places[p] == most) if most > 1 else 0
    return list(_function_words())[best]


def _tokens(text: str) -> list[str]:
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)


def _split(text: str) -> list[str]:
    return _tokens(text.lower())


class _Word(NamedTuple):
    """What there is to know of a token, whatever text it stands in.

    Attributes:
        sound: in small Latin letters.
        decimal: true for a number.
        run: true for a run of a script without spaces.
        small: as function words are written; None if it never says anything.
        stem: of the sound.
        capital: true with a capital, and in a script that has none.
    """

    sound: str
    decimal: bool
    run: bool
    small: str | None
    stem: str
    capital: bool


@lru_cache(maxsize=4096)
def _word(token: str) -> _Word:
    sound, decimal = anyascii(token).lower(), token.isdecimal()
    mute = decimal or len(sound) < 2 or _GRAMMAR.match(token) or sound in _GENERIC
    small = None if mute else token.lower()
    run, capital = bool(_RUN.match(token)), token[0].upper() == token[0]
    return _Word(
        sound, decimal, run, small, _stem(sound), capital or token[0].isupper()
    )


@dataclass(frozen=True)
class Terms:
    """What a text speaks of, in small Latin letters.

    Attributes:
        words: beginnings of words, or pairs of signs, that mean something.
        names: words with a capital, and all words of a script that has none.
        numbers: digits.
        tokens: all words as they stand.
        sound: runs of a script without spaces.
        language: what it is most likely written in, and whether in Latin letters.
    """

    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()
    sound: str = ""
    language: tuple[str, bool] = ("", True)

    def __len__(self) -> int:
        return len(self.words) + len(self.numbers)

    @cached_property
    def names_by_start(self) -> dict[str, list[str]]:
        """The names by their first two, and their first three letters."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.names):
            for start in {name[:2], name[:3]}:
                found.setdefault(start, []).append(name)
        return found

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, text: str) -> "Terms":
        """The terms of a text; a summary is the old one of the next."""
        words: set[str] = set()
        names: set[str] = set()
        runs: list[str] = []
        cleaned = _INSIDE.sub("", _COUNTERS.sub(" ", text))
        tokens = _tokens(cleaned)
        lower = map(str.lower, tokens) if cleaned.isascii() else _split(cleaned)
        language = _language(lower)
        empty = _function_words()[language]
        plain = {token: _word(token) for token in tokens}
        for token, word in plain.items():
            if word.run:
                runs.append(word.sound)
                words.update(pair for pair in _pieces(token) if pair not in empty)
            elif word.small is not None and word.small not in empty:
                words.add(word.stem)
                if word.capital:
                    names.add(word.sound)
        numbers = {word.sound for word in plain.values() if word.decimal}
        numbers |= {str(int(numeric(sign))) for sign in _HAN_NUMBERS if sign in cleaned}
        return cls(
            frozenset(words),
            frozenset(names),
            frozenset(numbers),
            frozenset(word.sound for word in plain.values()),
            " ".join(runs),
            (language, cleaned.isascii() or _mostly_latin(tokens)),
        )

    def without(self, other: "Terms") -> "Terms":
        """The terms that ``other`` has not."""
        return replace(
            self,
            words=self.words - other.words,
            names=self.names - other.names,
            numbers=self.numbers - other.numbers,
        )

    def shared(self, source: "Terms") -> tuple[set[str], set[str]]:
        """The names, and the words and numbers, that come from ``source``."""
        other_script = self.language[1] != source.language[1]
        names = {name for name in source.names if _heard(name, self, other_script)}
        names |= {n for n in self.names if len(n) >= 3 and n in source.sound}
        words = {*(self.words & source.words), *(self.numbers & source.numbers)}
        return names, words - {_stem(name) for name in names}


def _mostly_latin(tokens: Iterable[str]) -> bool:
    letters = "".join(token for token in tokens if not token.isdecimal())
    return sum(x < "\u0250" for x in letters) * 2 >= len(letters)


def _pieces(run: str) -> Iterable[str]:
    """What stands for the words of a script without spaces."""
    size = 2 if _HAN_RUN.match(run) else 4
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]


def _stem(word: str) -> str:
    """The beginning of a word, which its forms have in common."""
    if not word.isalpha():
        return word
    return word[:5] if len(word) > 5 else word.removesuffix("s") or word


def _heard(name: str, text: Terms, other_script: bool) -> bool:
    """True if a name stands in a text, perhaps in another script or case."""
    if name in text.tokens or _stem(name) in text.words:
        return True
    if len(name) >= 3 and name in text.sound:
        return True
    if len(name) < 3:
        return False
    begins = name[: max(3, len(name) - 1)]
    for other in text.names_by_start.get(name[:3], ()):
        if other.startswith(begins) and abs(len(other) - len(name)) <= 3:
            return True
    if not other_script or len(name) < 4:
        return False
    return any(_sounds(name, other) for other in text.names_by_start.get(name[:2], ()))


def _sounds(name: str, other: str) -> bool:
    """True for what a name may become in another script, such as Petr for Peter."""
    if len(other) < 4 or abs(len(other) - len(name)) > 2:
        return False
    return SequenceMatcher(None, name, other, autojunk=False).ratio() >= 0.75


def check_summary(text: str, lines: Sequence[str], known: str, max_chars: int) -> None:
    """Lets a summary pass that has to do with what it covers.

    Args:
        text: the new summary.
        lines: the events that it is to cover.
        known: the old summary, which it is to keep; empty if there is none.
        max_chars: longest summary; one that has no room left may tell nothing new.

    Raises:
        Unusable: worded for the model that wrote it.
    """
    bare = [_KIND.sub("", line) for line in lines]
    new, old, events = Terms.of(text), Terms.of(known), Terms.of("\n".join(bare))
    if not len(events):
        return
    fresh = events.without(old)
    if known and _plain_words(text) == _plain_words(known):
        _check_repeated(fresh, len(known) >= min(FULL_CHARS, max_chars // 2))
        return
    _check_told(new, events)
    _check_kept(new, old)
    if _quotes(text, lines):  # hardly ever, and only then each line is looked into
        each = map(Terms.of, bare)
        best = max(each, key=lambda line: sum(map(len, new.shared(line))))
        if len(events.without(best)) or len(old.without(best)):
            raise Unusable(
                "summary is a quotation from one event; tell what all of them say"
            )


def _check_repeated(fresh: Terms, full: bool) -> None:
    """The old summary may stay as it is if there is no room, or nothing new to tell."""
    if len(fresh) and not full:
        raise Unusable(
            "summary only repeats the existing memory; tell of the new events, too"
            f"{_such_as(fresh)}"
        )


def _check_told(new: Terms, events: Terms) -> None:
    """The summary must share enough with the events, and be more than a name."""
    names, words = new.shared(events)
    proof = 2 * len(names) + len(words)
    if new.language != events.language:  # only names and numbers can be shared
        proof += len(words & events.numbers)
    more = (names and words) or new.words - {_stem(name) for name in names}
    enough = proof >= ENOUGH or proof >= PART * len(new)
    if not proof or not enough or (events.words and not more):
        raise Unusable(
            "summary tells nothing of the events to consolidate; name who and what "
            f"they are about{_such_as(events)}"
        )


def _check_kept(new: Terms, old: Terms) -> None:
    """The old summary must not be given up for one event."""
    if not len(old):
        return
    names, words = new.shared(old)
    need = max(1, min(KEEP_AT_MOST, len(old) // KEEP_ONE_OF, len(new) // 4))
    if new.language != old.language:
        need = 1
    if len(names) + len(words) < need:
        raise Unusable(
            "summary drops what the existing memory holds; keep that, and add what is "
            f"new{_such_as(old)}"
        )


def _quotes(text: str, lines: Sequence[str]) -> bool:
    """True for a part of a single message, word for word: what that dictates."""
    quote = _plain_words(text)
    if len(quote) < QUOTED:
        return False
    least = sum(map(len, quote))
    for line in lines:
        if len(line) < least and line.isascii():  # whose sound is no longer
            continue
        said = _plain_words(_HEAD.sub("", line, count=1))
        ends = range(len(said) - len(quote) + 1)
        if len(said) < len(quote) + 2 or quote[0] not in said:
            continue
        if any(said[i : i + len(quote)] == quote for i in ends):
            return True
    return False


@lru_cache(maxsize=1024)
def _plain_words(text: str) -> tuple[str, ...]:
    return tuple(_word(token).sound for token in _tokens(text))


def _such_as(terms: Terms) -> str:
    """Some of the terms that are missed, for the model that writes again."""
    found = sorted(terms.names)[:5] + sorted(terms.numbers)[:3]
    return f", such as {', '.join(found)}" if found else ""
