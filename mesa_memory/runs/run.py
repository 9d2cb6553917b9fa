"""A recorded run: memories by step, with their evidence, recalls and costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import select

import mesa_memory.runs.decisions as decisions
import mesa_memory.runs.drift as drifting
import mesa_memory.runs.export as exporting
import mesa_memory.runs.measured as measured
import mesa_memory.runs.panel as panels
import mesa_memory.runs.queries as queries
import mesa_memory.stores.schema as schema
from mesa_memory.core.codec import readable
from mesa_memory.runs.compare import (
    Difference,
    Parting,
    differing_parameters,
    first_difference,
)
from mesa_memory.runs.queries import Queries
from mesa_memory.stores.open import open_store, split_run
from mesa_memory.stores.sql import Store

#: agents that a notebook lists
LISTED_AGENTS = 20
#: names that users look for, and the method that answers
_ELSEWHERE = {
    "messages": "history(agent=1, kind='message')",
    "events": "history(agent=1)",
    "memory": "state(agent=1)",
    "explain": "recalls(agent=1)",
}


class Run(Queries):
    """One run of a store, for queries; made by ``open_run``.

    Nothing is ever written. Agents are named by their unique ids, records by their ids,
    steps by the model's clock. Queries give a pandas DataFrame, or with
    ``as_records=True`` a list of dicts. While the run goes on, each query sees all rows
    written by then. A missing agent, step or record is a ``ValueError`` with some of the
    existing ones; an unreadable store is a ``StoreError``. Statements in SQL serve
    where a method is missing.
    """

    def __init__(self, store: Store, number: int, lent: bool = False) -> None:
        super().__init__(store, number)
        self._lent = lent

    @property
    def name(self) -> str | None:
        """The run's name, if it was given one."""
        return self._told("name")

    @property
    def model(self) -> str:
        """The class of the model."""
        return self._told("model")

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the model; a word in brackets stands for a missing one.

        Secrets and objects are not recorded.
        """
        return readable(self._told("parameters") or {})

    @property
    def seed(self) -> str | None:
        """The seed of the model's random numbers."""
        return self._told("seed")

    @property
    def started(self) -> str:
        """The ISO time at which it began."""
        return self._told("started")

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the packages that made the run."""
        return self._told("versions") or {}

    @property
    def status(self) -> str:
        """``"running"``, ``"finished"``, ``"stopped"`` or ``"failed"``."""
        return self._told("state")

    @property
    def parent(self) -> int | None:
        """The run that this one was forked from."""
        return self._told("parent")

    @property
    def parent_step(self) -> float | None:
        """The step after which it was forked."""
        return self._told("parent_step")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.location}: {self.model}>"

    if not TYPE_CHECKING:  # type checkers find wrong names by themselves

        def __getattr__(self, name: str) -> Any:
            hint = f": see run.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
            raise AttributeError(f"a Run lacks {name!r}{hint}", name=name, obj=self)

    def _repr_html_(self) -> str:
        """The run as a notebook shows it: its parameters and its first agents."""
        import pandas

        steps = self.steps
        facts = {
            "model": self.model,
            "name": self.name,
            "state": self.status,
            "seed": self.seed,
            "steps": f"{len(steps)}, to {steps[-1]:g}" if steps else "none finished",
            "parameters": ", ".join(f"{k}={v}" for k, v in self.parameters.items()),
        }
        told = pandas.Series(facts).to_frame().to_html(header=False, na_rep="")
        agents = self.agents().to_html(index=False, max_rows=LISTED_AGENTS, na_rep="")
        return f"<div><h4>Run {self.id}</h4>{told}<h4>Agents</h4>{agents}</div>"

    def close(self) -> None:
        """Ends the connections to the store."""
        if not self._lent:
            self.store.close()

    def runs(self, *, as_records: bool = False) -> Any:
        """All runs of the store, oldest first."""
        return queries.overview(self.store).given(as_records)

    def prompt(self, agent: Any, step: float | None = None) -> str:
        """The memory that an agent saw at a step, exactly.

        Several texts have an empty line between them; nothing shown is ``""``. None is
        the last finished step.
        """
        shown = self.prompts(agent, self.step(step), as_records=True)
        return "\n\n".join(row["text"] or "" for row in shown)

    def decisions(
        self, agent: Any = None, step: float | None = None, *, as_records: bool = False
    ) -> Any:
        """The requests of agents themselves: one row for each, in order of asking.

        ``system`` and ``question`` were sent; ``question_only`` has ``[its memory]`` in
        the place of the memory's text. ``memory`` is the text of the agent's
        memory in them, and ``recalled`` the lines of it that a recall found: ``id``,
        ``text``, ``score``, and ``used`` if the answer or the arguments of its tools
        have the words of the line. ``answer`` and ``tool_calls`` came back; each call
        has ``name``, ``arguments`` and ``result`` (None if no event has it). ``tools``
        are the names of all tools in the request. ``followed`` are the events of the
        agent until its next request (``id``, ``text``): results of tools, words, plans.
        """
        return decisions.decisions(self, agent, step).given(as_records)

    def outcomes(self, *, as_records: bool = False) -> Any:
        """The agents' attributes named in ``configure(outcomes=…)``, after each step.

        One row for each step and agent, in this order, with a column for each attribute;
        None where an agent did not have it. One called ``step`` or ``agent`` begins
        with ``own_``.
        """
        return measured.outcomes(self).given(as_records)

    def differences(self, other: "Run", events: bool = False) -> Difference | None:
        """The first difference to another run, of any store; None if they are equal.

        Args:
            other: the other run.
            events: compare only what happened to the agents, by agent, kind, step and
                text, as is right for runs with different classes of memory. By default
                all that was recorded is compared, record by record.
        """
        return first_difference(self, other, events)

    def parting(self, other: "Run", events: bool | None = None) -> Parting:
        """The point at which two runs part, and the parameters that differ.

        Args:
            other: the other run, of any store.
            events: see ``differences``; None is True if the agents of the two runs have
                memories of different classes.
        """
        if events is None:
            events = self.memory_classes != other.memory_classes
        mine, theirs = differing_parameters([self.parameters, other.parameters])
        return Parting(self.differences(other, events), events, (mine, theirs))

    def drift(self, agent: Any = None, *, as_records: bool = False) -> Any:
        """Changes of statements by the summaries, stories and insights that rest on them.

        A row for each statement of a record's sources, whose ``fate`` is ``"kept"``,
        ``"changed"`` or ``"omitted"``, and for each sentence that was ``"added"``;
        ``generation`` counts rewritings. No model is asked.

        Args:
            agent: its unique id; None is all agents.
            as_records: a list of dicts instead of a DataFrame.
        """
        return drifting.drift(self, agent).given(as_records)

    def export(self, folder: str | Path) -> list[Path]:
        """Writes the run's tables as CSV files; see ``export``.

        Args:
            folder: made if need be; must not hold files of these names.

        Returns:
            The files.
        """
        return exporting.export(self, folder)

    def panel(
        self,
        path: str | Path | None = None,
        *,
        facts: Mapping[str, str] | None = None,
        texts: bool = True,
    ) -> Any:
        """Panel data: one row for each agent and step that it lived.

        It has classes, place, attributes, variables of a study's DataCollector, records by
        layer, lines shown, requests, answer, action and dollars. The codebook has unit, meaning and
        source of each column; in a DataFrame it is ``attrs["codebook"]``. Requests of the
        model itself, or of an agent that was gone at the end of the step, are rows with
        ``present`` False, so that sums are those of ``cost``.

        Args:
            path: a new file ``.parquet`` (with the extra ``parquet``) or ``.csv``;
                ``codebook.csv`` is written beside it. None gives a DataFrame.
            facts: texts by name; ``holds_NAME`` is True if a record states one, see
                ``metrics.holders``.
            texts: False leaves out what agents said, and values that are not numbers.

        Raises:
            FileExistsError: if one of the files exists.
            ValueError: for another ending of ``path``, or a fact without words.
        """
        frame = panels.panel(self, facts, texts).frame()
        return frame if path is None else panels.write(frame, path)

    def _told(self, name: str) -> Any:
        runs = schema.runs.c
        return self.rows(select(runs[name]).where(runs.id == self.id))[0][0]


def open_run(store: str | Path | Store, run: int | str | None = None) -> Run:
    """Opens a recorded run to be read; it may still be going on.

    The store is not changed.

    Args:
        store: path or address as for ``configure(model, record=…)``, such as
            ``"run.sqlite"`` or, for its third run, ``"run.sqlite#3"``; or a store that is open, which the run's ``close`` leaves open.
        run: number or name; None is the newest run in the store.

    Raises:
        StoreError: if the store does not exist or cannot be read.
        ValueError: if the store lacks the run; lists its runs.
    """
    if isinstance(store, str | Path):
        if run is None:
            store, run = split_run(str(store))
        opened = open_store(store, read_only=True)
        try:
            return Run(opened, opened.run_id(run))
        except BaseException:
            opened.close()
            raise
    return Run(store, store.run_id(run), lent=True)
