"""What a text speaks of: its names, numbers, and words that mean something.

Names are compared by their sound in Latin letters, so that Анна is Anna.
"""

import re
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import chain, filterfalse
from unicodedata import numeric

from anyascii import anyascii
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_KANA, _THAI = "\u30a0-\u30ff", "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HIRAGANA = "\u3040-\u309f"
#: signs over and around letters, which Python does not count among the letters
_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
#: words and numbers; scripts without spaces are taken in runs
_TOKEN = re.compile(
    rf"[{_HAN}]+|[{_KANA}]+|[{_THAI}]+|[{_HIRAGANA}]+"
    rf"|(?:[^\W_{_HAN}{_KANA}{_THAI}{_HIRAGANA}]+|[{_MARKS}]+)+"
)
#: the same in a text without those scripts and signs, and faster
_LETTERS = re.compile(r"[^\W_]+")
_SPECIAL = re.compile(f"[{_HAN}{_KANA}{_THAI}{_HIRAGANA}{_MARKS}]")
#: the same in Latin-1, and much faster: spaces for all that is no letter and no digit
_LATIN_1 = bytes(code if chr(code).isalnum() else 32 for code in range(256))
#: the usual dashes, quotes and dots, which alone would make a text another one
_PLAIN = "\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2022\u2026"
_BEYOND_LATIN_1 = re.compile("[^\0-\xff]")
_BEYOND_LATIN = re.compile("[^\0-\u024f]+")
_RUN = re.compile(rf"[{_HAN}{_THAI}]")
_HAN_RUN = re.compile(rf"[{_HAN}]")
#: "one" is also an article
_HAN_NUMBERS = "二三四五六七八九十"
_GRAMMAR = re.compile(rf"[{_HIRAGANA}]")
#: what makes "GPT-4" and "1.18.0" one word
_INSIDE = re.compile(r"[-/.](?<=\w.)(?=\d)")
#: ASCII with one digit for all, and one sign for all that ``_INSIDE`` may match
_OUTLINE = bytes(
    ord("0" if chr(code).isdigit() else "-" if chr(code) in "-/." else " ")
    for code in range(256)
)
#: what is no letter and no digit, in ASCII
_BETWEEN = bytes(code for code in range(128) if not chr(code).isalnum())
#: how many tokens are known at most
WORDS_KEPT = 10_000
#: numbers that count lines, not what the lines say
_COUNTERS = re.compile(r"^\s*(?:step \S+ ?:|\d+[.)]\s)|\bstep \d+\b", re.I | re.M)
#: those that are of no step, in a text with a line break before it
_LISTED = re.compile(r"\n\s*\d+[.)]\s")

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


#: the first of the languages: their places are numbers
ENGLISH = "english"


@cache
def _function_words() -> dict[str, frozenset[str]]:
    """The function words of each language, English first."""
    names = sorted(AVAILABLE_LANGUAGES, key=lambda name: (name != ENGLISH, name))
    return {
        name: frozenset(_tokens(" ".join(get_stop_words(name)).lower()))
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


def _language(text: str, tokens: Iterable[str], foreign: bool) -> str:
    """The language that small words are most likely of.

    A few words may belong to any language; they are taken for English.

    Args:
        tokens: of the text.
        foreign: whether one of them is a word that only other languages have.
    """
    words: Iterable[str] = map(str.lower, tokens)
    if "\u0130" in text or "\u03a3" in text:  # whose small letters may need the text
        words = _tokens(text.lower())
    elif not foreign:
        return ENGLISH  # as no other language can have more of them
    known = filter(None, map(_languages_of().get, set(words)))
    counts = Counter(chain.from_iterable(known))
    best = max(sorted(counts), key=counts.__getitem__, default=0)
    return list(_function_words())[best if counts[best] > 1 else 0]


def _plainly(text: str) -> str:
    """With question marks for the usual dashes, quotes and dots."""
    if text.isascii():
        return text
    for sign in _PLAIN:
        text = text.replace(sign, "?")
    return text


def _uncounted(text: str) -> str:
    """Without numbers of lines; most texts have none, which is seen at once."""
    # Not all of "step", as its first letter has another form, which lower() keeps.
    if "tep " in text.lower() or _LISTED.search(f"\n{text}"):
        return _COUNTERS.sub(" ", text)
    return text


def _joined(text: str) -> str:
    """With "GPT-4" and "1.18.0" as one word; most texts have none, which is soon seen."""
    if text.isascii() and b"-0" not in text.encode().translate(_OUTLINE):
        return text
    return _INSIDE.sub("", text)


def _in_latin_1(text: str) -> bool:
    return text.isascii() or not _BEYOND_LATIN_1.search(text)


def _tokens(text: str) -> list[str]:
    if _in_latin_1(text):
        return text.encode("latin-1").translate(_LATIN_1).decode("latin-1").split()
    return (_TOKEN if _SPECIAL.search(text) else _LETTERS).findall(text)


@dataclass(slots=True)
class _Word:
    """What there is to know of a token, whatever text it stands in.

    Attributes:
        sound: in small Latin letters.
        decimal: true for a number.
        run: true for a run of a script without spaces.
        small: as function words are written; None if it never says anything, or is a
            run, whose pieces may.
        stem: of the sound.
        name: the sound, with a capital and in a script that has none.
        foreign: true if it is a function word, and not of English.
    """

    sound: str
    decimal: bool
    run: bool
    small: str | None
    stem: str
    name: str | None
    foreign: bool

    @classmethod
    def of(cls, token: str) -> "_Word":
        """Worked out; see ``_WORDS``."""
        sound, lower = anyascii(token).lower(), token.lower()
        languages = _languages_of()
        decimal = token.isdecimal()
        run, capital = bool(_RUN.match(token)), token[0].upper() == token[0]
        mute = decimal or len(sound) < 2 or _GRAMMAR.match(token) or sound in _GENERIC
        return cls(
            sound,
            decimal,
            run,
            None if mute or run else lower,
            stem(sound),
            sound if capital or token[0].isupper() else None,
            languages.get(lower, (0,))[0] > 0,
        )


class _Words(dict[str, _Word]):
    """The word of each token, worked out when it is first looked up."""

    def __missing__(self, token: str) -> _Word:
        if len(self) >= WORDS_KEPT:
            self.clear()
        return self.setdefault(token, _Word.of(token))


_WORDS = _Words()


@dataclass
class Terms:
    """What a text speaks of, in small Latin letters; several texts may share it.

    Attributes:
        words: beginnings of words, or pairs of signs, that mean something.
        names: words with a capital, and all words of a script that has none.
        numbers: digits.
        heard: all words.
        sound: runs of a script without spaces.
        language: what it is most likely written in, and whether in Latin letters.
    """

    words: Set[str]
    names: Set[str]
    numbers: Set[str]
    heard: list[_Word] = field(repr=False, compare=False)
    sound: str
    language: tuple[str, bool]

    def __len__(self) -> int:
        return len(self.words) + len(self.numbers)

    @cached_property
    def tokens(self) -> set[str]:
        """All words as they stand."""
        return {word.sound for word in self.heard}

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
        """The terms of a text; a summary is the old one of the next.

        It is then on one line, with single spaces, which changes nothing here but what
        counts lines.
        """
        return _kept(" ".join(_uncounted(_plainly(text)).split()))

    @classmethod
    def once(cls, text: str) -> "Terms":
        """The terms of a text that nobody will ask for again."""
        return _terms(_uncounted(_plainly(text)))

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
        return names, words - {stem(name) for name in names}


def _terms(text: str) -> Terms:
    """The terms of a text without numbers of lines."""
    text = _joined(text)
    found = _tokens(text)
    # Their order matters for runs only.
    different = set(found) if text.isascii() else dict.fromkeys(found)
    known = [*map(_WORDS.__getitem__, different)]
    foreign = [word for word in known if word.foreign]
    language = _language(text, different, bool(foreign))
    empty = _function_words()[language]
    words, names, numbers = set(), set(), set()
    for word in known:
        if word.decimal:
            numbers.add(word.sound)
        elif word.small and word.small not in empty:
            words.add(word.stem)
            if word.name:
                names.add(word.name)
    sound, latin = "", True
    if not _in_latin_1(text):
        latin = _mostly_latin(found)
        runs = [token for token in different if _WORDS[token].run]
        sound = " ".join([_WORDS[run].sound for run in runs])
        pieces = chain.from_iterable(map(_pieces, runs))
        words.update([piece for piece in pieces if piece not in empty])
        numbers.update([str(int(numeric(n))) for n in _HAN_NUMBERS if n in text])
    return Terms(words, names, numbers, known, sound, (language, latin))


#: kept, for whoever asks again
_kept = lru_cache(maxsize=1024)(_terms)


def _mostly_latin(tokens: Iterable[str]) -> bool:
    letters = "".join(filterfalse(str.isdecimal, tokens))
    return len(_BEYOND_LATIN.sub("", letters)) * 2 >= len(letters)


def _pieces(run: str) -> Iterable[str]:
    """What stands for the words of a script without spaces."""
    size = 2 if _HAN_RUN.match(run) else 4
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]


def stem(word: str) -> str:
    """The beginning of a word, which its forms have in common."""
    if not word.isalpha():
        return word
    return word[:5] if len(word) > 5 else word.removesuffix("s") or word


def _heard(name: str, text: Terms, other_script: bool) -> bool:
    """True if a name stands in a text, perhaps in another script or case."""
    if name in text.tokens or stem(name) in text.words:
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


@lru_cache(maxsize=1024)
def plain_words(text: str) -> tuple[str, ...]:
    """All words and numbers of a text, in order, in small Latin letters."""
    text = _plainly(text)
    if text.isascii():
        return tuple(_tokens(text.lower()))
    return tuple([_WORDS[token].sound for token in _tokens(text)])


@lru_cache(maxsize=1024)
def letters(text: str) -> str:
    """All ``plain_words`` of a text in one, which takes a quarter of the time."""
    text = _plainly(text)
    if text.isascii():
        return text.lower().encode().translate(None, _BETWEEN).decode()
    return "".join(plain_words(text))
