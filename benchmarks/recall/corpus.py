"""What the recall benchmarks rank: records, questions, and who puts them in order.

A *ranker* gets a corpus and an embedder and gives a function that, for a question, names
records, best first. Ours is one; others are in ``published`` and ``peers``. Ours embeds
what was said and counts who and when beside it; the others know nothing but texts, and
embed those that say when and who, which is better for them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary
from mesa_memory.retrieval.index import RecordIndex
from mesa_memory.retrieval.scoring import Scoring


@dataclass(frozen=True)
class Item:
    """One thing that is remembered.

    Attributes:
        text: says when, who and what.
        said: what alone.
        who: whose words these are.
        grade: its importance, 1 to 5, or None.
        place: neighbours have the same; None takes the step.
    """

    id: str
    step: float
    who: str
    text: str
    said: str
    grade: float | None = None
    place: str | None = None


@dataclass(frozen=True)
class Question:
    """A question and the ids of the items that answer it."""

    text: str
    evidence: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True)
class Corpus:
    """Items in order of arrival and what is asked about them, at the step ``now``."""

    items: Sequence[Item]
    questions: Sequence[Question]
    now: float


Ask = Callable[[str], list[str]]
Ranker = Callable[[Corpus, Any], Ask]

CUTS = (5, 10, 25)


def index_of(
    corpus: Corpus, embedder: Any, told: Vocabulary = ENGLISH_WORDS
) -> RecordIndex:
    """The items as the index of one agent's memory."""
    vectors = embedder.embed([item.said for item in corpus.items])
    index = RecordIndex(told)
    for item, vector in zip(corpus.items, vectors):
        record = MemoryRecord(
            item.id, 1, "benchmark", "message", item.step, {}, item.grade
        )
        index.add(
            record, item.text, vector, item.who, source=embedder.name, place=item.place
        )
    return index


def ours(
    scoring: Scoring, k: int | None = None, told: Vocabulary = ENGLISH_WORDS
) -> Ranker:
    """This package's recall.

    Args:
        scoring: being recalled does not count as an access here, whatever it says:
            questions come from outside, and one must not change what the next finds.
        k: so many at most; None is all.
        told: the words of the corpus's language.
    """
    scoring = replace(scoring, refresh="off")

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        index = index_of(corpus, embedder, told)
        known = getattr(embedder, "languages", None)

        def vector(text: str) -> Any:
            compared = known is None or told.language in known
            return embedder.embed([text])[0] if compared else None

        def ask(question: str) -> list[str]:
            found = index.recall(
                question,
                k,
                vector=vector(index.body(question, scoring)),
                source=embedder.name,
                scoring=scoring,
                now=corpus.now,
            )
            return [recalled.record.id for recalled in found]

        return ask

    return ranker


def evidence_ranks(
    corpus: Corpus, embedder: Any, ranker: Ranker
) -> Iterator[tuple[Question, list[float]]]:
    """Each question and the ranks of its evidence, 1 the best; not found: infinity."""
    ask = ranker(corpus, embedder)
    for question in corpus.questions:
        found = ask(question.text)
        places = {name: rank for rank, name in enumerate(found, 1)}
        yield question, [places.get(name, np.inf) for name in question.evidence]


def recall_at(cut: int, ranks: Iterable[Sequence[float]]) -> float:
    """Mean share of the evidence among the first ``cut``, in percent; NaN of none."""
    shares = [np.mean([rank <= cut for rank in found]) for found in ranks]
    return round(100 * float(np.mean(shares)), 2) if shares else float("nan")


def reciprocal(ranks: Iterable[Sequence[float]]) -> float:
    """Mean of 1 / rank of the first piece of evidence, in percent; NaN of none."""
    first = [1 / min(found) for found in ranks]
    return round(100 * float(np.mean(first)), 2) if first else float("nan")


def by_kind(
    answered: Iterable[tuple[Question, list[float]]],
) -> dict[str, list[list[float]]]:
    """The ranks of the evidence, by kind of question."""
    kinds = defaultdict(list)
    for question, found in answered:
        kinds[question.kind].append(found)
    return dict(kinds)


def measure(
    corpora: Iterable[Corpus], embedder: Any, ranker: Ranker
) -> dict[str, float]:
    """Recall of evidence and mean reciprocal rank, in percent, over all questions."""
    ranks = [
        found
        for corpus in corpora
        for _, found in evidence_ranks(corpus, embedder, ranker)
    ]
    result = {f"recall@{cut}": recall_at(cut, ranks) for cut in CUTS}
    return result | {"mrr": reciprocal(ranks), "questions": len(ranks)}
