"""Evidence recall on LoCoMo: which turns of a long dialogue answer a question.

python -m benchmarks.recall.locomo --data FILE [--json] [--embedder static]

The file holds ``{"conversations": [{"turns": [...], "questions": [...]}]}``. Every turn
is one record of an agent's memory, with its session's date as step label; importance
is not graded. A question counts if its evidence is in the file.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.recall import RecallIndex
from mesa_memory.records import MemoryRecord
from mesa_memory.retrieval import Scoring

CUTS = (5, 10, 25)


def indexed(turns: list[dict], embedder: Any) -> RecallIndex:
    """One record per turn, in order; the session is the step."""
    texts = [f"({t['date']}) {t['speaker']}: {t['text']}" for t in turns]
    index = RecallIndex()
    for turn, text, vector in zip(turns, texts, embedder.embed(texts)):
        record = MemoryRecord(
            turn["id"], 1, "locomo", "message", turn["session"], {"message": text}
        )
        index.add(record, text, vector, turn["speaker"], source=embedder.name)
    return index


def ranks(conversation: dict, embedder: Any, scoring: Scoring) -> Iterator[list[int]]:
    """For each question, the ranks of its evidence, 1 the best."""
    index = indexed(conversation["turns"], embedder)
    known = {turn["id"] for turn in conversation["turns"]}
    asked = [q for q in conversation["questions"] if known & set(q["evidence"])]
    # Questions come from outside: one must not change what the next one finds.
    scoring = replace(scoring, refresh="off")
    vectors = embedder.embed([question["question"] for question in asked])
    for question, vector in zip(asked, vectors):
        found = index.recall(
            question["question"], vector=vector, source=embedder.name, scoring=scoring
        )
        place = {recalled.record.id: recalled.rank for recalled in found}
        yield [place[turn] for turn in question["evidence"] if turn in place]


def measure(data: dict, embedder: Any, scoring: Scoring) -> dict[str, float]:
    """Recall of evidence turns and mean reciprocal rank, in percent."""
    every = [r for c in data["conversations"] for r in ranks(c, embedder, scoring)]
    result: dict[str, float] = {}
    for cut in CUTS:
        shares = [np.mean([rank <= cut for rank in found]) for found in every]
        result[f"recall@{cut}"] = round(100 * float(np.mean(shares)), 2)
    first = [1 / min(found) for found in every]
    return result | {
        "mrr": round(100 * float(np.mean(first)), 2),
        "questions": len(every),
    }


SCORINGS = {
    "default": Scoring,
    "relevance_only": Scoring.relevance_only,
    "generative_agents": Scoring.generative_agents,
    "mesa_llm": Scoring.mesa_llm,
    "cosine": lambda: Scoring(1.0, 0.0, 0.0, 1.0, 0.0, (0.0, 0.0), 0.0),
    "bm25": lambda: Scoring(1.0, 0.0, 0.0, 1.0, 1.0, (0.0, 0.0), 0.0),
    "mix": lambda: Scoring(1.0, 0.0, 0.0, 1.0, 0.4, (0.0, 0.0), 0.0),
}


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, no table.")
@click.option("--embedder", default="static", show_default=True)
@click.option("--scoring", type=click.Choice([*SCORINGS, "all"]), default="default")
def main(data: Path, as_json: bool, embedder: str, scoring: str) -> None:
    """Measures evidence recall on LoCoMo."""
    loaded = json.loads(data.read_text(encoding="utf-8"))
    chosen = list(SCORINGS) if scoring == "all" else [scoring]
    table = {n: measure(loaded, embedder_of(embedder), SCORINGS[n]()) for n in chosen}
    if as_json:
        click.echo(json.dumps(table.get(scoring, table)))
        return
    columns = [*(f"recall@{cut}" for cut in CUTS), "mrr", "questions"]
    click.echo(f"{'scoring':18}" + "".join(f"{column:>11}" for column in columns))
    for name, row in table.items():
        click.echo(f"{name:18}" + "".join(f"{row[column]:>11}" for column in columns))


if __name__ == "__main__":
    main()
