"""Evidence recall on LoCoMo: which turns of a long dialogue answer a question.

python -m benchmarks.recall.locomo --data FILE [--all] [--embedder static] [--spread]

The file holds ``{"conversations": [{"turns": [...], "questions": [...]}]}``. Every turn
is one record of an agent's memory, with its session's date as step label; importance
is not graded. A question counts if its evidence is in the file. With ``--spread``, each
turn has a step of its own, as in a simulation, where a talk goes on over many steps.
"""

import json
from pathlib import Path
from typing import Any

import click

from benchmarks.recall.compared import compare, options
from benchmarks.recall.corpus import Corpus, Item, Question


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


def corpora(data: Path, spread: bool = False) -> list[Corpus]:
    """The conversations of a file."""
    loaded = json.loads(data.read_text(encoding="utf-8"))
    return [corpus_of(each, spread) for each in loaded["conversations"]]


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--spread", is_flag=True, help="Each turn in a step of its own.")
@options
def main(data: Path, spread: bool, **compared: Any) -> None:
    """Measures evidence recall on LoCoMo."""
    compare("LoCoMo", corpora(data, spread), **compared)


if __name__ == "__main__":
    main()
