"""The terms of a text, and whether a summary shares those of its events.

Terms are names, numbers and words with a meaning. Names are compared by their sound in
Latin letters, so that Анна is Anna; summaries may be in another language than the events.

A greeting, a refusal or an error is refused. Every other reply is used. A summary is
doubtful if it shares nothing with the events, repeats or drops the summary before it,
tells almost only one of several events, or keeps none of several numbers.
"""

import re
from collections.abc import Iterable, Sequence, Set
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from typing import NamedTuple
from unicodedata import numeric

from anyascii import anyascii
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from mesa_memory.core.text.replies import Unusable, is_json, speaks_to_user
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS
from mesa_memory.tasks.base import Inputs, vocabulary_of

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
#: ASCII with spaces for all but letters and digits; other signs stay as they are
_PARTED = "".join(char if char.isalnum() else " " for char in map(chr, range(128)))
_BEYOND_LATIN = re.compile("[^\0-\u024f]+")
_RUN = re.compile(rf"[{_HAN}{_THAI}]")
_HAN_RUN = re.compile(rf"[{_HAN}]")
#: "one" is also an article
_HAN_NUMBERS = "二三四五六七八九十"
_GRAMMAR = re.compile(rf"[{_HIRAGANA}]")
#: the sign that makes "GPT-4" and "1.18.0" one word
_INSIDE = re.compile(r"[-/.](?<=\w.)(?=\d)")
#: numbers that count lines, not what the lines say, and what stands before them; patterns
#: that begin with a sign are found sooner than those that begin with a condition
_LISTED = re.compile(r"\n\s*(?:step \S+ ?:|\d+[.)](?=\s))", re.IGNORECASE)
_STEPS = re.compile(r"[sS](?<!\w.)(?i:tep) \d+\b")
#: the usual signs beyond ASCII; a text without others is read faster
_SIGNS = "–—‘’“”•…"

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
        name: frozenset(_tokens(" ".join(get_stop_words(name)).lower()))
        for name in names
    }


@cache
def _languages() -> tuple[str, ...]:
    return tuple(_function_words())


@cache
def _languages_of() -> dict[str, list[int]]:
    """The languages in which a word is a function word, as numbers; 0 is English."""
    found: dict[str, list[int]] = {}
    for number, words in enumerate(_function_words().values()):
        for word in words:
            found.setdefault(word, []).append(number)
    return found


def _language(words: Set[str]) -> str:
    """The language with most of these words, in small letters, among its function words.

    A few words may belong to any language; they are taken for English.
    """
    known, counts = _languages_of(), dict[int, int]()
    for word in words:
        for number in known.get(word, ()):
            counts[number] = counts.get(number, 0) + 1
    several = [number for number, count in counts.items() if count > 1]
    best = min(several, key=lambda number: (-counts[number], number), default=0)
    return _languages()[best]


def _tokens(text: str) -> list[str]:
    """The words and numbers of a text, in order."""
    parts = text.translate(_PARTED).split()
    if text.isascii():
        return parts
    found: list[str] = []
    for part in parts:
        found += [part] if part.isascii() else _TOKEN.findall(part)
    return found


class _Word(NamedTuple):
    """A token, independent of the text around it.

    Attributes:
        small: the token in small letters.
        sound: in small Latin letters.
        stem: of the sound; empty for a number, a run, and a word about the task.
        sure: its term in a text of any language; empty for function words of one.
        is_number: True for digits.
        is_run: True for a run of a script without spaces.
        is_name: True with a capital, and in a script without capitals.
    """

    small: str
    sound: str
    stem: str
    sure: str
    is_number: bool
    is_run: bool
    is_name: bool


@lru_cache(maxsize=10_000)
def _word(token: str) -> _Word:
    small, sound, number = token.lower(), anyascii(token).lower(), token.isdecimal()
    run = bool(_RUN.match(token))
    empty = number or run or len(sound) < 2 or sound in _GENERIC
    cut = "" if empty or _GRAMMAR.match(token) else stem(sound)
    sure = sound if number else "" if small in _languages_of() else cut
    is_name = token[0].upper() == token[0]
    return _Word(small, sound, cut, sure, number, run, is_name)


class Terms:
    """The terms of a text, in small Latin letters; each kind is found on first use.

    Attributes:
        text: without the numbers that count its lines.
    """

    def __init__(self, text: str) -> None:
        for sign in _SIGNS:
            text = text.replace(sign, "*")
        text = _STEPS.sub(" ", _LISTED.sub(" ", f"\n{text}"))
        self.text = _INSIDE.sub("", text)
        self._words = [*map(_word, dict.fromkeys(_tokens(self.text)))]

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(text: str) -> "Terms":
        """The terms of a text, made once."""
        return Terms(text)

    def __len__(self) -> int:
        return len(self.words) + len(self.numbers)

    @cached_property
    def sure(self) -> set[str]:
        """The words and numbers that are terms in a text of any language."""
        return {word.sure for word in self._words} - {""}

    @cached_property
    def possible(self) -> set[str]:
        """The words and numbers that may be terms, by the language of the text."""
        return {word.stem or word.sound for word in self._words}

    @cached_property
    def language(self) -> tuple[str, bool]:
        """The most likely language, and whether the text has Latin letters."""
        language = _language({word.small for word in self._words})
        return language, self.text.isascii() or _is_mostly_latin(self._words)

    @cached_property
    def _telling(self) -> list[_Word]:
        empty = _function_words()[self.language[0]]
        return [word for word in self._words if word.stem and word.small not in empty]

    @cached_property
    def words(self) -> set[str]:
        """The beginnings of words, or pairs of signs, with a meaning."""
        runs = [word.small for word in self._words if word.is_run]
        pieces = {piece for run in runs for piece in _pieces(run)}
        empty = _function_words()[self.language[0]]
        return {word.stem for word in self._telling} | (pieces - empty)

    @cached_property
    def names(self) -> set[str]:
        """The words with a capital, and all words of a script without capitals."""
        return {word.sound for word in self._telling if word.is_name}

    @cached_property
    def numbers(self) -> set[str]:
        """The digits of numbers."""
        numbers = {word.sound for word in self._words if word.is_number}
        if not self.text.isascii():
            numbers |= {str(int(numeric(n))) for n in _HAN_NUMBERS if n in self.text}
        return numbers

    @cached_property
    def tokens(self) -> set[str]:
        """All words as they stand."""
        return {word.sound for word in self._words}

    @cached_property
    def sound(self) -> str:
        """The runs of a script without spaces."""
        return " ".join(word.sound for word in self._words if word.is_run)

    @cached_property
    def _names_by_start(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(name[:2], []).append(name)
        return found

    def without(self, other: "Terms") -> "Terms":
        """The terms that ``other`` does not have."""
        rest = Terms.__new__(Terms)
        vars(rest).update(vars(self))
        rest.words, rest.names = self.words - other.words, self.names - other.names
        rest.numbers = self.numbers - other.numbers
        return rest

    def shared(self, source: "Terms") -> set[str]:
        """The names, words and numbers that come from ``source``."""
        other_script = self.language[1] != source.language[1]
        names = {name for name in source.names if self._has(name, other_script)}
        if source.sound:
            names |= {n for n in self.names if len(n) >= 3 and n in source.sound}
        words = (self.words & source.words) | (self.numbers & source.numbers)
        return names | (words - set(map(stem, names)))

    def _has(self, name: str, other_script: bool) -> bool:
        """True if a name stands in the text, perhaps in another script or case."""
        if name in self.tokens or stem(name) in self.words:
            return True
        if len(name) < 3:
            return False
        if name in self.sound:
            return True
        begins = name[: max(3, len(name) - 1)]
        for other in self._names_by_start.get(name[:2], ()):
            if other.startswith(begins) and abs(len(other) - len(name)) <= 3:
                return True
            if other_script and _sounds_alike(name, other):
                return True
        return False


def _is_mostly_latin(words: Iterable[_Word]) -> bool:
    signs = "".join([word.small for word in words if not word.is_number])
    return len(_BEYOND_LATIN.sub("", signs)) * 2 >= len(signs)


def _pieces(run: str) -> Iterable[str]:
    """The parts of a run that are compared in place of words."""
    size = 2 if _HAN_RUN.match(run) else 4
    return [run[i : i + size] for i in range(len(run) - size + 1)] or [run]


def stem(word: str) -> str:
    """The beginning of a word, which its forms have in common."""
    if not word.isalpha():
        return word
    return word[:5] if len(word) > 5 else word.removesuffix("s") or word


def _sounds_alike(name: str, other: str) -> bool:
    """True for two forms of a name in two scripts, such as Petr and Peter."""
    if min(len(name), len(other)) < 4 or abs(len(other) - len(name)) > 2:
        return False
    return SequenceMatcher(None, name, other, autojunk=False).ratio() >= 0.75


@lru_cache(maxsize=1024)
def plain_words(text: str) -> tuple[str, ...]:
    """All words and numbers of a text, in order, in small Latin letters."""
    return tuple(_word(token).sound for token in _tokens(text))


#: words of a line's form, which tell nothing of its contents
FORM_WORDS = frozenset(
    ["step", "says", "agent", "message", "observation", "action", "concluded"]
)
_STEP_PREFIX = re.compile(r"^step \S+: ", re.IGNORECASE | re.MULTILINE)


def stems(text: str) -> set[str]:
    """The beginnings of the words of a text; function words only without others."""
    words = plain_words(_STEP_PREFIX.sub("", text))
    form = ENGLISH_WORDS.stop_words | FORM_WORDS
    telling = {stem(w) for w in words if w not in form}
    return telling or set(words)


def share(phrase: str, text: str) -> float:
    """The share of a phrase's words that a text contains, from 0 to 1.

    Words are compared by their beginnings, in Latin letters.
    """
    words, there = stems(phrase), stems(text)
    # A script without spaces has no words: its sounds are looked for as they stand.
    sound = "" if phrase.isascii() else "".join(plain_words(text))
    found = [word for word in words if word in there or word in sound]
    return len(found) / len(words) if words else 0.0


def supports(line: str, text: str) -> bool:
    """True if a line shares a word with a text, or if the two cannot be compared.

    Texts of different languages cannot be compared, and texts without words.
    """
    if Terms.of(line).language != Terms.of(text).language:
        return True
    return not stems(line) or not stems(text) or share(text, line) > 0


# -- summaries -------------------------------------------------------------------------


#: the new summary keeps at least one term in this many of the old one …
KEEP_ONE_OF = 10
#: … but need not keep more than this many
KEEP_AT_MOST = 5
#: an event is told clearly with this many terms that no other one has, or word for word
CLEAR_TERMS = 2
#: length in characters from which a summary has had to choose what to tell
FULL_CHARS = 1000
#: one event of several is almost all that is told from this share, and number, of terms
ONE_SHARE, ONE_SHARE_OF_TWO, ONE_TERMS = 0.6, 0.8, 3

NOTHING_SHARED = "shares no name, number or word with the events"
REPEATED = "adds nothing of the events to the summary before it"
DROPPED = "drops the content of the summary before it"
ONE_EVENT = "tells one of several events"
NO_NUMBER = "keeps none of several numbers"

#: longest line of an exchange of two that may be told as one event, in characters
SHORT_CHARS = 160
#: between a speaker, or the name of a deed, and what was said or done
_COLON = re.compile(r" ?: |：")
#: an agent without a name; it, and what is in brackets, such as places
_AGENT = r"\bAgent \S+"
_NO_MATTER = re.compile(rf"{_AGENT}|[(\[（].*?[)\]）]")
_NUMBER, _DIGITS = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\d+")


def check_summary(text: str, inputs: Inputs) -> None:
    """Refuses a greeting, a refusal and an error in the place of a summary.

    Args:
        inputs: ``lines`` (step, line) of the events.

    Raises:
        Unusable: worded for the model that wrote it.
    """
    if is_json(text):
        raise Unusable("json text")
    new, events = Terms.of(text), [*map(Terms.of, _said(inputs))]
    if max([len(new.sure & event.sure) for event in events], default=0) > 1:
        return
    if not speaks_to_user(text):
        return
    if len(set().union(*map(new.shared, events))) <= 1:
        raise Unusable("no summary")


def doubt_of(text: str, inputs: Inputs) -> str:
    """Why a summary is doubtful; empty if it is not.

    Args:
        inputs: ``lines`` (step, line) of the events, ``max_chars``; if there is one,
            ``summary``, the one before; of a conversation, names of the ``others``.
    """
    lines, known = _said(inputs), inputs.get("summary", "")
    if "others" in inputs and not any(len(Terms.of(_speech(line))) for line in lines):
        return ""  # small talk
    new, old, events = Terms.of(text), Terms.of(known), [*map(Terms.of, lines)]
    if not _is_clear(new, old, events):
        sources = [*events, Terms.of(inputs.get("others", ""))]
        if known and new.tokens == old.tokens:
            full = len(known) >= min(FULL_CHARS, inputs["max_chars"] // 2)
            adds = any(len(source.without(old)) for source in sources)
            return REPEATED if adds and not full else ""
        if _drops(new, old):
            return DROPPED
        shared = [new.shared(source) for source in sources]
        if not any(shared):
            return REPEATED if len(old) else NOTHING_SHARED
        if not _one_exchange(lines) and _tells_one(new, events, shared[:-1]):
            return ONE_EVENT
    return NO_NUMBER if _drops_numbers(text, lines, inputs) else ""


def _is_clear(new: Terms, old: Terms, events: Sequence[Terms]) -> bool:
    """True for a summary that tells most of the events, and keeps the one before.

    No other check but that of numbers would find it doubtful, and this one needs no
    language of a text.
    """
    said, kept = new.sure, new.sure & old.sure
    if len({*events}) < len(events):
        return False
    if old.text and (len(kept) < KEEP_AT_MOST or len(kept) == len(said)):
        return False
    clear = 0
    for event in events:
        rest = [other.possible for other in events if other is not event]
        own = (said & event.sure).difference(*rest)
        clear += len(own) >= CLEAR_TERMS or bool(own and event.tokens <= new.tokens)
    return 2 * (clear - 1) >= len(events) - 1 and clear > 0


def _drops(new: Terms, old: Terms) -> bool:
    """True if a summary has lost the one before it."""
    if not len(old):
        return False
    need = min(KEEP_AT_MOST, len(old) // KEEP_ONE_OF, len(new) // 4)
    if new.language != old.language:
        need = 1
    return len(new.shared(old)) < max(1, need)


def _tells_one(new: Terms, events: Sequence[Terms], shared: Sequence[set[str]]) -> bool:
    """True if a summary of several events covers almost only one of them.

    Args:
        shared: of each event, what the summary has of it.
    """
    best = events[max(range(len(events)), key=lambda n: len(shared[n]))]
    others = [event.without(best) for event in events if event is not best]
    others = [event for event in others if len(event)]
    told = [len(new.shared(event)) for event in others]
    if not any(told):
        return bool(others)
    well = sum(n >= min(2, len(event)) for n, event in zip(told, others, strict=True))
    if 2 * well >= len(others):
        return False
    rest = [event for event in events if event is not best]
    common = set().union(*(e.words | e.names | e.numbers for e in rest))
    every = set().union(*shared)
    own = len(every - common)
    limit = ONE_SHARE if len(others) > 1 else ONE_SHARE_OF_TWO
    return own >= ONE_TERMS and own >= limit * len(every)


def _one_exchange(lines: Sequence[str]) -> bool:
    """True for two short lines of which each speaker is named in the other one."""
    if len(lines) != 2 or max(map(len, lines)) > SHORT_CHARS:
        return False
    (one, *said), (other, *answer) = (_COLON.split(line, maxsplit=1) for line in lines)
    speakers = [plain_words(head)[:1] for head in (one, other)]
    named = {*plain_words(one)} & {*plain_words(other)}
    return bool(said and answer and speakers[0] != speakers[1]) and all(
        named.issuperset(who) for who in speakers
    )


def _drops_numbers(text: str, lines: Sequence[str], inputs: Inputs) -> bool:
    """True if the events tell several numbers and a summary keeps not one."""
    told = set().union(*map(_numbers, lines))
    if len(told) < 2:
        return False
    # 4.20 may be told as 4,2.
    parts = {part for number in told for part in _DIGITS.findall(number)}
    known = _digits_or_steps(vocabulary_of(inputs).steps.pattern)
    return parts.isdisjoint(known.findall(text))


@lru_cache(maxsize=1024)
def _numbers(line: str) -> frozenset[str]:
    """The numbers that a line of an event tells."""
    return frozenset(_NUMBER.findall(_NO_MATTER.sub(" ", _speech(line))))


@cache
def _digits_or_steps(steps: str) -> re.Pattern[str]:
    """Finds the numbers of a text, in group 1, and agents and steps without a group."""
    return re.compile(rf"{_AGENT}|(?:{steps})\d*|(\d+)", re.IGNORECASE)


def _said(inputs: Inputs) -> list[str]:
    """The lines of the events, without the kind of event that some begin with."""
    return [_line(line) for _, line in inputs["lines"]]


def _line(line: str) -> str:
    kind, colon, rest = line.partition(": ")
    return rest if colon and kind.isidentifier() else line


def _speech(line: str) -> str:
    """The words of a line, without the speaker."""
    return _COLON.split(line, maxsplit=1)[-1]
