"""Holders of memories that state a text, step by step; see ``runs.claims.claim``."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mesa_memory.runs import Run, past
from mesa_memory.runs.claims.claim import MIN_SIMILARITY, Verdict, claim
from mesa_memory.runs.claims.clauses import sentences


@dataclass(frozen=True)
class Corpus:
    """The texts of a run, and the lives of the records that have them.

    Attributes:
        agents, steps: unique ids, and the finished steps.
        texts: each once, in order of arrival.
        pieces: their sentences, each once.
        parts: ``text`` and ``piece`` (places of these), a row for each sentence of each
            text, in order.
        lives: a row for each record, by ``seq``; columns seq, agent (place), kind, text
            (place), valid_from and valid_to (NaN: until now).
    """

    agents: list[Any]
    steps: list[float]
    texts: list[str]
    pieces: list[str]
    parts: pd.DataFrame
    lives: pd.DataFrame


def corpus(run: Run) -> Corpus:
    """The texts until now."""
    known = run.unique_ids
    columns = ["seq", "agent", "kind", "text", "valid_from", "valid_to"]
    lives = pd.DataFrame(past.lives(run), columns=columns)
    lives = lives.astype({"valid_from": float, "valid_to": float})
    lives["agent"] = lives["agent"].map({name: n for n, name in enumerate(known)})
    lives = lives.dropna(subset="agent").astype({"agent": int})
    lives["text"], texts = pd.factorize(lives["text"])
    split = [(n, piece) for n, text in enumerate(texts) for piece in sentences(text)]
    parts = pd.DataFrame(split, columns=["text", "piece"])
    parts["piece"], pieces = pd.factorize(parts["piece"])
    agents = list(known.values())
    return Corpus(agents, run.steps, list(texts), list(pieces), parts, lives)


#: groups of sentences that do not count and are listed
NEAREST_GROUPS = 200


@dataclass(frozen=True)
class Found:
    """The judgement of all sentences of a run on a text.

    Attributes:
        corpus: the texts.
        groups: sentences without speakers, each once; ``#`` stands for numbers that the
            text does not have.
        group_of: shape (pieces,), the group of each sentence.
        similarity: shape (groups,), from 0 to 1.
        verdicts: of each group.
    """

    corpus: Corpus
    groups: list[str]
    group_of: np.ndarray
    similarity: np.ndarray
    verdicts: list[Verdict]

    def counting(self, verdict: Verdict = Verdict.STATES) -> np.ndarray:
        """Mask of the groups with this verdict that are similar enough, shape (groups,)."""
        says = np.array([each is verdict for each in self.verdicts], dtype=bool)
        return says & (self.similarity >= MIN_SIMILARITY)

    def matching(self, verdict: Verdict = Verdict.STATES) -> np.ndarray:
        """Mask of the lives whose text has such a sentence, shape (lives,)."""
        counts = self.counting(verdict)[self.group_of]
        parts = self.corpus.parts
        texts = pd.Series(counts[parts["piece"]]).groupby(parts["text"]).any()
        return texts.to_numpy(dtype=bool)[self.corpus.lives["text"]]


@dataclass(frozen=True)
class HoldingCounts:
    """Holders of memories that state the text, or deny it.

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


def found(run: Run, text: str) -> Found:
    """Judges all sentences of a run on a text.

    Raises:
        ValueError: for a text without words.
    """
    sought, held = claim(text), corpus(run)
    said = np.array([*map(sought.said, held.pieces)], dtype=object)
    group_of, groups = pd.factorize(said)
    judged = sought.judge(list(groups))
    similarity = np.array([each.similarity for each in judged], dtype=float)
    verdicts = [each.verdict for each in judged]
    return Found(held, list(groups), group_of, similarity, verdicts)


def holding(found: Found, verdict: Verdict = Verdict.STATES) -> HoldingCounts:
    """Holders of a record that states, or denies, the text at the end of each step."""
    held = found.corpus
    times = np.array(held.steps)
    lives = held.lives[found.matching(verdict)]
    changes = np.zeros((len(held.agents), len(times) + 1), dtype=np.int32)
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_from"])), 1)
    # NaN, which is later than all, has no end among the steps.
    np.add.at(changes, (lives["agent"], np.searchsorted(times, lives["valid_to"])), -1)
    return HoldingCounts(held.agents, held.steps, changes[:, :-1].cumsum(axis=1))


def holders(found: Found, step: float) -> list[dict[str, Any]]:
    """Holders of such a record at the end of a step, in order of the agents.

    Each has ``agent``, ``records`` (how many), and of the one with the most similar
    sentence that counts, the oldest if there are several: ``kind``, ``text``,
    ``similarity`` and ``since``.
    """
    held = found.corpus
    near = np.where(found.counting(), found.similarity, 0)[found.group_of]
    best = pd.Series(near[held.parts["piece"]]).groupby(held.parts["text"]).max()
    lives = held.lives[found.matching()]
    lives = _at(lives, step).assign(similarity=lambda rows: rows["text"].map(best))
    lives = lives.sort_values(["similarity", "seq"], ascending=[False, True])
    records = lives["agent"].value_counts()
    return [
        {
            "agent": held.agents[row["agent"]],
            "records": int(records[row["agent"]]),
            "since": row["valid_from"],
            "kind": row["kind"],
            "similarity": round(row["similarity"], 3),
            "text": held.texts[row["text"]],
        }
        for row in lives.drop_duplicates("agent")
        .sort_values("agent")
        .to_dict("records")
    ]


def _at(lives: pd.DataFrame, step: float) -> pd.DataFrame:
    """The lives at the end of a step."""
    # Not (valid_to <= step), so that NaN, which is no end, counts.
    return lives[(lives["valid_from"] <= step) & ~(lives["valid_to"] <= step)]


def listed(found: Found, step: float) -> list[dict[str, Any]]:
    """The different sentences that count, most holders first, then the nearest others.

    Each has ``text``, ``counts``, ``agents`` (how many hold it at the end of the step),
    ``ever`` (how many had it in the run), ``first`` (step), ``similarity`` and
    ``verdict``. At most 200 do not count.
    """
    held = found.corpus
    parts = held.parts.assign(group=found.group_of[held.parts["piece"]])
    used = held.lives.merge(parts, on="text")
    rows = used.groupby("group").agg(
        ever=("agent", "nunique"), first=("valid_from", "min")
    )
    now = _at(used, step).groupby("group")["agent"].nunique()
    rows["agents"] = now.reindex(rows.index, fill_value=0)
    rows["counts"] = found.counting()[rows.index]
    rows["similarity"] = found.similarity[rows.index].round(3)
    chosen = rows[rows["counts"]].sort_values(
        ["agents", "ever", "first"], ascending=[False, False, True], kind="stable"
    )
    others = rows[~rows["counts"] & (rows["similarity"] > 0)]
    others = others.sort_values("similarity", ascending=False, kind="stable")
    rows = pd.concat([chosen, others[:NEAREST_GROUPS]])
    rows["text"] = [found.groups[n] for n in rows.index]
    rows["verdict"] = [found.verdicts[n].value for n in rows.index]
    return [{str(name): row[name] for name in row} for row in rows.to_dict("records")]
