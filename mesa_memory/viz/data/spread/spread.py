"""Holders of memories like a text, step by step."""

import re
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from mesa_memory.retrieval.bm25 import terms, words
from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.runs import Run
from mesa_memory.viz.data.spread.corpus import Corpus, corpus, static
from mesa_memory.viz.data.spread.groups import Groups, Ticks

#: share of the words in what counts as similar; the rest is the meaning
WORDS_SHARE = 0.5
#: most words of a query that are looked for
QUERY_WORDS = 24
#: similarity from which on a text counts, unless somebody chooses another one
MIN_SIMILARITY = 0.6
NO_TICKS: Ticks = MappingProxyType({})
#: sentences that are compared at a time, in single precision
BLOCK_SENTENCES = 16_384

#: the similarities of no text
_NOTHING = np.zeros(0, dtype=np.float32)

_known: weakref.WeakKeyDictionary[Run, Corpus] = weakref.WeakKeyDictionary()
_reading = threading.Lock()


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

    @property
    def groups(self) -> Groups:
        """Groups of sentences with the same words."""
        return self.corpus.groups


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
    meant = _similarity(held, text) if held.texts else _NOTHING
    if not unlike.strip():
        return _found(held, meant), None
    other = _similarity(held, unlike) if held.texts else _NOTHING
    return (
        _found(held, np.where(other < meant, meant, 0)),
        _found(held, np.where(meant < other, other, 0)),
    )


def _found(held: Corpus, pieces: np.ndarray) -> Found:
    if not held.texts:
        return Found(held, _NOTHING, pieces)
    of_texts = np.maximum.reduceat(pieces[held.parts], held.starts)
    return Found(held, of_texts.astype(np.float32), pieces)


def _similarity(held: Corpus, text: str) -> np.ndarray:
    """Of each sentence to a text."""
    meaning, common = _cosines(held, text), _words_in_common(held.pieces, text)
    if common is None:
        return meaning
    return (1 - WORDS_SHARE) * meaning + WORDS_SHARE * common


def _cosines(held: Corpus, text: str) -> np.ndarray:
    """Of each piece, from 0 to 1."""
    vector = static().embed([text])[0]
    near = np.zeros(len(held.pieces), dtype=np.float32)
    for start in range(0, len(near), BLOCK_SENTENCES):
        block = slice(start, start + BLOCK_SENTENCES)
        near[block] = held.vectors[block].astype(np.float32) @ vector
    return np.clip(near, 0, 1)


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


def holding(
    found: Found, least: float, kind: str | None = None, ticks: Ticks = NO_TICKS
) -> HoldingCounts:
    """Holders of a record that is similar enough, at the end of each step.

    Args:
        found: from ``found``.
        least: similarity from which on a text counts, 0 to 1.
        kind: only records of this kind; None is all.
        ticks: groups of sentences that count, or do not, at any similarity.
    """
    held = found.corpus
    times, lives = np.array(held.steps), held.lives[matching(found, least, kind, ticks)]
    changes = np.zeros((len(held.agents), len(times) + 1), dtype=np.int32)
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_from"])), 1)
    # NaN, which is later than all, has no end among the steps.
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_to"])), -1)
    return HoldingCounts(held.agents, held.steps, changes[:, :-1].cumsum(axis=1))


def counting(found: Found, least: float, ticks: Ticks = NO_TICKS) -> np.ndarray:
    """Mask of the sentences that count, shape (pieces,): similar enough, or ticked."""
    counts = found.pieces >= least
    for place, key in enumerate(found.groups.keys):
        if key in ticks:
            counts[found.groups.of_piece == place] = ticks[key]
    return counts


def similarities(found: Found) -> np.ndarray:
    """That of each group: of its most similar sentence, shape (groups,)."""
    best = np.full(len(found.groups.names), -1.0)
    np.maximum.at(best, found.groups.of_piece, found.pieces)
    return best


def matching(
    found: Found, least: float, kind: str | None = None, ticks: Ticks = NO_TICKS
) -> np.ndarray:
    """Mask of the lives that count, shape (lives,)."""
    held = found.corpus
    if not held.texts:
        return np.zeros(0, dtype=bool)
    pieces = counting(found, least, ticks)
    texts = np.logical_or.reduceat(pieces[held.parts], held.starts)
    chosen = texts[held.lives["text"]]
    if kind is not None and kind in held.kinds:
        chosen &= held.lives["kind"] == held.kinds.index(kind)
    return chosen


def holders(
    found: Found,
    least: float,
    step: float,
    kind: str | None = None,
    ticks: Ticks = NO_TICKS,
) -> list[dict[str, Any]]:
    """Holders of such a record at the end of a step, in order of the agents.

    Each has ``agent``, ``records`` (how many), and of the most similar of them, the
    oldest if there are several: ``kind``, ``text``, ``similarity`` and ``since``.
    """
    held = found.corpus
    lives = held.lives[matching(found, least, kind, ticks)]
    # Not (valid_to <= step), so that NaN, which is no end, counts.
    lives = lives[(lives["valid_from"] <= step) & ~(lives["valid_to"] <= step)]
    alike = found.similarity[lives["text"]]
    lives = lives[np.lexsort((lives["seq"], -alike, lives["agent"]))]
    agents, first, counts = np.unique(
        lives["agent"], return_index=True, return_counts=True
    )
    return [
        {
            "agent": held.agents[agent],
            "records": int(count),
            "since": float(life["valid_from"]),
            "kind": held.kinds[life["kind"]],
            "similarity": _rounded(found.similarity[life["text"]]),
            "text": held.texts[life["text"]],
        }
        for agent, life, count in zip(agents, lives[first], counts)
    ]


def nearest(
    found: Found,
    least: float,
    kind: str | None = None,
    most: int = 200,
    ticks: Ticks = NO_TICKS,
) -> list[dict[str, Any]]:
    """The most similar groups of sentences of the run, best first.

    Each has ``similarity``,
    ``counts`` (if it is similar enough, or ticked), ``agents`` (how many ever had it),
    ``first`` (step), ``text`` and ``key`` of the group.
    """
    held, groups = found.corpus, found.groups
    lives = held.lives[matching(found, -1, kind)]
    if not len(lives):
        return []
    # Each life with each group that is in its text.
    ends = np.append(held.starts[1:], len(held.parts))
    lengths = (ends - held.starts)[lives["text"]]
    of_life = np.repeat(np.arange(len(lives)), lengths)
    begins = np.repeat(held.starts[lives["text"]], lengths)
    within = np.arange(len(of_life)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    group = groups.of_piece[held.parts[begins + within]]
    best = similarities(found)
    used = np.unique(group)
    rows = []
    for place in used[np.argsort(-best[used], kind="stable")][:most].tolist():
        own = lives[of_life[group == place]]
        rows.append(
            {
                "similarity": _rounded(max(0.0, best[place])),
                "counts": ticks.get(groups.keys[place], bool(best[place] >= least)),
                "agents": len(np.unique(own["agent"])),
                "first": float(own["valid_from"].min()),
                "text": groups.names[place],
                "key": groups.keys[place],
            }
        )
    return rows


def histogram(found: Found, bins: int = 50) -> list[int]:
    """Number of groups in each of ``bins`` equal parts of the similarities."""
    counts, _ = np.histogram(similarities(found), bins, (0.0, 1.0))
    return counts.tolist()


def _rounded(similarity: Any) -> float:
    return round(float(similarity), 3)
