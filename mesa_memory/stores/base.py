"""The plain data that a store of recorded runs takes, the same for every database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AUTO, ROLLBACK = JOURNALS = ("auto", "rollback")


@dataclass
class RunInfo:
    """A run before its first step.

    Attributes:
        model: name of the model's class.
        parameters: the arguments of the model, as plain data.
        seed: as text.
        versions: of the packages that matter.
        name: the user's own name for the run.
        parent, parent_step: the run this one was forked from, and after which step.
    """

    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    parent: int | None = None
    parent_step: float | None = None


@dataclass
class Batch:
    """The changes of one step, each list in the order in which they happened.

    A row is a dict with the columns of its table (``schema``) except ``run`` and
    ``seq``; a column left out is NULL. The store sets ``seq`` in the rows it numbers,
    and changes nothing else.

    Attributes:
        step: the model's clock.
        opened: rows of ``records``; without a ``text``, it is made from kind and content.
        graded: (record id, importance, step at which it was known).
        closed: (record id, valid_to, closed_because, superseded_by or None).
        staled: (record id, stale_since).
        recalls, prompts, calls, interventions, answers, scenes: rows of these tables.
        probes: further rows of ``calls``, numbered apart; see ``schema.PROBES``.
        agents, prompt_files, vectors, measures, responses: rows of these tables; one that is there
            already is replaced.
        unfinished: rows of ``unfinished_calls``: they stay until a later batch of the
            list has ended their step.
        checkpoint: state by agent, ``""`` for the model; None for no checkpoint.
        kept: whether the checkpoint stays when there are newer ones.
        finished: False leaves the step without a row in ``steps``: events between
            two steps.
        extends: whether changes between two steps belong to the end of the first, as
            in its checkpoint; they stay when the run is taken back to that step.
    """

    step: float
    opened: list[dict[str, Any]] = field(default_factory=list)
    graded: list[tuple[str, float | None, float]] = field(default_factory=list)
    closed: list[tuple[str, float, str | None, str | None]] = field(
        default_factory=list
    )
    staled: list[tuple[str, float]] = field(default_factory=list)
    recalls: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    interventions: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    scenes: list[dict[str, Any]] = field(default_factory=list)
    agents: list[dict[str, Any]] = field(default_factory=list)
    prompt_files: list[dict[str, Any]] = field(default_factory=list)
    vectors: list[dict[str, Any]] = field(default_factory=list)
    measures: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    unfinished: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: dict[str, Any] | None = None
    kept: bool = False
    finished: bool = True
    extends: bool = False


@dataclass(frozen=True)
class Options:
    """Options of a store.

    Attributes:
        read_only: nothing is written.
        timeout: seconds to wait for another writer.
        journal: one of ``JOURNALS``, of a SQLite file.
    """

    read_only: bool = False
    timeout: float = 30.0
    journal: str = AUTO
