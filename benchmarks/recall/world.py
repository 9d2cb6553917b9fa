"""Evidence recall in a world that changes: the present, the past and the unchanged.

python -m benchmarks.recall.world [--seeds 10] [--json]

Each seed is one world of 20 agents and 500 steps (see ``history``); one observer heard
everything. ``present`` asks what is so at the end, ``past`` what was so at a step or
before something else, ``unchanged`` what was said once and never changed. Figures are
the share of questions whose one answering record is among the first ``--cut``.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click

from benchmarks.recall.corpus import (
    SCORINGS,
    Corpus,
    Ranker,
    by_kind,
    evidence_ranks,
    ours,
    recall_at,
)
from benchmarks.recall.history import PHRASINGS, world
from benchmarks.recall.published import PUBLISHED
from benchmarks.recall.remembered import RememberedEmbedder
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring

CUT = 5
RECENCIES = (0.0, 0.05, 0.2, 0.3, 0.5, 1.0)


def measure(
    worlds: Iterable[Corpus], embedder: Any, ranker: Ranker, cut: int = CUT
) -> dict[str, float]:
    """Recall in percent by kind of question, and how many there were of each kind."""
    ranks: dict[str, list[list[float]]] = defaultdict(list)
    for corpus in worlds:
        answered = evidence_ranks(corpus, embedder, ranker)
        for kind, found in by_kind(answered).items():
            ranks[kind] += found
            if kind.startswith("past"):
                ranks["past"] += found
    kinds = ("present", "past", "unchanged", "past: at a step", "past: before")
    row = {kind: recall_at(cut, ranks[kind]) for kind in kinds}
    return row | {"questions": sum(len(ranks[k]) for k in kinds[:3])}


def rankers(cut: int = CUT) -> dict[str, Ranker]:
    """Each row of the table."""
    scorings: dict[str, Callable[[], Scoring]] = dict(SCORINGS)
    for weight in RECENCIES:
        scorings[f"recency {weight}"] = partial(Scoring, recency=weight)
    return {name: ours(make(), cut) for name, make in scorings.items()} | PUBLISHED


@click.command()
@click.option("--seeds", default=10, show_default=True, help="How many worlds.")
@click.option("--first", default=1000, show_default=True, help="The first seed.")
@click.option("--people", default=20, show_default=True)
@click.option("--steps", default=500, show_default=True)
@click.option("--phrasing", type=click.Choice(list(PHRASINGS)), default="direct")
@click.option("--cut", default=CUT, show_default=True)
@click.option("--embedder", default="static", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no table.")
def main(
    seeds: int,
    first: int,
    people: int,
    steps: int,
    phrasing: str,
    cut: int,
    embedder: str,
    as_json: bool,
) -> None:
    """Measures evidence recall in a generated world that changes."""
    worlds = [
        world(seed, people, steps, phrasing) for seed in range(first, first + seeds)
    ]
    model = RememberedEmbedder(embedder_of(embedder))
    table = {
        name: measure(worlds, model, ranker, cut)
        for name, ranker in rankers(cut).items()
    }
    if as_json:
        click.echo(json.dumps(table))
        return
    click.echo(f"recall@{cut}, {seeds} worlds, {phrasing} statements")
    columns = list(next(iter(table.values())))
    click.echo(f"{'scoring':18}" + "".join(f"{column:>17}" for column in columns))
    for name, row in table.items():
        click.echo(f"{name:18}" + "".join(f"{row[column]:>17}" for column in columns))


if __name__ == "__main__":
    main()
