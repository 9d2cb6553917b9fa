"""The scorings that the recall benchmarks compare, and the table that they print."""

from ast import literal_eval
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from benchmarks.recall.corpus import Corpus, Ranker, measure, ours
from benchmarks.recall.published import PUBLISHED
from benchmarks.recall.remembered import RememberedEmbedder
from benchmarks.tables import show
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring


def alone(lexical_share: float) -> Scoring:
    """Relevance by itself, without names, neighbours, sessions and times."""
    return Scoring(
        1.0, 0.0, 0.0, 1.0, lexical_share, (0.0, 0.0), 0.0, time_match=0.0,
        session_weights=(0.0, 0.0), question_penalty=0.0,
    )  # fmt: skip


SCORINGS: dict[str, Callable[[], Scoring]] = {
    "default": Scoring,
    "relevance_only": Scoring.relevance_only,
    "generative_agents": Scoring.generative_agents,
    "mesa_llm": Scoring.mesa_llm,
    "cosine": partial(alone, 0.0),
    "bm25": partial(alone, 1.0),
    "mix": partial(alone, 0.4),
}


def options(command: Any) -> Any:
    """Adds the options of ``compare`` to a command."""
    for option in (
        click.option("--embedder", default="static", show_default=True),
        click.option("--all", "every", is_flag=True, help="The other scorings, too."),
        click.option(
            "--set", "settings", multiple=True, metavar="NAME=VALUE",
            help="One more row: the default with this setting, as recency=0.3.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def compare(
    title: str,
    corpora: Sequence[Corpus],
    embedder: str,
    every: bool,
    settings: Sequence[str],
    by: Callable[[Sequence[Corpus], Any, Ranker], dict[str, float]] = measure,
) -> None:
    """Prints the figures of each scoring.

    Args:
        title: of the table.
        corpora: what is asked.
        embedder: its name, as in ``configure``.
        every: all scorings, not the default alone.
        settings: ``name=value`` of one setting; a row for each.
        by: makes the figures of a row.
    """
    rankers = {n: ours(make()) for n, make in SCORINGS.items()} | PUBLISHED
    if not every:
        rankers = {"default": rankers["default"]}
    for setting in settings:
        name, _, value = setting.partition("=")
        rankers[setting] = ours(Scoring(**{name: literal_eval(value)}))
    model = RememberedEmbedder(embedder_of(embedder))
    rows = [{"scoring": n} | by(corpora, model, r) for n, r in rankers.items()]
    show(f"{title}, {embedder}", rows)
