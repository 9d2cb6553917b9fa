"""Evidence recall in a world that changes: the present, the past and the unchanged.

python -m benchmarks.recall.world [--seeds 10] [--phrasing plain] [--all]

Each seed is one world of 20 agents and 500 steps (see ``history``); one observer heard
everything. ``present`` asks what is so at the end, ``past`` what was so at a step or
before something else, ``unchanged`` what was said once and never changed. Figures are
the share of questions whose one answering record is among the first five.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import click

from benchmarks.recall.compared import compare, options
from benchmarks.recall.corpus import Corpus, Ranker, by_kind, evidence_ranks, recall_at
from benchmarks.recall.history import PHRASINGS, world

CUT = 5


def measure(
    worlds: Iterable[Corpus], embedder: Any, ranker: Ranker
) -> dict[str, float]:
    """Recall in percent by kind of question, and of all."""
    ranks: dict[str, list[list[float]]] = defaultdict(list)
    for corpus in worlds:
        answered = evidence_ranks(corpus, embedder, ranker)
        for kind, found in by_kind(answered).items():
            ranks[kind] += found
            ranks["all"] += found
            if kind.startswith("past"):
                ranks["past"] += found
    kinds = ("present", "past", "unchanged", "past: at a step", "past: before", "all")
    row: dict[str, float] = {kind: recall_at(CUT, ranks[kind]) for kind in kinds}
    return row | {"questions": len(ranks["all"])}


@click.command()
@click.option("--seeds", default=10, show_default=True, help="How many worlds.")
@click.option("--first", default=1000, show_default=True, help="The first seed.")
@click.option("--phrasing", type=click.Choice(list(PHRASINGS)), default="direct")
@options
def main(seeds: int, first: int, phrasing: str, **compared: Any) -> None:
    """Measures evidence recall in a generated world that changes."""
    worlds = [world(seed, phrasing=phrasing) for seed in range(first, first + seeds)]
    title = f"recall@{CUT}, {seeds} worlds, {phrasing} statements"
    compare(title, worlds, by=measure, **compared)


if __name__ == "__main__":
    main()
