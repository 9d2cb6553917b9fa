"""How fast records are recalled and taken in, against a bare scan in the same run.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.recall.speed [--json]

The bare scan is what a reader would write with numpy alone: cosine of all rows, plus
weighted importance and recency, and the ten highest by ``argpartition``. It has no
words, no neighbours, no names, no filters, no ties and no explanation. All of them see
the same random unit vectors of 256 numbers and texts of 12 words; figures are medians
of processor time, the contestants taking turns. An index keeps importance and recency
as long as clock and records are the same; ``first of a step`` has a new clock each time.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import json
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count as count_up
from itertools import cycle
from typing import Any

import click
import numpy as np

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


def medians(
    runs: dict[str, Callable[[], Any]], calls: int, turns: int
) -> dict[str, float]:
    """Median microseconds of processor time of each, taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns + 3):
        for name, run in runs.items():
            started = time.process_time()
            for _ in range(calls):
                run()
            if turn > 2:  # the first turns warm up
                taken[name].append((time.process_time() - started) / calls * 1e6)
    return {name: statistics.median(found) for name, found in taken.items()}


def recalls(count: int, turns: int) -> dict[str, float]:
    """A recall of ten among ``count`` records."""
    made, draw = cases(count), random.Random(2)
    index, scoring = filled(made), Scoring()
    scan, dense_only = bare_scan(made, scoring), replace(scoring, lexical_share=0.0)
    # Every other query names somebody.
    names = [f"Agent {n}" if n % 2 else "w5 w50" for n in range(20)]
    asked = cycle([f"{name} {spoken(draw, 6)}" for name in names])
    vectors = cycle([made[draw.randrange(count)][2] for _ in range(21)])

    steps = count_up(count)

    def recall(scoring: Scoring, now: float | None = None) -> None:
        asking = {"vector": next(vectors), "source": "random", "scoring": scoring}
        index.recall(next(asked), K, now=now, **asking)

    runs = {
        "bare scan": lambda: scan(next(vectors)),
        "without words": lambda: recall(dense_only),
        "with words": lambda: recall(scoring),
        "first of a step": lambda: recall(scoring, next(steps)),
    }
    found = medians(runs, max(1, 10_000 // count), turns)
    bare = found["bare scan"]
    return found | {
        "ratio without words": found["without words"] / bare,
        "ratio with words": found["with words"] / bare,
        "ratio first of a step": found["first of a step"] / bare,
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


def measure(sizes: tuple[int, ...], turns: int) -> dict[str, Any]:
    """All figures: microseconds of recalls and additions, seconds of a step."""
    found = {str(count): recalls(count, turns) for count in sizes}
    step = a_step_of_many()
    return {"recall_us": found, "add_us": additions(), "thousand_agents_s": step}


@click.command()
@click.option("--sizes", default="1000,10000,100000", show_default=True)
@click.option("--turns", default=200, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no table.")
def main(sizes: str, turns: int, as_json: bool) -> None:
    """Measures recall and taking in, on one core."""
    found = measure(tuple(int(size) for size in sizes.split(",")), turns)
    if as_json:
        click.echo(json.dumps(found))
        return
    for size, row in found["recall_us"].items():
        click.echo(f"recall of {K} among {size} records:")
        for name, value in row.items():
            unit = "x" if name.startswith("ratio") else " us"
            click.echo(f"  {name:22}{value:12,.2f}{unit}")
    click.echo(f"adding one record{found['add_us']:17.1f} us")
    click.echo("a step of 1,000 agents with 4 events each:")
    for name, value in found["thousand_agents_s"].items():
        click.echo(f"  {name:22}{value:12.3f} s")


if __name__ == "__main__":
    main()
