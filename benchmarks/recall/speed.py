"""How fast records are recalled and taken in, against a bare scan in the same run.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.recall.speed

The bare scan is what a reader would write with numpy alone: cosine of all rows, plus
weighted importance and recency, and the ten highest by ``argpartition``. It has no
words, no neighbours, no names, no filters, no ties and no explanation. All see the same
random unit vectors of 256 numbers and texts of 12 words; figures are medians of
processor time, the contestants taking turns. ``after an add`` is the first recall after
a record came, which makes anew what an index keeps between recalls.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any

import click
import numpy as np

from benchmarks.tables import show
from mesa_memory.core.records import MemoryRecord
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.index import RecordIndex
from mesa_memory.retrieval.scoring import Scoring

DIM, K, WORDS = 256, 10, 2000
Case = tuple[MemoryRecord, str, np.ndarray, str]


def cases(count: int) -> list[Case]:
    """Records with text, unit vector and speaker; four of them a step."""
    draw, rng = random.Random(1), np.random.default_rng(1)
    vectors = rng.standard_normal((count, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = []
    for number, vector in enumerate(vectors):
        step, who = number // 4, f"Agent {draw.randrange(20)}"
        text = f"Step {step}: {who} says: {spoken(draw, 7)}"
        record = MemoryRecord(
            f"1/x/message/{number}", 1, "x", "message", step, {}, draw.randint(1, 5)
        )
        made.append((record, text, vector, who))
    return made


def spoken(draw: random.Random, count: int) -> str:
    """Words of a made-up language, the common ones as common as in English."""
    ranks = [int(WORDS ** draw.random()) for _ in range(count)]
    return " ".join(f"w{rank}" for rank in ranks)


def filled(made: list[Case]) -> RecordIndex:
    """An index of all of them."""
    index = RecordIndex()
    for record, text, vector, who in made:
        index.add(record, text, vector, who, source="random")
    return index


def bare_scan(made: list[Case], scoring: Scoring) -> Callable[[np.ndarray], Any]:
    """The three terms and nothing else."""
    rows = np.array([vector for _, _, vector, _ in made])
    importance = np.array([((r.importance or 3) - 1) / 4 for r, *_ in made])
    accessed = np.array([float(r.step) for r, *_ in made])
    now = accessed[-1]

    def scan(vector: np.ndarray) -> list[tuple[MemoryRecord, float]]:
        scored = (
            scoring.relevance * (rows @ vector)
            + scoring.importance * importance
            + scoring.recency * scoring.decay ** (now - accessed)
        )
        best = np.argpartition(scored, -K)[-K:]
        best = best[np.argsort(-scored[best])]
        return [(made[at][0], float(scored[at])) for at in best]

    return scan


def medians(runs: dict[str, Callable[[], float]], turns: int) -> dict[str, float]:
    """Median microseconds of each, taking turns, forth and back."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns):
        for name in [*runs][:: 1 if turn % 2 else -1]:
            taken[name].append(runs[name]() * 1e6)
    return {name: statistics.median(found) for name, found in taken.items()}


def recalls(count: int, turns: int) -> dict[str, float]:
    """A recall of ten among ``count`` records, in microseconds and as ratios."""
    made, draw = cases(count + 2 * turns), random.Random(2)
    made, coming = made[:count], iter(made[count:])
    index, growing, scoring = filled(made), filled(made), Scoring()
    scan = bare_scan(made, scoring)
    alone = replace(scoring, session_weights=(0.0, 0.0))
    # Every other query names somebody.
    names = [f"Agent {n}" if n % 2 else "w5 w50" for n in range(21)]
    asked = cycle([f"{name} {spoken(draw, 6)}" for name in names])
    vectors = cycle([made[draw.randrange(count)][2] for _ in range(21)])

    def recall(scoring: Scoring, index: RecordIndex = index) -> float:
        query, near = next(asked), next(vectors)
        started = time.process_time()
        index.recall(query, K, vector=near, source="random", scoring=scoring)
        return time.process_time() - started

    def recall_after_add(scoring: Scoring) -> float:
        growing.add(*next(coming), source="random")
        return recall(scoring, growing)

    def scanned() -> float:
        near, started = next(vectors), time.process_time()
        scan(near)
        return time.process_time() - started

    runs: dict[str, Callable[[], float]] = {
        "bare scan": scanned,
        "without words": lambda: recall(replace(alone, lexical_share=0.0)),
        "without sessions": lambda: recall(alone),
        "recall": lambda: recall(scoring),
        "without sessions, after an add": lambda: recall_after_add(alone),
        "recall, after an add": lambda: recall_after_add(scoring),
    }
    found = medians(runs, turns)
    return found | {
        "recall / bare scan": found["recall"] / found["bare scan"],
        "sessions": found["recall"] / found["without sessions"],
        "sessions, after an add": found["recall, after an add"]
        / found["without sessions, after an add"],
    }


def additions(count: int = 10_000) -> float:
    """Median microseconds to add a record with its embedding to a growing index."""
    made, index, taken = cases(count), RecordIndex(), []
    for start in range(0, count, 100):
        started = time.process_time()
        for record, text, vector, who in made[start : start + 100]:
            index.add(record, text, vector, who, source="random")
        taken.append((time.process_time() - started) / 100 * 1e6)
    return statistics.median(taken)


def a_step_of_many(agents: int = 1000, events: int = 4) -> dict[str, float]:
    """Seconds until all agents' new events are embedded, in one batch, and indexed."""
    made, embedder = cases(agents * events), embedder_of("static")
    embedder.embed(["warm"])
    times = [time.process_time()]
    vectors = embedder.embed([text for _, text, _, _ in made])
    times.append(time.process_time())
    indexes = []
    for start in range(0, len(made), events):
        index = RecordIndex()
        for record, text, _, who in made[start : start + events]:
            index.add(record, text, who=who)
        indexes.append(index)
    times.append(time.process_time())
    for start, index in zip(range(0, len(made), events), indexes):
        rows = slice(start, start + events)
        index.embed_all([case[0] for case in made[rows]], vectors[rows], embedder.name)
    times.append(time.process_time())
    seconds = dict(zip(("embed", "add", "embed_all"), np.diff(times).tolist()))
    return seconds | {"total": times[-1] - times[0]}


@click.command()
@click.option("--sizes", default="1000,10000,100000", show_default=True)
@click.option("--turns", default=200, show_default=True)
def main(sizes: str, turns: int) -> None:
    """Measures recall and taking in, on one core."""
    found = {size: recalls(int(size), turns) for size in sizes.split(",")}
    names = next(iter(found.values()))
    show(
        f"recall of {K}, microseconds and ratios",
        [{"": name} | {s: row[name] for s, row in found.items()} for name in names],
    )
    click.echo(f"adding one record: {additions():.1f} us")
    show("a step of 1,000 agents with 4 events each, seconds", [a_step_of_many()], 3)


if __name__ == "__main__":
    main()
