"""The runs of a study: factors crossed, rows of a table, or Mesa's scenarios."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.arguments import encode
from mesa_memory.core.content import storable
from mesa_memory.core.text.redaction import hide
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import EmptyDesign
from mesa_memory.experiments.changes import ChangeAfter
from mesa_memory.experiments.studies.factors import Factor, label_of
from mesa_memory.hosts.mesa import arguments as mesa_arguments

#: hexadecimal digits of a case's key
KEY_DIGITS = 32


@dataclass(frozen=True)
class Case:
    """One run that a study wants.

    Attributes:
        parameters: what its model is made with.
        labels: the same as JSON, as it stands in tables.
        seed: of the model's random numbers; None lets Mesa draw one.
        replicate: tells runs apart that are equal in all else, from 0.
        changes: what begins in the middle of the run, by the name of its factor.
    """

    parameters: Mapping[str, Any]
    labels: Mapping[str, Any]
    seed: Any = None
    replicate: int = 0
    changes: Mapping[str, ChangeAfter] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same in all processes and sessions for the same run."""
        said = [hide(dict(self.labels)), encode(self.seed), self.replicate]
        text = json.dumps(said, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(storable(text).encode()).hexdigest()[:KEY_DIGITS]

    @property
    def beginning(self) -> str:
        """The same for runs that are the same before anything changes in them."""
        if not self.labels.keys() >= self.parameters.keys():  # one of Mesa's scenarios
            return self.key
        own = {name: self.labels[name] for name in self.parameters}
        return Case(self.parameters, own, self.seed, self.replicate).key


@dataclass(frozen=True)
class Design:
    """All cases of a study: each arm with each seed, ``replicates`` times.

    Attributes:
        factors: crossed with each other; empty if the arms are given one by one.
        rows: arms that were given one by one, as (parameters, labels).
        seeds: at least one.
        replicates: at least 1.
    """

    factors: tuple[Factor, ...]
    rows: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    seeds: tuple[Any, ...]
    replicates: int = 1

    @classmethod
    def of(cls, given: Any, seeds: Iterable[Any], replicates: int = 1) -> "Design":
        """A design as a user writes it.

        Args:
            given: factors by name, see ``Factor.of``; a DataFrame with a row for each
                arm and a column for each parameter; or a list of dicts or of Mesa's
                ``Scenario``.
            seeds: each arm is run with each of them.
            replicates: how many runs there are of each arm and seed.

        Raises:
            EmptyDesign: if there is nothing to run.
            TypeError: for anything else.
        """
        seeds = _seeds(seeds)
        replicates = checked_int("replicates", replicates)
        if hasattr(given, "to_dict") and hasattr(given, "columns"):
            given = given.to_dict("records")
        if isinstance(given, Mapping):
            factors = tuple(Factor.of(name, values) for name, values in given.items())
            return cls(factors, (), seeds, replicates)
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError(
                "a design is a dict of factors, a DataFrame, or a list of dicts or of "
                f"Mesa's scenarios, got {given!r:.80}"
            )
        if not given:
            raise EmptyDesign(
                "the design is a table without rows: give a table with "
                "at least one row."
            )
        return cls((), tuple(map(_row, given)), seeds, replicates)

    @property
    def arms(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Parameters and labels of each arm, in order."""
        if self.rows:
            return [(dict(values), dict(labels)) for values, labels in self.rows]
        crossed = itertools.product(*(factor.levels for factor in self.factors))
        names = [factor.name for factor in self.factors]
        return [
            (
                {name: level.value for name, level in zip(names, levels)},
                {name: level.label for name, level in zip(names, levels)},
            )
            for levels in crossed
        ]

    @property
    def cases(self) -> list[Case]:
        """All runs, arm by arm; what is equal in all is there once."""
        changing, found = self.changing, {}
        for values, labels in self.arms:
            changes = {n: v for n, v in values.items() if isinstance(v, ChangeAfter)}
            given = {
                name: value
                for name, value in values.items()
                if name not in changes and not (name in changing and value is None)
            }
            for seed in self.seeds:
                own = _seed_of(values, seed)
                for replicate in range(self.replicates):
                    case = Case(given, labels, own, replicate, changes)
                    found[case.key] = case
        return list(found.values())

    @property
    def changing(self) -> frozenset[str]:
        """The factors of which a level begins in the middle of a run."""
        return frozenset(
            name
            for values, _ in self.arms
            for name, value in values.items()
            if isinstance(value, ChangeAfter)
        )


def _seeds(seeds: Any) -> tuple[Any, ...]:
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise TypeError(
            f"seeds must be a list of seeds, such as range(10) or [1, 2, 3], got {seeds!r}"
        )
    found = tuple(seeds)
    if not found:
        raise EmptyDesign(
            "seeds is empty, so no run can be made: give at least one, such as seeds=[1]."
        )
    return found


def _row(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An arm that was given whole: its parameters and their labels."""
    if isinstance(given, mesa_arguments.scenario_class()):
        _, values = mesa_arguments.scenario_parts(given)
        labels = {name: encode(v) for name, v in values.items() if name != "rng"}
        return {"scenario": given}, labels
    if not isinstance(given, Mapping):
        raise TypeError(
            f"a row of a design is a dict or one of Mesa's scenarios, got {given!r:.80}"
        )
    return dict(given), {str(n): label_of(str(n), v) for n, v in given.items()}


def _seed_of(values: Mapping[str, Any], seed: Any) -> Any:
    """A scenario that has a seed of its own keeps it where none is given."""
    scenario = values.get("scenario")
    if seed is None and isinstance(scenario, mesa_arguments.scenario_class()):
        return mesa_arguments.scenario_parts(scenario)[1].get("rng")
    return seed
