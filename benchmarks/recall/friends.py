"""Evidence recall on FriendsQA: which lines of scenes with many speakers answer a question.

python -m benchmarks.recall.friends --data friendsqa_dev.json --data friendsqa_tst.json

No weight of the score was chosen on it. One memory holds 30 scenes, a scene is one step,
and a line is one record. The first 240 scenes are taken; a question counts if the words
of a line, not only its speaker, answer it.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.recall.compared import compare, options
from benchmarks.recall.corpus import Corpus, Item, Question

SCENES, SCENES_PER_MEMORY = 240, 30


def corpora(files: Sequence[Path]) -> list[Corpus]:
    """The memories of all files, read one after the other."""
    scenes = [
        scene["paragraphs"][0]
        for file in files
        for scene in json.loads(file.read_text(encoding="utf-8"))["data"]
    ][:SCENES]
    firsts = range(0, len(scenes), SCENES_PER_MEMORY)
    return [corpus_of(scenes[first : first + SCENES_PER_MEMORY]) for first in firsts]


def corpus_of(scenes: Sequence[dict]) -> Corpus:
    """One item per line, in order; the scene is the step."""
    items, questions = [], []
    for step, scene in enumerate(scenes):
        for line in scene["utterances:"]:
            who, said = " and ".join(line["speakers"]), line["utterance"]
            key = f"{step}/{line['uid']}"
            items.append(Item(key, step, who, f"{who}: {said}", said))
        for asked in scene["qas"]:
            answers = [a for a in asked["answers"] if not a["is_speaker"]]
            lines = dict.fromkeys(f"{step}/{a['utterance_id']}" for a in answers)
            if lines:
                questions.append(Question(asked["question"], tuple(lines)))
    return Corpus(items, questions, len(scenes) - 1)


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), required=True, multiple=True
)
@options
def main(data: tuple[Path, ...], **compared: Any) -> None:
    """Measures evidence recall on FriendsQA."""
    compare("FriendsQA", corpora(data), **compared)


if __name__ == "__main__":
    main()
