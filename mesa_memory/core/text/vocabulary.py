"""The words of a language by which texts are searched, and rules read them.

``mesa_memory/prompts/<language>/words.toml`` has them:

- ``stop_words``: words that tell nothing of a subject, with those of ``list``, a list of
  the package ``stop-words``, but for its words that do tell a subject, ``subjects``;
- ``stemmer``: the Snowball stemmer; empty in a language without spaces, whose words are
  compared by their pairs of characters;
- ``step``, a pattern of a step that is asked for, with its number as its group, and
  ``steps``, one of all that are named; ``now``, phrases for the present; ``before``, phrases for the end of a time, and ``event_first``,
  true if the event that ended it comes before them;
- ``cues`` of an event to remember, ``friendly`` and ``hostile`` words, ``addressed``,
  words of a sentence that is said to those who hear it, ``negations``, and ``dealings``,
  words of all dealings between people.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import Stemmer
from stop_words import get_stop_words

from mesa_memory.core.prompt_files import FIRST_LANGUAGE, FOLDER
from mesa_memory.core.text.naming import folded

#: lists of words, each written as one text
_LISTS = ("stop_words", "cues", "friendly", "hostile", "addressed", "negations")
#: letters and digits; a pictogram is a word of its own
_WORD = re.compile(r"[^\W_]+|[\u2600-\u27bf\U0001f000-\U0001faff]")
_LATIN_END = "\u0250"
#: longer words are taken as they come and not kept in the cache
CACHED_WORD_CHARS = 50


class Vocabulary:
    """The words of one language.

    Attributes:
        language: such as ``"en"``.
        spaced: whether spaces part its words.
        stop_words, cues, friendly, hostile, addressed, negations: words in the form in
            which they are compared.
        dealings: terms of words that tell nothing of whom they are said.
        step: finds a step that is asked for, with its number as its group.
        steps: finds every step that is named.
        now, before: find a phrase for the present, or for the end of a time.
        event_first: whether the event that ended a time comes before the phrase.
    """

    def __init__(self, language: str, table: dict[str, Any]) -> None:
        self.language = language
        self._stemmer = Stemmer.Stemmer(table["stemmer"]) if table["stemmer"] else None
        self.spaced = self._stemmer is not None
        lists = {name: frozenset(words(table[name])) for name in _LISTS}
        if table["list"]:
            listed = frozenset(words(" ".join(get_stop_words(table["list"]))))
            lists["stop_words"] |= listed - frozenset(words(table["subjects"]))
        self.stop_words, self.cues = lists["stop_words"], lists["cues"]
        self.friendly, self.hostile = lists["friendly"], lists["hostile"]
        self.addressed, self.negations = lists["addressed"], lists["negations"]
        self.step = re.compile(table["step"], re.IGNORECASE)
        self.steps = re.compile(table["steps"], re.IGNORECASE)
        self.now, self.before = (self._any(table[n]) for n in ("now", "before"))
        self.event_first: bool = table["event_first"]
        self._known_stems = lru_cache(maxsize=100_000)(self._stems)
        self.dealings = frozenset(self.terms(table["dealings"]))

    def __reduce__(self) -> tuple:
        return vocabulary, (self.language,)

    def stems(self, word: str) -> tuple[str, ...]:
        """The terms of a word: its stem; nothing for a function word.

        A word in another script than the Latin one may be a sentence in a script without
        spaces: it also counts by its pairs of characters.
        """
        known = len(word) <= CACHED_WORD_CHARS
        return self._known_stems(word) if known else self._stems(word)

    def terms(self, said: str | Sequence[str]) -> list[str]:
        """The terms of a text, or of the words and numbers in it, in order."""
        found = words(said) if isinstance(said, str) else said
        if max(map(len, found), default=0) > CACHED_WORD_CHARS:
            return list(chain.from_iterable(map(self.stems, found)))
        return list(chain.from_iterable(map(self._known_stems, found)))

    def _stems(self, word: str) -> tuple[str, ...]:
        if word in self.stop_words:
            return ()
        if word < _LATIN_END and max(word) < _LATIN_END:
            return (self._stemmer.stemWord(word) if self._stemmer else word,)
        pairs = [word[i : i + 2] for i in range(len(word) - 1)]
        return (word, *pairs) if len(word) > 2 else (word,)

    def count(self, cues: frozenset[str], said: Iterable[str]) -> int:
        """Number of cues among the words of a text, each counted once."""
        if self.spaced:
            return len(cues.intersection(said))
        text = " ".join(said)
        return sum(cue in text for cue in cues)

    def _any(self, phrases: list[str]) -> re.Pattern[str]:
        told = sorted(map(re.escape, phrases), key=len, reverse=True)
        either = "|".join(told)
        return re.compile(
            rf"\b(?:{either})\b" if self.spaced else either, re.IGNORECASE
        )


def words(text: str) -> list[str]:
    """The words, numbers and pictograms in ``text``, lower-cased, in order."""
    return _WORD.findall(folded(text))


def spans(text: str) -> list[tuple[int, int]]:
    """The spans of the words, numbers and pictograms in ``text``."""
    return [found.span() for found in _WORD.finditer(text)]


@cache
def vocabulary(language: str) -> Vocabulary:
    """The vocabulary of one of ``wording.languages()``."""
    table = (FOLDER / language / "words.toml").read_text(encoding="utf-8")
    return Vocabulary(language, tomllib.loads(table))


#: what texts are read by if nothing else was chosen
ENGLISH_WORDS = vocabulary(FIRST_LANGUAGE)
