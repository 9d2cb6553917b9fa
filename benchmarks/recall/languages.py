"""Evidence recall in a changing world that is told and asked about in each language.

    python -m benchmarks.recall.languages [--seeds 5] [--embedder multilingual]

The worlds are those of ``history``, with the phrases of ``tongues/<language>.toml``: the
same people, changes and questions in each language. Printed is recall@5 in percent, with
embeddings and words (the default scoring) and by words alone, and each as a share of
English.
"""

import random
import tomllib
from pathlib import Path
from typing import Any

import click

from benchmarks.recall.compared import SCORINGS
from benchmarks.recall.corpus import Corpus, evidence_ranks, ours, recall_at
from benchmarks.recall.history import Talk, World
from benchmarks.recall.phrases import Aspect, Fact
from benchmarks.recall.remembered import RememberedEmbedder
from benchmarks.tables import show
from mesa_memory.core.prompt_files import languages
from mesa_memory.core.text.vocabulary import vocabulary
from mesa_memory.core.wording import Wording
from mesa_memory.embedders import embedder as embedder_of

TONGUES = Path(__file__).parent / "tongues"
CUT, PEOPLE, STEPS = 5, 12, 300


def world(language: str, seed: int) -> Corpus:
    """One world in a language; of the same seed, the same in each."""
    text = (TONGUES / f"{language}.toml").read_text(encoding="utf-8")
    told = tomllib.loads(text)
    aspects = [
        Aspect(grades=(2, 3, 3, 4), **told[name])
        for name in ("place", "belonging", "office")
    ]
    values = {name[0]: told[name]["values"] for name in ("place", "office")}
    values["g"] = told["belonging"]["values"]
    wording = Wording(language)
    said = wording("events", "message", who="{teller}", to="", text="{text}")
    line = wording("memory", "at step", step="{step}", line=said)
    talk = Talk(told["chatter"], (), values, line)
    made = World(random.Random(seed), PEOPLE, STEPS, talk)
    return made.corpus(aspects, [Fact(**told["sister"])])


def recalled(language: str, seeds: int, embedder: Any, scoring: str) -> float:
    """Recall@5 in percent over the worlds of a language."""
    ranker = ours(SCORINGS[scoring](), CUT, vocabulary(language))
    ranks = [
        found
        for seed in range(seeds)
        for _, found in evidence_ranks(world(language, seed), embedder, ranker)
    ]
    return recall_at(CUT, ranks)


@click.command()
@click.option("--seeds", default=5, show_default=True, help="How many worlds.")
@click.option("--embedder", default="multilingual", show_default=True)
def main(seeds: int, embedder: str) -> None:
    """Measures recall in each language."""
    model = RememberedEmbedder(embedder_of(embedder))
    rows: dict[str, dict[str, float]] = {
        language: {
            name: recalled(language, seeds, model, name) for name in ("default", "bm25")
        }
        for language in languages()
    }
    english = rows["en"]
    table = [
        {"language": language, **row}
        | {f"{name} / en": row[name] / english[name] for name in row}
        for language, row in rows.items()
    ]
    show(f"recall@{CUT}, {seeds} worlds, {embedder}", table, 2)


if __name__ == "__main__":
    main()
