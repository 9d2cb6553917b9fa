"""Makes the model of a case: its arguments, memories and services."""

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Any

from mesa_memory.core.codec import encode
from mesa_memory.experiments.changes import ChangeAfter, give_memory
from mesa_memory.experiments.studies.design import Case
from mesa_memory.hosts import mesa
from mesa_memory.hosts.mesa import clock
from mesa_memory.llm.base import LLMSettings
from mesa_memory.memories import registry
from mesa_memory.runs.recording.configure import equip
from mesa_memory.runs.recording.parameters import of_model, sealed

MEMORY, RECORD, SCENARIO = "memory", "record", "scenario"
SEEDS = ("seed", "rng")
#: what ``configure`` takes in the place of a model that does not
SERVICES = frozenset(
    {"llm", "offline", "execution", "max_pending_steps", "on_failure", "embedder", "cache"}
    | {item.name for item in fields(LLMSettings)}
)  # fmt: skip


@dataclass(frozen=True)
class Arm:
    """Makes the model of a case, the same one each time.

    Attributes:
        model: the class, or a function that makes the model.
        arguments: by name, its seed among them.
        memory: makes each agent's memory; None leaves the agents theirs.
        services: for ``configure``.
        seed: of the run, as plain data: runs of one seed share cached answers.
        takes_record: True if the model itself is told where to record.
        changes: what begins in the middle of the run.
    """

    model: Callable[..., Any]
    arguments: Mapping[str, Any]
    memory: Any = None
    services: Mapping[str, Any] = field(default_factory=dict)
    seed: Any = None
    takes_record: bool = False
    changes: tuple[ChangeAfter, ...] = ()

    @classmethod
    def of(cls, model: Callable[..., Any], case: Case) -> "Arm":
        """The arm of a case.

        Raises:
            TypeError: if the model takes no such argument.
            UnknownMemory: if a name leads to no memory.
        """
        own, any_name = _arguments(model)
        arguments, services, memory = {}, {}, None
        for name, value in case.parameters.items():
            if name in own:
                arguments[name] = value
            elif name == MEMORY:
                memory = registry.find(value) if isinstance(value, str) else value
            elif name in SERVICES:
                services[name] = value
            elif any_name:
                arguments[name] = value
            else:
                raise TypeError(_no_argument(model, name, own))
        known, named = registry.own_memories(model), arguments.get(MEMORY)
        if isinstance(named, str) and known is not None:
            registry.find(named, known)  # before anything is run
        if case.replicate:
            services["replicate"] = case.replicate
        arguments |= _seeding(model, case, own, any_name)
        record, changes = RECORD in own and memory is None, tuple(case.changes.values())
        own_seed = [case.labels.get(name) for name in SEEDS]  # a factor may be one
        seed = [encode(case.seed), *own_seed]
        return cls(model, arguments, memory, services, seed, record, changes)

    @property
    def parts(self) -> list[tuple[str, Any]]:
        """All that the user has given for it, with names."""
        named = {MEMORY: self.memory, **self.arguments, **self.services}
        factors = [(f"the factor {name!r}", value) for name, value in named.items()]
        changes = [(f"the change {each.label!r}", each.change) for each in self.changes]
        return [("the model", self.model), *factors, *changes]

    def make(self, record: Any = None, after: float = 0) -> Any:
        """A new model.

        Args:
            record: see ``configure``; None records nothing.
            after: it is going to be put where a run was at the end of this step, with
                the memories that everyone had by then.
        """
        arguments = dict(self.arguments)
        if SCENARIO in arguments:  # Mesa's is of one model only
            arguments[SCENARIO] = deepcopy(arguments[SCENARIO])
        services = dict(self.services)
        if record is not None:
            (arguments if self.takes_record else services)[RECORD] = record
        made = self.model(**arguments)
        equip(made, self.memory, services, self.seed)
        for change in sorted(self.changes, key=lambda change: change.step):
            if change.step < after and change.memory is not None:
                give_memory(made, change.memory)
        return made

    def recipe(self, model: Any, location: str) -> dict[str, Any]:
        """The arguments and settings of a model, see ``resume.keep_recipe``."""
        given = None if isinstance(self.model, type) else self.arguments
        beside = {MEMORY: self.memory, **self.services}
        return {
            "arguments": of_model(model, location, given),
            "beside": sealed(beside, location),
            "seed": self.seed,
            "changes": {change.label: change.step for change in self.changes},
        }

    def change(self, model: Any) -> None:
        """Makes the changes of a model that are due now."""
        for change in self.changes:
            if change.step == clock(model):
                change.apply(model)


def _arguments(model: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of a model's arguments, and whether it takes any other name."""
    parameters = inspect.signature(model).parameters.values()
    various = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = [each.name for each in parameters if each.kind not in various]
    return names, any(each.kind is each.VAR_KEYWORD for each in parameters)


def _seeding(
    model: Callable[..., Any], case: Case, own: list[str], any_name: bool
) -> dict[str, Any]:
    """The arguments that seed the model, as Mesa's ``batch_run`` chooses them."""
    scenario = case.parameters.get(SCENARIO)
    if isinstance(scenario, mesa.scenario_class()):
        return {SCENARIO: mesa.seeded_scenario(scenario, case.seed)}
    for name in SEEDS:
        if name in case.parameters:
            return {}
        if name in own:
            return {name: case.seed}
    if any_name:
        return {"rng": case.seed}
    if case.seed is None:
        return {}
    raise TypeError(
        f"{_name(model)} takes neither rng nor seed, so the seed {case.seed!r} would "
        "change nothing. Let its __init__ take rng=None and hand it to "
        "super().__init__(rng=rng), or study it with seeds=[None]."
    )


def _no_argument(model: Any, name: str, own: list[str]) -> str:
    takes = ", ".join([n for n in own if n != RECORD]) or "no arguments"
    return (
        f"{_name(model)} has no argument {name!r}: it takes {takes}. Besides those, a "
        f"factor may be {MEMORY!r}, or one of {', '.join(sorted(SERVICES))}."
    )


def _name(model: Any) -> str:
    return getattr(model, "__qualname__", repr(model))
