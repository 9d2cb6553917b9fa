"""A recorded run: what its agents remembered, when, why, and at what cost."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

from mesa_memory.runs import (
    calls,
    provenance,
    recalls,
    state,
    versions,
)
from mesa_memory.runs import (
    export as exporting,
)
from mesa_memory.runs import (
    search as searching,
)
from mesa_memory.runs.compare import Difference, first_difference
from mesa_memory.runs.statements import Statements
from mesa_memory.runs.stored import overview


class Run(Statements):
    """One run of a store, to be asked; made by ``open_run``.

    Nothing is ever written. Agents are named by their unique ids, records by their ids,
    steps by the model's clock. Queries give a pandas DataFrame, or with
    ``as_records=True`` a list of dicts. While the run goes on, each query sees all that
    is written by then. Agents, steps and records that are not there are a
    ``ValueError`` that names some of those that are; what is wrong with the store is a
    ``StoreError``.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self._reader.location}: {self.model}>"

    def close(self) -> None:
        """Ends the connections to the store."""
        self._reader.close()

    def runs(self, *, as_records: bool = False) -> Any:
        """All runs of the store, oldest first."""
        return overview(self._reader).given(as_records)

    def agents(self, *, as_records: bool = False) -> Any:
        """Each agent: class, memory, layers, and how many records from when to when.

        ``first_step`` and ``last_step`` are the steps by whose end its first and last
        record were written; None after the last finished step.
        """
        return state.agents(self._run).given(as_records)

    def state(
        self,
        agent: Any,
        step: float | None = None,
        layer: str | None = None,
        kind: str | None = None,
        *,
        as_records: bool = False,
    ) -> Any:
        """What an agent remembered at the end of a step, in the order it came.

        Args:
            agent: its unique id.
            step: a finished step; None is the last one.
            layer, kind: only this one; None is all.
            as_records: a list of dicts instead of a DataFrame.
        """
        return state.state(self._run, agent, step, layer, kind).given(as_records)

    def history(
        self,
        record: str | None = None,
        *,
        agent: Any = None,
        layer: str | None = None,
        kind: str | None = None,
        as_records: bool = False,
    ) -> Any:
        """What was done to make and to end memories, oldest first; see ``versions``.

        Args:
            record: the id of one; the versions before and after it count, too.
            agent: instead of a record, everything of an agent.
            layer, kind: only this one of the agent's.
            as_records: a list of dicts instead of a DataFrame.
        """
        told = versions.history(self._run, record, agent, layer, kind)
        return told.given(as_records)

    def because(self, record: str, *, as_records: bool = False) -> Any:
        """The evidence of a record down to raw events, depth first.

        A source that the run does not have is ``missing``; one that was told further up
        is ``repeated``, without what is below it.
        """
        return provenance.because(self._run, record).given(as_records)

    def tree(self, record: str) -> dict[str, Any]:
        """The evidence of a record as nested dicts; below each are its ``sources``."""
        return provenance.tree(self._run, record)

    def recalls(
        self, agent: Any, step: float | None = None, *, as_records: bool = False
    ) -> Any:
        """What came to an agent's mind, one row for each candidate of each recall."""
        return recalls.recalls(self._run, agent, step).given(as_records)

    def prompts(
        self, agent: Any, step: float | None = None, *, as_records: bool = False
    ) -> Any:
        """The texts of memory that an agent was shown, in order."""
        return recalls.prompts(self._run, agent, step).given(as_records)

    def prompt(self, agent: Any, step: float | None = None) -> str:
        """The memory that an agent saw at a step, exactly.

        Several texts have an empty line between them; nothing shown is ``""``. None is
        the last finished step.
        """
        shown = self.prompts(agent, self._run.step(step), as_records=True)
        return "\n\n".join(row["text"] or "" for row in shown)

    def calls(
        self,
        agent: Any = None,
        step: float | None = None,
        purpose: str | None = None,
        *,
        as_records: bool = False,
    ) -> Any:
        """The requests to language models, in the order they were recorded."""
        return calls.calls(self._run, agent, step, purpose).given(as_records)

    def cost(
        self, by: str | Sequence[str] = ("purpose",), *, as_records: bool = False
    ) -> Any:
        """Calls, tokens, US dollars and seconds, summed.

        Args:
            by: any of purpose, agent, step, model, cached, finish; nothing is one row
                for all. A ``cost`` is None if any call's price is unknown; ``unpriced``
                is how many these are.
            as_records: a list of dicts instead of a DataFrame.
        """
        return calls.cost(self._run, by).given(as_records)

    def interventions(self, *, as_records: bool = False) -> Any:
        """What a researcher did to memories, in order."""
        return state.interventions(self._run).given(as_records)

    def search(
        self,
        text: str,
        agent: Any = None,
        step: float | None = None,
        k: int | None = 10,
        kinds: str | Collection[str] | None = None,
        *,
        across: bool = False,
        embedder: Any = "static",
        as_records: bool = False,
    ) -> Any:
        """Records by meaning and words, best first.

        Of up to 1,000 records all are ranked, as a memory ranks its own. Of more, the
        most promising 1,000: half by the embedding, half by rare words in common.

        Args:
            text: what it is about.
            agent: only its records; None is all agents.
            step: only what was current at the end of it; None is all there ever was.
            k: at most ``k`` of them; None is all that were ranked.
            kinds: only these.
            across: in all runs of the store.
            embedder: the one the run was recorded with, as for ``configure``; what it
                did not embed, is embedded now.
            as_records: a list of dicts instead of a DataFrame.
        """
        asked = (text, agent, step, k, kinds, across, embedder)
        return searching.search(self._run, *asked).given(as_records)

    def differences(self, other: "Run") -> Difference | None:
        """The first difference to another run, of any store; None if they are equal."""
        return first_difference(self._run, other._run)

    def export(self, folder: str | Path, format: str = "csv") -> list[Path]:
        """Writes the run's tables as files; see ``export``.

        Args:
            folder: made if need be; must not hold files of these names.
            format: ``"csv"``, ``"jsonl"`` or ``"parquet"``, which needs pyarrow.

        Returns:
            The files.
        """
        return exporting.export(self._run, folder, format)
