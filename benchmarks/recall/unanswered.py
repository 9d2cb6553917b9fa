"""How many recalls are marked as weak: of questions with an answer, and without one.

python -m benchmarks.recall.unanswered --data FILE [--friends FILE --friends FILE]

Without an answer are: in LoCoMo, questions about another conversation, with the names of
this one's speakers (*foreign*), and its own without their evidence (*removed*: the turns
beside it often answer, too); in FriendsQA, questions about other scenes; in changing
worlds, questions about what a person never told.
An answer counts as found if it is among the first ten. ``--values`` prints the match that
a tenth of the found ones do not reach, relative to the threshold.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.recall import friends, locomo
from benchmarks.recall.corpus import Corpus, index_of
from benchmarks.recall.history import PHRASINGS, World
from benchmarks.recall.remembered import RememberedEmbedder
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring

CUT = 10
#: the parts in which evidence is removed from a conversation
PARTS = 8
#: the share of histories that nobody tells
UNTOLD = 0.35
SCORING = Scoring()
#: kind of question, its match, and whether an answer was found
type Judged = tuple[str, float, bool]


class ForgetfulWorld(World):
    """A world in which some histories are not told; ``untold`` has their questions."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.untold: list[str] = []

    def _live(self, *given: Any) -> None:
        self._perhaps(super()._live, *given)

    def _tell(self, *given: Any) -> None:
        self._perhaps(super()._tell, *given)

    def _perhaps(self, tell: Any, *given: Any) -> None:
        said, asked = len(self.said), len(self.questions)
        tell(*given)
        if self.draw.random() < UNTOLD:
            self.untold += [text for text, *_ in self.questions[asked:]]
            del self.said[said:], self.questions[asked:]


def judged(
    kind: str, corpus: Corpus, embedder: Any, without: list[str]
) -> Iterator[Judged]:
    """The corpus's own questions, and others that it has no answer to."""
    index = index_of(corpus, embedder)
    asked = [(kind, q.text, q.evidence) for q in corpus.questions]
    asked += [(f"{kind}: none", text, ()) for text in without]
    for name, text, evidence in asked:
        found = index.search(
            text,
            CUT,
            vector=embedder.embed([index.body(text, SCORING)])[0],
            source=embedder.name,
            now=corpus.now,
        )
        ids = {each.record.id for each in found.records}
        yield name, found.match, not ids.isdisjoint(evidence)


def of_friends(files: Sequence[Path], embedder: Any) -> Iterator[Judged]:
    """All memories, with the questions of the next one, about the same people."""
    several = friends.corpora(files)
    for corpus, foreign in zip(several, several[1:] + several[:1]):
        texts = [question.text for question in foreign.questions]
        yield from judged("friends", corpus, embedder, texts)


def of_locomo(data: Path, embedder: Any) -> Iterator[Judged]:
    """All conversations, with the questions of the next one, and without evidence."""
    several = locomo.corpora(data)
    for corpus, foreign in zip(several, several[1:] + several[:1]):
        mine, theirs = (sorted({i.who for i in c.items}) for c in (corpus, foreign))
        texts = [question.text for question in foreign.questions]
        for their, my in zip(theirs, mine):
            texts = [text.replace(their, my) for text in texts]
        yield from judged("locomo", corpus, embedder, texts)
        for part in range(PARTS):
            some = corpus.questions[part::PARTS]
            gone = {name for question in some for name in question.evidence}
            left = [item for item in corpus.items if item.id not in gone]
            rest = replace(corpus, items=left, questions=())
            asked = [question.text for question in some]
            yield from judged("locomo, removed", rest, embedder, asked)


def of_worlds(phrasing: str, seeds: range, embedder: Any) -> Iterator[Judged]:
    """Worlds of 20 people and 500 steps."""
    for seed in seeds:
        world = ForgetfulWorld(random.Random(seed), 20, 500)
        corpus = world.corpus(*PHRASINGS[phrasing])
        yield from judged(phrasing, corpus, embedder, world.untold)


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option(
    "--friends", "scenes", type=click.Path(exists=True, path_type=Path), multiple=True
)
@click.option("--embedder", default="static", show_default=True)
@click.option("--seeds", default=4, show_default=True, help="How many worlds.")
@click.option("--first", default=1000, show_default=True, help="The first seed.")
@click.option("--values", is_flag=True, help="Print the tenth of the matches, too.")
def main(
    data: Path,
    scenes: tuple[Path, ...],
    embedder: str,
    seeds: int,
    first: int,
    values: bool,
) -> None:
    """Measures the mark of a weak match."""
    model = RememberedEmbedder(embedder_of(embedder))
    found = [*of_locomo(data, model), *of_friends(scenes, model)]
    for phrasing in PHRASINGS:
        found += of_worlds(phrasing, range(first, first + seeds), model)
    matches = defaultdict(list)
    for kind, match, answered in found:
        if answered or "none" in kind:
            matches[kind].append(match)
    for kind, some in matches.items():
        weak = 100 * np.mean([match < 0 for match in some])
        tenth = f"{np.quantile(some, 0.1):8.2f}" if values else ""
        click.echo(f"{kind:24}{len(some):6} questions {weak:6.1f}% weak{tenth}")


if __name__ == "__main__":
    main()
