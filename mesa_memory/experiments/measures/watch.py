"""Measures of a case's model, at the end of each step and of the run."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from mesa_memory.core.content import text_of
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import MeasureError
from mesa_memory.experiments.measures.values import collected, distinct_names, measured
from mesa_memory.hosts.mesa import CollectorReader, clock
from mesa_memory.llm.ledger import Budget
from mesa_memory.runtime.services import Services

logger = logger_of(__name__)

#: takes the model; or the name of an attribute
type Measure = Callable[[Any], Any] | str
#: by name
type Measures = Mapping[str, Measure]
#: who is measured, if it is the model itself
MODEL = ""


class Watch:
    """Measures a model, and copies the rows of its own DataCollector.

    Args:
        measures: by name, at the end of each step.
        outcomes: by name, at the end of the run.
        steps: at which the run ends.
    """

    def __init__(self, measures: Measures, outcomes: Measures, steps: float) -> None:
        self.measures, self.outcomes, self.steps = measures, outcomes, steps
        self._reader: CollectorReader | None = None

    def attach(self, model: Any, fresh: bool) -> None:
        """Begins to watch a model.

        Args:
            fresh: it is at its beginning, which is measured, too.

        Raises:
            AttributeError: if a new model lacks an attribute that is an outcome.
        """
        self._reader = CollectorReader(model)
        if fresh:
            self._reader.forget()
            check_attributes("outcomes", self.outcomes, model)

    def rows(self, model: Any) -> list[dict[str, Any]]:
        """New rows of the table ``measures``; the model stays unchanged."""
        found: dict[tuple[float, str], dict[str, Any]] = {}
        for step, agent, values in self._reader.new(model) if self._reader else ():
            key = (float(step), MODEL if agent is None else str(agent))
            taken = self.measures if agent is None else ()
            named = distinct_names(values, taken)
            told = {name: collected(value) for name, value in named.items()}
            found.setdefault(key, {}).update(told)
        now, ended = (float(clock(model)), MODEL), None
        if self.measures:
            told = _measured(model, "measures", self.measures)
            found.setdefault(now, {}).update(told)
        if self.outcomes and (clock(model) >= self.steps or not model.running):
            ended = _measured(model, "outcomes", self.outcomes)
            found.setdefault(now, {})
        return [
            {"step": key[0], "agent": key[1], "measured": values}
            | {"outcomes": ended if key == now else None}
            for key, values in found.items()
        ]


def check_attributes(what: str, measures: Measures, model: Any) -> None:
    """Raises for a measure that a model lacks.

    Args:
        what: ``"measures"`` or ``"outcomes"``.

    Raises:
        AttributeError: names the attributes that there are.
    """
    for name, measure in measures.items():
        # Named, not read: a property may have no value before the first step.
        if isinstance(measure, str) and measure not in dir(model):
            there = ", ".join(n for n in sorted(vars(model)) if n[0] != "_")
            raise AttributeError(
                f"{what}[{name!r}] is {measure!r}, and the {type(model).__name__} "
                f"lacks such an attribute; it has {there}. Give one of these, or "
                f"set self.{measure} in __init__"
            )


def check_functions(outcomes: Measures, model: Any) -> None:
    """Raises for an outcome that misspells an attribute, or gives what no table can keep.

    It is called without a budget, so it asks no language model. Most other errors may be
    right before the first step, and are left to the end of a run.

    Raises:
        AttributeError: names the attribute that is meant.
        MeasureError: if a table cannot keep the value.
    """
    Services.of(model).ledger.budget = Budget(calls=0)
    for name, outcome in outcomes.items():
        try:
            _measured(model, "outcomes", {name: outcome})
        except AttributeError as error:
            near = get_close_matches(error.name or "", dir(error.obj), 1)
            if near:
                raise AttributeError(
                    f"outcomes[{name!r}] reads {error.name!r}, and the "
                    f"{type(error.obj).__name__} lacks such an attribute: did you mean "
                    f"{near[0]!r}?"
                ) from error
        except (MeasureError, KeyboardInterrupt):
            raise
        except BaseException as error:  # also sys.exit
            told = text_of(error)
            logger.debug("outcome %s has no value at the beginning: %s", name, told)


def _measured(model: Any, what: str, measures: Measures) -> dict[str, Any]:
    """The values by name, as JSON."""
    return {
        name: measured(what, name, _value(model, name, each))
        for name, each in measures.items()
    }


def _value(model: Any, name: str, measure: Measure) -> Any:
    """One value; the random numbers of the model stay as they are."""
    before = model.random.getstate(), model.rng.bit_generator.state
    try:
        return getattr(model, measure) if isinstance(measure, str) else measure(model)
    except Exception as error:
        error.add_note(f"while {name!r} was measured at step {clock(model):g}")
        raise
    finally:
        model.random.setstate(before[0])
        model.rng.bit_generator.state = before[1]


def check_measures(name: str, given: Any) -> dict[str, Measure]:
    """Measures by name.

    Raises:
        TypeError: for anything but functions and names of attributes, by text.
    """
    if not isinstance(given, Mapping | None):
        raise TypeError(
            f"{name} must be a dict of functions of the model by name, got {given!r:.80}"
        )
    found = dict(given or {})
    for key, measure in found.items():
        named = isinstance(key, str)
        if not (named and (isinstance(measure, str) or callable(measure))):
            raise TypeError(
                f"{name} must be functions of the model, or names of its attributes, by a "
                f"text: {{'a name': function}}, got {{{key!r:.80}: {measure!r:.80}}}"
            )
    return found
