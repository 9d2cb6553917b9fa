"""Evidence recall on LoCoMo: which turns of a long dialogue answer a question.

python -m benchmarks.recall.locomo --data FILE [--json] [--embedder static] [--spread]

The file holds ``{"conversations": [{"turns": [...], "questions": [...]}]}``. Every turn
is one record of an agent's memory, with its session's date as step label; importance
is not graded. A question counts if its evidence is in the file. With ``--spread``, each
turn has a step of its own, as in a simulation, where a talk goes on over many steps.
"""

import json
from pathlib import Path
from typing import Any

import click

from benchmarks.recall.corpus import (
    SCORINGS,
    Corpus,
    Item,
    Question,
    Ranker,
    evidence_ranks,
    ours,
    recall_at,
    reciprocal,
)
from benchmarks.recall.published import PUBLISHED
from benchmarks.recall.remembered import RememberedEmbedder
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring

CUTS = (5, 10, 25)


def corpus_of(conversation: dict, spread: bool = False) -> Corpus:
    """One item per turn, in order; the session is the step.

    Args:
        spread: each turn is a step of one talk instead.
    """
    items = [
        Item(
            turn["id"],
            number if spread else turn["session"],
            turn["speaker"],
            f"({turn['date']}) {turn['speaker']}: {turn['text']}",
            turn["text"],
            place="talk" if spread else None,
        )
        for number, turn in enumerate(conversation["turns"])
    ]
    known = {item.id for item in items}
    questions = [
        Question(question["question"], here)
        for question in conversation["questions"]
        if (here := tuple(turn for turn in question["evidence"] if turn in known))
    ]
    return Corpus(items, questions, max((item.step for item in items), default=0))


def measure(
    data: dict, embedder: Any, by: Scoring | Ranker, spread: bool = False
) -> dict[str, float]:
    """Recall of evidence turns and mean reciprocal rank, in percent."""
    ranker = ours(by) if isinstance(by, Scoring) else by
    every = [
        found
        for conversation in data["conversations"]
        for _, found in evidence_ranks(
            corpus_of(conversation, spread), embedder, ranker
        )
    ]
    result = {f"recall@{cut}": recall_at(cut, every) for cut in CUTS}
    return result | {"mrr": reciprocal(every), "questions": len(every)}


def rankers() -> dict[str, Ranker]:
    """Each row of the table."""
    return {name: ours(scoring()) for name, scoring in SCORINGS.items()} | PUBLISHED


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no table.")
@click.option("--embedder", default="static", show_default=True)
@click.option("--folder", help="The model's files, for an embedder of fastembed.")
@click.option("--spread", is_flag=True, help="Each turn in a step of its own.")
@click.option(
    "--scoring", type=click.Choice([*SCORINGS, *PUBLISHED, "all"]), default="default"
)
def main(
    data: Path,
    as_json: bool,
    embedder: str,
    folder: str | None,
    spread: bool,
    scoring: str,
) -> None:
    """Measures evidence recall on LoCoMo."""
    loaded = json.loads(data.read_text(encoding="utf-8"))
    every = rankers()
    chosen = list(every) if scoring == "all" else [scoring]
    model = RememberedEmbedder(opened(embedder, folder))
    table = {name: measure(loaded, model, every[name], spread) for name in chosen}
    if as_json:
        click.echo(json.dumps(table.get(scoring, table)))
        return
    columns = [*(f"recall@{cut}" for cut in CUTS), "mrr", "questions"]
    click.echo(f"{'scoring':18}" + "".join(f"{column:>11}" for column in columns))
    for name, row in table.items():
        click.echo(f"{name:18}" + "".join(f"{row[column]:>11}" for column in columns))


def opened(name: str, folder: str | None) -> Any:
    """The embedder of that name; with a folder, fastembed's with the files there."""
    if folder is None:
        return embedder_of(name)
    from mesa_memory.embedders.fastembed import FastEmbedder

    return FastEmbedder(name.removeprefix("fastembed:"), folder=folder)


if __name__ == "__main__":
    main()
