"""The rule for "a sentence states a text", by which holders of a text are counted.

The spread view, reports, the comparison of runs and ``metrics.holders`` all ask ``claim``.
"""

import threading
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder
from mesa_memory.runs.claims.clauses import (
    Clause,
    clauses,
    is_question,
    without_speaker,
)
from mesa_memory.runs.claims.contraries import CONTRARIES
from mesa_memory.runs.claims.mentions import (
    AGENT,
    FUNCTION_WORDS,
    Token,
    follower,
    is_name,
    label,
    tokens,
    without_numbers,
)
from mesa_memory.runs.claims.roles import Roles

#: similarity from which on a sentence counts, unless another one is chosen
MIN_SIMILARITY = 0.6
#: the same for one clause of a statement in the place of all
MIN_OF_CLAUSE = 0.8
#: what of the similarity is lost if the sentences as wholes have nothing in common
MEANING_SHARE = 0.3
#: cosine from which on two words mean the same
MIN_WORD_COSINE = 0.55
#: sentences whose judgement is kept
KEPT_JUDGEMENTS = 200_000


class Verdict(StrEnum):
    """The stance of a similar sentence to the text."""

    STATES = "states it"
    DENIES = "denies it"
    OPEN = "asks or wonders"
    OTHER = "other names or numbers"


class Judgement(NamedTuple):
    """The judgement of a sentence about a claim.

    Attributes:
        similarity: 0 to 1; 0.7 of it are the words and 0.3 the meaning.
        verdict: whether it states it, if the two are similar enough.
    """

    similarity: float
    verdict: Verdict

    def counts(self, least: float = MIN_SIMILARITY) -> bool:
        """True if the sentence states the text."""
        return self.verdict is Verdict.STATES and self.similarity >= least


@cache
def static() -> Embedder:
    """The embedder that comes with the package; it needs no network."""
    return embedder("static")


def has_words(text: str) -> bool:
    """True for a text that can be looked for."""
    return bool(tokens(without_speaker(text)))


@lru_cache(maxsize=512)
def claim(text: str) -> "Claim":
    """The claim that a text makes; see ``Claim``.

    Raises:
        ValueError: for a text without a word or number.
    """
    return Claim(text)


def is_telling(text: str) -> bool:
    """True for a statement that can be recognised: two words that tell something."""
    return not is_question(text) and _tells(text)


def _tells(text: str) -> bool:
    return len(_roots(text)) > 1


def _roots(text: str) -> set[str]:
    return {t.root for t in tokens(text) if t.word not in FUNCTION_WORDS}


def is_stated(text: str, said: Sequence[str]) -> bool:
    """True if one of some sentences states a text, or more surely one clause of it.

    A sentence that states it and takes it back has it: "Ann stole it, but that is a lie".

    Args:
        text: of one sentence, with a word or number.
        said: sentences of a memory; those without a word of the text do not count.
    """
    own = _roots(text)
    said = [each for each in said if not own.isdisjoint(_roots(each))]
    if text in "\n".join(said):
        return True
    said += [before for each in said if (before := _before_verdict(each))]
    parts = [part.text for part in clauses(without_speaker(text)) if _tells(part.text)]
    sought = dict.fromkeys(parts, MIN_OF_CLAUSE) | {text: MIN_SIMILARITY}
    return any(
        judgement.counts(least)
        for each, least in sought.items()
        for judgement in claim(each).judge(said)
    )


def _before_verdict(sentence: str) -> str:
    """The clauses before one that calls them false; empty without one."""
    parts = clauses(without_speaker(sentence))
    verdicts = (n for n, part in enumerate(parts) if part.judges and part.denied)
    return " ".join(part.text for part in parts[: next(verdicts, 0)])


class Claim:
    """A text that is looked for in the sentences of memories.

    A sentence states it if it has all of the text's names and numbers, the same stance
    (stated or denied) and like words. Names are words with a capital. A number belongs
    to the word before it: "Agent 1 sold 5 fish" is not "Agent 5 sold 1 fish". Speakers
    and steps at the beginning of a sentence ("Step 3: Agent 5 says: …") do not count. Of
    a sentence that names others, too, one clause must state the text alone.

    Half of the similarity in words is the last word with a meaning ("cheater" of "Agent
    1 is a cheater"), half the others. A word is there in any form, or by another with
    a cosine of at least 0.55; a word that means the contrary makes a denial.

    Args:
        text: of one sentence.
    """

    def __init__(self, text: str) -> None:
        self.text = without_speaker(text)
        said = tokens(self.text)
        if not said:
            raise ValueError(f"a text to look for must have words, got {text!r}")
        named = {n for n in range(len(said)) if is_name(said, n)}
        self._names = [said[n] for n in sorted(named)]
        self._numbers = _bound_numbers(said)
        telling = [
            token
            for n, token in enumerate(said)
            if not (n in named or token.number or token.word in FUNCTION_WORDS)
        ]
        if not (telling or named or self._numbers):
            telling = list(said)
        self._content = list({token.root: token.word for token in telling}.items())
        self._roles = Roles(said, dict(self._content))
        self._asks = is_question(self.text)
        self._seen: set[str] = set()
        self._cosines: dict[str, list[float]] = {}
        self._known: dict[str, Judgement] = {}
        self._judging = threading.Lock()
        own = clauses(self.text)
        self._own = own[self._place(own)]

    def said(self, sentence: str) -> str:
        """A sentence without its speaker, and with ``#`` for numbers the text lacks."""
        return without_numbers(without_speaker(sentence), self._numbers)

    def judge(self, sentences: Sequence[str]) -> list[Judgement]:
        """The judgement of each of these sentences, in order."""
        with self._judging:  # sessions of a dashboard share it
            new = [each for each in dict.fromkeys(sentences) if each not in self._known]
            if len(self._known) + len(new) > KEPT_JUDGEMENTS:
                self._known, new = {}, list(dict.fromkeys(sentences))
            said = {each: self.said(each) for each in new}
            judged = self._judged(list(dict.fromkeys(said.values())))
            self._known |= {each: judged[said[each]] for each in new}
            return [self._known[each] for each in sentences]

    def _judged(self, new: Sequence[str]) -> dict[str, Judgement]:
        """The judgements of sentences without speakers."""
        self._learn({token.word for each in new for token in tokens(each)})
        read = {each: self._read(each) for each in new}
        alike = self._meaning([each for each, (share, _) in read.items() if share])
        found = {}
        for each, (share, verdict) in read.items():
            weight = 1 - MEANING_SHARE + MEANING_SHARE * alike.get(each, 0.0)
            found[each] = Judgement(round(share * weight, 6), verdict)
        return found

    def _read(self, sentence: str) -> tuple[float, Verdict]:
        """The share of the words that a sentence has, and what it says of the text."""
        said = tokens(sentence)
        share = self._share(said)
        if not share or not self._has_names(said):
            return share, Verdict.OTHER
        if is_question(sentence) != self._asks:
            return share, Verdict.OPEN
        parts = clauses(sentence)
        place = self._place(parts)
        if self._roles.others(said):
            read = [(self._share(tokens(part.text)), n) for n, part in enumerate(parts)]
            own = [
                (has, n) for has, n in read if has and self._fits(tokens(parts[n].text))
            ]
            share, place = max(own, key=lambda each: each[0], default=(share, -1))
        elif not self._roles.agree(said):
            place = -1
        return share, self._stance(parts, place) if place >= 0 else Verdict.OTHER

    def _fits(self, said: Sequence[Token]) -> bool:
        return self._has_names(said) and self._roles.agree(said)

    def _has_names(self, said: Sequence[Token]) -> bool:
        """True for a sentence with all names and numbers, each beside the same words."""
        there = {token.word for token in said}
        roots = {token.root for token in said}
        for name in self._names:
            label = name.root in roots and name.root == AGENT
            if not (label or name.word in there or f"{name.word}s" in there):
                return False
        bound = _bound_numbers(said)
        return all(
            number in bound
            and not any(
                word not in bound[number]
                and any(word in other for other in bound.values())
                for word in beside
            )
            for number, beside in self._numbers.items()
        )

    def _stance(self, parts: Sequence[Clause], place: int) -> Verdict:
        """The stance of the clause at ``place``, and of later ones: "…, but that is false"."""
        said = parts[place]
        if said.open and not self._own.open:
            return Verdict.OPEN
        taken_back = any(
            part.judges and part.denied and not any(self._there(tokens(part.text)))
            for part in parts[place + 1 :]
        )
        contrary = self._content and self._there(tokens(said.text))[-1] < 0
        denied = said.denied ^ taken_back ^ bool(contrary)
        return Verdict.STATES if denied == self._own.denied else Verdict.DENIES

    def _place(self, parts: Sequence[Clause]) -> int:
        """The place of the clause with the last telling word of the text, or most others."""
        there = [self._there(tokens(part.text)) for part in parts]
        ranks = [
            (abs(has[-1]), sum(map(abs, has))) if has else (0.0, 0.0) for has in there
        ]
        return max(
            range(len(parts)), key=lambda n: (*ranks[n], n if self._content else -n)
        )

    def _share(self, said: Sequence[Token]) -> float:
        """The share of the telling words that are there, from 0 to 1."""
        if not self._content:
            return 1.0
        *others, last = self._there(said)
        rest = (
            sum(max(each, 0.0) for each in others) / len(others)
            if others
            else abs(last)
        )
        return (abs(last) + rest) / 2

    def _there(self, said: Sequence[Token]) -> list[float]:
        """For each telling word 1 if it is there, its likeness to another, or -1."""
        roots = {token.root for token in said}
        found = []
        for n, (root, _) in enumerate(self._content):
            if root in roots:
                found.append(1.0)
            elif not roots.isdisjoint(CONTRARIES.get(root, ())):
                found.append(-1.0)
            else:
                near = [c[n] for t in said if (c := self._cosines.get(t.word))]
                found.append(max(near, default=0.0))
        return found

    def _learn(self, words: Iterable[str]) -> None:
        """Embeds words that are new, and keeps those with a meaning like a telling one."""
        new = sorted({word for word in words if word.isalpha()} - self._seen)
        self._seen.update(new)
        if new and self._content:
            own = static().embed([word for _, word in self._content])
            cosines = static().embed(new) @ own.T
            cosines[cosines < MIN_WORD_COSINE] = 0
            for place in np.flatnonzero(cosines.any(axis=1)):
                self._cosines[new[place]] = cosines[place].tolist()

    def _meaning(self, sentences: Sequence[str]) -> dict[str, float]:
        """Cosines of sentences to the text, 0 to 1."""
        if not sentences:
            return {}
        near = static().embed(sentences) @ static().embed([self.text])[0]
        return dict(zip(sentences, np.clip(near, 0, 1).tolist()))


def _bound_numbers(said: Sequence[Token]) -> dict[str, set[str]]:
    """The numbers of a sentence, each with the words before and after it."""
    found: dict[str, set[str]] = {}
    for n, token in enumerate(said):
        if token.number:
            beside = {f"{label(said, n)} _", f"_ {follower(said, n)}"}
            found.setdefault(token.number, set()).update(beside - {" _", "_ "})
    return found
