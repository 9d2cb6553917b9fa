"""How much importance and recency should count: two benchmarks that disagree.

python -m benchmarks.recall.sweep --data FILE [--plot docs/_static/recall_weights.png]

Sweeps the weights of importance, recency and time match and the decay, one at a time, over
LoCoMo, where old facts are asked for, and over changing worlds, where the newest counts.
Relevance, what is taken off it, and the time asked for are computed once per question, with the defaults; a
record's rank is one more than the number of records that score higher. ``--seeds``
worlds are for choosing; ``benchmarks.recall.world`` reports on others.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.figure import Figure

from benchmarks.recall.corpus import Corpus, index_of, recall_at
from benchmarks.recall.history import PHRASINGS, world
from benchmarks.recall.locomo import corpus_of
from benchmarks.recall.remembered import RememberedEmbedder
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring, importance_of, recency_part

IMPORTANCES = (0.0, 0.05, 0.1, 0.2, 0.4)
RECENCIES = (0.0, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
DECAYS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)
TIME_MATCHES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 1.0)
#: colours that stay apart for colour-blind readers (Okabe and Ito)
LINES = {
    "LoCoMo, recall@10": ("locomo@10", "#0072B2", "o"),
    "LoCoMo, recall@25": ("locomo@25", "#56B4E9", "s"),
    "world, present, recall@5": ("present", "#D55E00", "^"),
    "world, past, recall@5": ("past", "#009E73", "v"),
    "world, unchanged, recall@5": ("unchanged", "#CC79A7", "D"),
}


@dataclass(frozen=True)
class Asked:
    """A question's parts before weighting, one value for each record."""

    kind: str
    relevance: np.ndarray
    importance: np.ndarray
    age: np.ndarray
    since: np.ndarray  # how long before the time asked for; infinite if later or none
    evidence: list[int]


def asked(corpus: Corpus, embedder: Any, kind: str = "") -> Iterator[Asked]:
    """Each question of a corpus; ``kind`` names those that have none."""
    index, scoring = index_of(corpus, embedder), Scoring()
    places = {item.id: place for place, item in enumerate(corpus.items)}
    importance = np.array([importance_of(item.grade) for item in corpus.items])
    age = corpus.now - np.array([item.step for item in corpus.items], dtype=float)
    for question in corpus.questions:
        relevance, near = np.zeros(len(places)), np.zeros(len(places))
        recent = False
        for found in index.recall(
            question.text,
            vector=embedder.embed([index.body(question.text, scoring)])[0],
            source=embedder.name,
            now=corpus.now,
        ):
            at = places[found.record.id]
            parts = found.parts
            relevance[at], near[at] = parts["relevance"], parts["time_match"]
            relevance[at] += scoring.superseded * parts["superseded"]
            relevance[at] += scoring.question_penalty * parts["question"]
            recent = recent or parts["recency"] > 0
        with np.errstate(divide="ignore"):
            since = np.log(near) / np.log(scoring.decay)
        evidence = [places[name] for name in question.evidence]
        aged = age if recent else np.full(len(age), np.inf)  # of the past, none counts
        yield Asked(question.kind or kind, relevance, importance, aged, since, evidence)


def ranks(question: Asked, scoring: Scoring) -> list[int]:
    """Of each piece of evidence; of equal scores all have the best rank."""
    score = question.relevance + scoring.importance * question.importance
    for weight, age in [
        (scoring.recency, question.age),
        (scoring.time_match, question.since),
    ]:
        score = score + weight * recency_part(-age, 0.0, scoring.decay)
    return [1 + int(np.count_nonzero(score > score[e])) for e in question.evidence]


def measure(questions: Sequence[Asked], scoring: Scoring) -> dict[str, float]:
    """The figures of one setting, in percent."""
    found: dict[str, list[list[int]]] = {}
    for question in questions:
        kind = question.kind.partition(":")[0]
        found.setdefault(kind, []).append(ranks(question, scoring))
    row = {k: recall_at(5, found[k]) for k in found if k != "locomo"}
    for cut in (5, 10, 25):
        row[f"locomo@{cut}"] = recall_at(cut, found.get("locomo", []))
    return row


def sweep(questions: Sequence[Asked]) -> list[dict[str, float]]:
    """Each setting by itself, the others at their defaults, as rows of a table."""
    values = {
        "recency": RECENCIES, "importance": IMPORTANCES, "time_match": TIME_MATCHES,
        "decay": DECAYS,
    }  # fmt: skip
    tried = [
        replace(Scoring(), **{name: value}) for name in values for value in values[name]
    ]
    return [
        {name: getattr(scoring, name) for name in values} | measure(questions, scoring)
        for scoring in dict.fromkeys(tried)
    ]


def plot(rows: Iterable[dict[str, float]]) -> Figure:
    """Recall over one setting at a time, the others at their defaults."""
    chosen = Scoring()
    names = ("recency", "importance", "time_match", "decay")
    default = {name: getattr(chosen, name) for name in names}
    rows = list(rows)
    figure = Figure(figsize=(12.5, 4.4), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True)
    for axes, name in zip(panels, default):
        others = {key: value for key, value in default.items() if key != name}
        line = [r for r in rows if all(r[k] == v for k, v in others.items())]
        line.sort(key=lambda row: row[name])
        places = range(len(line))
        for label, (column, colour, marker) in LINES.items():
            values = [row[column] for row in line]
            axes.plot(places, values, color=colour, marker=marker, label=label)
        axes.set_xticks(places, [f"{row[name]:g}" for row in line], rotation=45)
        at = [row[name] for row in line].index(default[name])
        axes.axvline(at, color="#333333", linewidth=1, linestyle="--")
        title = "decay" if name == "decay" else f"weight of {name.replace('_', ' ')}"
        axes.set(xlabel=f"{title} (dashed: default)", ylim=(0, 100))
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
    panels[0].set_ylabel("evidence found (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--seeds", default=5, show_default=True, help="Worlds to choose by.")
@click.option("--phrasing", type=click.Choice(list(PHRASINGS)), default="direct")
@click.option("--plot", "picture", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="All rows as JSON.")
def main(
    data: Path, seeds: int, phrasing: str, picture: Path | None, as_json: bool
) -> None:
    """Sweeps the weights over both benchmarks."""
    embedder = RememberedEmbedder(embedder_of("static"))
    loaded = json.loads(data.read_text(encoding="utf-8"))
    questions = [
        question
        for conversation in loaded["conversations"]
        for question in asked(corpus_of(conversation), embedder, "locomo")
    ]
    for seed in range(seeds):
        questions += asked(world(seed, phrasing=phrasing), embedder)
    rows = sweep(questions)
    if picture is not None:
        plot(rows).savefig(picture, dpi=160)
    if as_json:
        click.echo(json.dumps(rows))
        return
    click.echo("".join(f"{column:>12}" for column in rows[0]))
    for row in rows:
        click.echo("".join(f"{value:12g}" for value in row.values()))


if __name__ == "__main__":
    main()
