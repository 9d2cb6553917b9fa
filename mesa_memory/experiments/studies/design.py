"""The runs of a study: factors crossed, rows of a table, or Mesa's scenarios."""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mesa_memory.core.codec import (
    NUMBER,
    OBJECT,
    TUPLE,
    encode,
    inside,
    mark_of,
    readable,
)
from mesa_memory.core.content import storable
from mesa_memory.core.text.redaction import hide
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import EmptyDesign
from mesa_memory.experiments.changes import ChangeAfter
from mesa_memory.hosts import mesa
from mesa_memory.runs.compare import differing_parameters
from mesa_memory.stores.studies import CaseRow

#: hexadecimal digits of a case's key, and of it in a name
KEY_DIGITS, NAME_DIGITS = 32, 6
#: longest level in a name, in characters
MAX_LEVEL_CHARS = 40
#: the module of a class in its label
_MODULE = re.compile(r"^(\w+\.)+\w+:")


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
        arms: parameters of the model and their labels of each arm, in order.
        seeds: at least one.
        replicates: at least 1.
    """

    arms: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    seeds: tuple[Any, ...]
    replicates: int = 1

    @classmethod
    def of(cls, given: Any, seeds: Iterable[Any], replicates: int = 1) -> "Design":
        """A design as a user writes it.

        Args:
            given: factors by name, see ``levels_of``; a DataFrame with a row for each
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
            given = _rows(given)
        if isinstance(given, Mapping):
            factors = [levels_of(name, values) for name, values in given.items()]
            arms = [
                (
                    {name: value for name, (_, value) in zip(given, levels)},
                    {name: label for name, (label, _) in zip(given, levels)},
                )
                for levels in itertools.product(*factors)
            ]
            return cls(tuple(arms), seeds, replicates)
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
        return cls(tuple(map(_row, given)), seeds, replicates)

    @property
    def cases(self) -> list[Case]:
        """All runs, arm by arm; common parameters are there once."""
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
    def settings(self) -> dict[str, str]:
        """The calls behind the labels of partials, by label."""
        return {
            str(labels[name]): described(value)
            for values, labels in self.arms
            for name, value in values.items()
            if isinstance(labels.get(name), str) and isinstance(value, partial)
        }

    def levels(self, factor: str) -> list[Any]:
        """The labels of a factor as they stand in tables, each once, in order."""
        found = [readable(labels.get(factor)) for _, labels in self.arms]
        return [level for i, level in enumerate(found) if level not in found[:i]]

    @property
    def factors(self) -> list[str]:
        """The names of all factors, in order."""
        return [*dict.fromkeys(name for _, labels in self.arms for name in labels)]

    @property
    def varied(self) -> list[str]:
        """The factors that have several levels."""
        return [name for name in self.factors if len(self.levels(name)) > 1]

    def first(self, seeds: int) -> "Design":
        """The same with its first seeds alone."""
        return replace(self, seeds=self.seeds[:seeds])

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
    found = tuple(map(_seed, seeds))
    if not found:
        raise EmptyDesign(
            "seeds is empty, so no run can be made: give at least one, such as seeds=[1]."
        )
    return found


def _seed(given: Any) -> Any:
    """A seed as every generator of random numbers takes it.

    Raises:
        TypeError: for an object, such as a generator, which runs would share.
    """
    seed = native(given)
    label = encode(seed)
    if any(mark_of(part) not in (None, NUMBER, TUPLE) for part in inside(label)):
        raise TypeError(
            f"a seed must be a whole number, got {given!r:.80}. Of a SeedSequence take "
            "the numbers: seeds=SeedSequence(1).generate_state(10)"
        )
    whole = isinstance(seed, float) and seed.is_integer()
    return int(seed) if whole else seed


def native(value: Any) -> Any:
    """A number of numpy as Python's own, which is also what a resumed run is given."""
    plain = isinstance(value, np.generic) and not isinstance(value, np.void)
    return value.item() if plain else value


def _rows(table: Any) -> list[dict[str, Any]]:
    """The rows of a DataFrame; what a row leaves empty is the model's default.

    An empty cell makes floats of a column of whole numbers; they are whole again here.
    """
    found = table.astype(object)
    for name in table.columns[table.isna().any()]:
        found[name] = table[name].convert_dtypes().astype(object)
    return [row.dropna().to_dict() for _, row in found.iterrows()]


def _row(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """An arm that was given whole: its parameters and their labels."""
    if isinstance(given, mesa.scenario_class()):
        labels = {name: encode(v) for name, v in vars(given).items() if name != "rng"}
        return {"scenario": given}, labels
    if not isinstance(given, Mapping):
        raise TypeError(
            f"a row of a design is a dict or one of Mesa's scenarios, got {given!r:.80}"
        )
    values = {name: native(value) for name, value in given.items()}
    return values, {str(n): label_of(str(n), v) for n, v in values.items()}


def _seed_of(values: Mapping[str, Any], seed: Any) -> Any:
    """A scenario that has a seed of its own keeps it where none is given."""
    scenario = values.get("scenario")
    if seed is None and isinstance(scenario, mesa.scenario_class()):
        return scenario.rng
    return seed


def levels_of(name: Any, values: Any) -> list[tuple[Any, Any]]:
    """Label (JSON) and value of each level of a factor, in order.

    Args:
        name: of an argument; or ``memory``, ``llm`` or a setting of ``configure`` that
            the model itself does not take.
        values: a list (or another iterable) of values; a dict of values by label;
            or one value, such as a text or a number, that is the same in all runs.

    Raises:
        EmptyDesign: for a factor without values.
        TypeError: for a value that needs a label, or a name that is not text.
        ValueError: for two changes of one label.
    """
    if not isinstance(name, str):
        raise TypeError(f"a factor's name must be a text, got {name!r}")
    if isinstance(values, Mapping):
        levels = [(str(label), native(value)) for label, value in values.items()]
    else:
        listed = map(native, _listed(values))
        levels = [(label_of(name, value), value) for value in listed]
    if not levels:
        raise EmptyDesign(
            f"the factor {name!r} has an empty list of values: give "
            "at least one, or leave the factor out."
        )
    found = {repr(level[0]): level for level in levels}
    for label, value in levels:
        if isinstance(value, ChangeAfter) and found[repr(label)][1] != value:
            raise ValueError(
                f"two changes of the factor {name!r} are called {label!r}: "
                "give each a label of its own, ChangeAfter(step, change, label=…)"
            )
    return list(found.values())


def label_of(name: str, value: Any) -> Any:
    """The label of a value: itself if it is plain data, ``module:name`` of a class.

    Raises:
        TypeError: for an object without a name of its own.
    """
    if isinstance(value, Callable) and not isinstance(value, partial):  # type: ignore[arg-type]
        qualified = getattr(value, "__qualname__", "<")
        if "<" not in qualified:
            return f"{value.__module__}:{qualified}"
    if isinstance(value, ChangeAfter) and "<" not in value.label:
        return value.label
    label = encode(value)
    nameless = [part for part in inside(label) if mark_of(part) == OBJECT]
    if nameless:
        raise TypeError(
            f"the value {value!r:.80} of the factor {name!r} lacks a name for the "
            "tables. Give it one: "
            f"{{{name!r}: {{'a name': {type(value).__name__}(…), …}}}}"
        )
    return label


def described(value: "partial[Any]") -> str:
    """A partial as the call that it makes, such as ``EpisodicMemory(max_capacity=20)``."""
    function = getattr(value.func, "__name__", type(value.func).__name__)
    given = [*map(_said, value.args)]
    given += [f"{name}={_said(item)}" for name, item in value.keywords.items()]
    return f"{function}({', '.join(given)})"


def _said(item: Any) -> str:
    label = encode(item)
    if any(mark_of(part) == OBJECT for part in inside(label)):
        return getattr(item, "__name__", type(item).__name__)
    return repr(readable(label))


def add_names(
    study: str, wanted: Iterable[dict[str, Any]], there: Iterable[CaseRow]
) -> None:
    """Adds the ``name`` of each run that is not there: ``Town/memory=stlt,seed=3``.

    It has the factors that differ between the runs of the study. A name that two runs
    would have gets a part of the case's key.

    Args:
        study: name of the study.
        wanted: cases as ``Studies.add_cases`` takes them.
        there: the cases in the store.
    """
    known = {row.key: row for row in there}
    new = [case for case in wanted if case["key"] not in known]
    given = [case["parameters"] for case in new]
    given += [row.parameters for row in known.values()]
    for case, levels in zip(new, differing_parameters(list(map(readable, given)))):
        told = {**levels, "seed": levels.get("seed", readable(case["seed"]))}
        told |= {"replicate": case["replicate"]} if case["replicate"] else {}
        if told["seed"] is None:
            del told["seed"]
        text = ",".join(f"{_short(name)}={_short(told[name])}" for name in told)
        case["name"] = f"{study}/{text or 'run'}"
    count = Counter([case["name"] for case in new] + [r.name for r in known.values()])
    for case in new:
        if count[case["name"]] > 1:
            case["name"] += f",case={case['key'][:NAME_DIGITS]}"


def _short(level: Any) -> str:
    """A factor or level without what an address or a command has to escape."""
    text = re.sub(r"[^\w.+-]+", "-", _MODULE.sub("", str(level)))
    return text[:MAX_LEVEL_CHARS]


def _listed(values: Any) -> Iterable[Any]:
    """Several values as a list; one value as a list of one."""
    if isinstance(values, str | bytes | type) or callable(values):
        return [values]
    if isinstance(values, set | frozenset):
        return sorted(values, key=repr)  # the order of a set differs between processes
    return values if isinstance(values, Iterable) else [values]
