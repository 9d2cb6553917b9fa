"""Holders of memories like a text, step by step."""

import re
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from mesa_memory.retrieval.bm25 import terms, words
from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.runs import Run
from mesa_memory.viz.data.spread.corpus import Corpus, corpus, static

#: share of the words in what counts as similar; the rest is the meaning
WORDS_SHARE = 0.5
#: most words of a query that are looked for
QUERY_WORDS = 24
#: similarity from which on a text counts, unless somebody chooses another one
MIN_SIMILARITY = 0.6
#: groups of sentences that are listed
NEAREST_GROUPS = 200

_known: weakref.WeakKeyDictionary[Run, Corpus] = weakref.WeakKeyDictionary()
_reading = threading.Lock()


@dataclass(frozen=True)
class Criteria:
    """The sentences that count.

    Attributes:
        least: similarity, 0 to 1, from which on a sentence counts.
        kind: of record; None is all.
        marks: groups of sentences that count, or do not, at any similarity, as they
            stand in an address: ``+key`` counts, ``-key`` does not.
    """

    least: float = MIN_SIMILARITY
    kind: str | None = None
    marks: str = ""

    @cached_property
    def ticks(self) -> dict[str, bool]:
        """True for each group that counts, by its key; other words in ``marks`` are left out."""
        found = re.finditer(r"([+-])([0-9a-f]{8})", self.marks)
        return {match[2]: match[1] == "+" for match in found}


USUAL = Criteria()


def written(ticks: Mapping[str, bool]) -> str:
    """The ``marks`` of ticks."""
    return "".join(f"{'+' if on else '-'}{key}" for key, on in sorted(ticks.items()))


@dataclass(frozen=True)
class Found:
    """Similarities of all texts of a run to one.

    Attributes:
        corpus: the texts.
        similarity: shape (texts,), from 0 to 1; see ``found``.
        pieces: the same of their sentences, shape (pieces,).
    """

    corpus: Corpus
    similarity: np.ndarray
    pieces: np.ndarray


@dataclass(frozen=True)
class HoldingCounts:
    """Holders of memories like the text.

    Attributes:
        agents, steps: unique ids, and the finished steps.
        counts: shape (agents, steps), how many such records each held at the end of
            each step.
    """

    agents: list[Any]
    steps: list[float]
    counts: np.ndarray

    @property
    def holders(self) -> list[int]:
        """Number of holders at each step."""
        return (self.counts > 0).sum(axis=0).tolist()

    @property
    def reached(self) -> list[int]:
        """Number of agents that were holders by each step."""
        return (np.maximum.accumulate(self.counts, axis=1) > 0).sum(axis=0).tolist()

    @property
    def order(self) -> list[int]:
        """Places of the agents, those who held one first at the beginning."""
        ever = self.counts.any(axis=1)
        first = np.where(ever, (self.counts > 0).argmax(axis=1), self.counts.shape[1])
        return np.argsort(first, kind="stable").tolist()


def found(run: Run, text: str, unlike: str = "") -> Found:
    """Similarities of all texts of a run to one; see ``compared``."""
    return compared(run, text, unlike)[0]


def compared(run: Run, text: str, unlike: str = "") -> tuple[Found, Found | None]:
    """Similarities of all texts of a run to one, and to another that is not meant.

    The similarity of a sentence is half the cosine of the embeddings, and half the
    share of the text's words that are in it, rare words counting more, as in BM25
    (function words do not count). A longer text has the similarity of its best sentence.

    Args:
        run: its texts are read once, and then only what is new.
        text: what is looked for.
        unlike: a text that is not meant, such as the denial of a rumour. A sentence
            counts only for the more similar one of the two texts.

    Returns:
        The similarities to ``text``, and those to ``unlike``; None without it.

    Raises:
        ValueError: for a blank text.
    """
    if not text.strip():
        raise ValueError(f"a text to look for must have words, got {text!r}")
    with _reading:
        held = _known[run] = corpus(run, _known.get(run))
    meant = _similarity(held, text)
    if not unlike.strip():
        return _found(held, meant), None
    other = _similarity(held, unlike)
    return (
        _found(held, np.where(other < meant, meant, 0)),
        _found(held, np.where(meant < other, other, 0)),
    )


def _found(held: Corpus, pieces: np.ndarray) -> Found:
    similar = pd.Series(pieces[held.parts["piece"]], dtype=np.float32)
    return Found(held, similar.groupby(held.parts["text"]).max().to_numpy(), pieces)


def _similarity(held: Corpus, text: str) -> np.ndarray:
    """Of each sentence to a text."""
    near = held.vectors.astype(np.float32) @ static().embed([text])[0]
    meaning, common = np.clip(near, 0, 1), _words_in_common(held.pieces, text)
    if common is None:
        return meaning
    return (1 - WORDS_SHARE) * meaning + WORDS_SHARE * common


def _words_in_common(pieces: Sequence[str], text: str) -> np.ndarray | None:
    """The share of the words that is in each piece; None without such words."""
    wanted = [word for word in dict.fromkeys(words(text)) if word not in STOP_WORDS]
    patterns = list(dict.fromkeys(_pattern(word) for word in wanted))[:QUERY_WORDS]
    if not patterns:
        return None
    lowered = [piece.lower() for piece in pieces]
    total, whole = np.zeros(len(pieces)), 0.0
    for pattern in patterns:
        search = re.compile(pattern).search
        has = np.array([search(piece) is not None for piece in lowered])
        rarity = np.log1p(len(pieces) / (1 + has.sum()))
        total += has * rarity
        whole += rarity
    return total / whole


def _pattern(word: str) -> str:
    """A pattern for all forms of a word, in lower case."""
    stem = terms(word)[0]
    pairs = enumerate(zip(word, stem))
    common = next((n for n, (a, b) in pairs if a != b), min(len(word), len(stem)))
    beginning = re.escape(word[:common] or word)
    # A script without spaces has words within words.
    return rf"\b{beginning}" if word.isascii() else beginning


def holding(found: Found, criteria: Criteria = USUAL) -> HoldingCounts:
    """Holders of a record that counts, at the end of each step."""
    held = found.corpus
    times, lives = np.array(held.steps), held.lives[matching(found, criteria)]
    changes = np.zeros((len(held.agents), len(times) + 1), dtype=np.int32)
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_from"])), 1)
    # NaN, which is later than all, has no end among the steps.
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_to"])), -1)
    return HoldingCounts(held.agents, held.steps, changes[:, :-1].cumsum(axis=1))


def similarities(found: Found) -> np.ndarray:
    """That of each group: of its most similar sentence, shape (groups,)."""
    return pd.Series(found.pieces).groupby(found.corpus.group_of).max().to_numpy()


def matching(found: Found, criteria: Criteria) -> np.ndarray:
    """Mask of the lives that count, shape (lives,)."""
    held = found.corpus
    counts = found.pieces >= criteria.least
    for group, key in enumerate(held.keys):
        if key in criteria.ticks:
            counts[held.group_of == group] = criteria.ticks[key]
    texts = pd.Series(counts[held.parts["piece"]]).groupby(held.parts["text"]).any()
    return texts.to_numpy()[held.lives["text"]] & _of_kind(held, criteria)


def _of_kind(held: Corpus, criteria: Criteria) -> np.ndarray:
    kinds = held.lives["kind"].to_numpy()
    return (
        np.full(len(kinds), True) if criteria.kind is None else kinds == criteria.kind
    )


def holders(
    found: Found, step: float, criteria: Criteria = USUAL
) -> list[dict[str, Any]]:
    """Holders of such a record at the end of a step, in order of the agents.

    Each has ``agent``, ``records`` (how many), and of the most similar of them, the
    oldest if there are several: ``kind``, ``text``, ``similarity`` and ``since``.
    """
    held = found.corpus
    lives = held.lives[matching(found, criteria)]
    # Not (valid_to <= step), so that NaN, which is no end, counts.
    lives = lives[(lives["valid_from"] <= step) & ~(lives["valid_to"] <= step)]
    lives = lives.assign(similarity=found.similarity[lives["text"]])
    lives = lives.sort_values(["similarity", "seq"], ascending=[False, True])
    records = lives["agent"].value_counts()
    best = lives.drop_duplicates("agent").sort_values("agent")
    return [
        {
            "agent": held.agents[row["agent"]],
            "records": int(records[row["agent"]]),
            "since": row["valid_from"],
            "kind": row["kind"],
            "similarity": round(row["similarity"], 3),
            "text": held.texts[row["text"]],
        }
        for row in best.to_dict("records")
    ]


def nearest(found: Found, criteria: Criteria = USUAL) -> list[dict[str, Any]]:
    """The most similar groups of sentences of the run, best first.

    Each has ``similarity``, ``counts`` (if it is similar enough, or ticked), ``agents``
    (how many ever had it), ``first`` (step), ``text`` and ``key`` of the group.
    """
    held, best, keys = found.corpus, similarities(found), found.corpus.keys
    used = held.lives[_of_kind(held, criteria)].merge(held.parts, on="text")
    rows = used.groupby(held.group_of[used["piece"]]).agg(
        agents=("agent", "nunique"), first=("valid_from", "min")
    )
    rows["similarity"] = best[rows.index]
    rows = rows.sort_values("similarity", ascending=False, kind="stable")
    rows = rows[:NEAREST_GROUPS]
    rows["text"] = [held.groups[n] for n in rows.index]
    rows["key"] = [keys[n] for n in rows.index]
    rows["counts"] = [
        criteria.ticks.get(key, near >= criteria.least)
        for key, near in zip(rows["key"], rows["similarity"].tolist())
    ]
    rows["similarity"] = rows["similarity"].clip(0).astype(float).round(3)
    return [{str(name): row[name] for name in row} for row in rows.to_dict("records")]
