"""Calls, tokens and dollars of runs, before they are paid.

Two short runs without a language model (pilots), with a seed each, count requests by
purpose. The counts per agent and step go on to the run's last step and to all agents;
the range spans the two seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.experiments.estimates.estimate import Estimate
from mesa_memory.experiments.estimates.pilot import Pilot, arguments_of, run_pilot
from mesa_memory.llm.cost.price import FREE, Price
from mesa_memory.llm.doubles.policy import PROVIDER, PolicyInput

#: names of a model's argument for the number of agents, the likeliest first
AGENT_ARGUMENTS = (
    "n_agents", "num_agents", "number_of_agents", "agents", "n_people", "people",
    "population", "population_size", "n", "N",
)  # fmt: skip
#: agents times steps of both pilots together
EFFORT_AGENT_STEPS = 3000
#: number of pilots; steps and agents that a shortened pilot still has
PILOTS, MIN_STEPS, MIN_AGENTS = 2, 50, 8


def estimate(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    steps: int,
    llm: str | Sequence[str] = (),
    cached: float | None = None,
    replies: Mapping[str, float] | None = None,
    agents: int | None = None,
    runs: int = 1,
    prices: Mapping[str, Any] | None = None,
    policy: Callable[[PolicyInput], Any] | None = None,
    effort: int = EFFORT_AGENT_STEPS,
    seed: int = 0,
    since: int = 0,
    change: Callable[[Any], Any] | None = None,
) -> Estimate:
    """Forecasts the requests and the cost of runs of a model; sends and pays nothing.

    Args:
        model_class: makes the model; an argument ``llm`` gets ``"offline"`` in pilots.
        parameters: of the model.
        steps: of a run.
        llm: names of the models to be priced, such as ``"openai/gpt-5-mini"``.
        cached: share of the prompt tokens that the provider reads from its cache, 0 to
            1; None works it out from the prompts, as OpenAI documents its cache.
        replies: tokens of a reply by purpose, where you know better than the pilot: a
            language model may say more than the offline answers do.
        agents: number of agents, in the first of the model's arguments that is in
            ``AGENT_ARGUMENTS``; None is what ``parameters`` say. A model without such an argument
            has all its agents in the pilots.
        runs: number of runs, one for each seed.
        prices: prices of models that litellm's list does not have, by name: a ``Price``
            or US dollars per prompt token and per reply token.
        policy: answers for agents that reason with a provider's model.
        effort: agents times steps of both pilots.
        seed: of the first pilot; the second has the next one.
        since: a step; only what comes after it is counted.
        change: called with the model before each step; pilots then have all steps.

    Raises:
        ValueError: for a number out of its range.
    """
    given = dict(parameters or {})
    for size, value in (("steps", steps), ("runs", runs), ("effort", effort)):
        checked_int(size, value)
    if cached is not None and checked_number("cached", cached) > 1:
        raise ValueError(f"cached must be a share from 0 to 1, got {cached!r}")
    name, count = _agents(model_class, given, agents)
    few, length = _size(count, steps, effort // PILOTS)
    if name is not None:
        given[name] = few
    if change is not None:
        length = steps
    pilots = [
        run_pilot(model_class, given, length, seed + turn, policy, change)
        for turn in range(PILOTS)
    ]
    count = round(pilots[0].agents) if count is None else count
    counts = _counts(pilots, steps, since, count * runs, replies or {})
    priced = {
        model: _priced(counts, pilots[0], model, cached, prices or {})
        for model in ([llm] if isinstance(llm, str) else llm)
    }
    sizes = tuple((round(pilot.agents), pilot.steps) for pilot in pilots)
    return Estimate(count, steps, runs, counts, priced, sizes)


def _agents(
    model_class: Callable[..., Any], given: Mapping[str, Any], count: int | None
) -> tuple[str | None, int | None]:
    """The argument for the number of agents, and the number; None if unknown."""
    takes = arguments_of(model_class)
    for name in AGENT_ARGUMENTS:
        default = takes[name].default if name in takes else None
        value = given.get(name, default) if count is None else count
        if name in takes and isinstance(value, int) and value > 0:
            return name, value
    if count is not None:
        raise ValueError(
            f"agents={count!r} must be at least 1 for a model with an argument of one of "
            f"the names {', '.join(AGENT_ARGUMENTS)}; this model takes {', '.join(takes)}"
        )
    return None, None


def _size(count: int | None, steps: int, effort: int) -> tuple[int, int]:
    """Agents (1 if their number is unknown) and steps of a pilot."""
    if count is None:
        return 1, min(steps, max(MIN_STEPS, effort // 10))
    few = min(count, max(MIN_AGENTS, effort // min(steps, MIN_STEPS)))
    return few, max(min(steps, 2), min(steps, effort // few))


def _counts(
    pilots: Sequence[Pilot],
    steps: int,
    since: int,
    number: int,
    replies: Mapping[str, float],
) -> dict[str, np.ndarray]:
    """The counts of a number of agents over their runs; see ``Estimate.counts``."""
    found = {}
    for purpose in sorted({name for pilot in pilots for name in pilot.counts}):
        each = np.array([pilot.of_run(purpose, steps, since) for pilot in pilots])
        if purpose in replies:
            tokens = checked_number(f"replies[{purpose!r}]", replies[purpose])
            each[:, 3] = each[:, 0] * tokens
        found[purpose] = each * number
    return found


def _priced(
    by_purpose: Mapping[str, np.ndarray],
    pilot: Pilot,
    model: str,
    share: float | None,
    prices: Mapping[str, Any],
) -> np.ndarray:
    """All purposes at the price of one model; see ``Estimate.priced``."""
    price, total = _price_of(model, prices), np.zeros((PILOTS, 5))
    reads = price is not None and price.cached is not None
    for purpose, counts in by_purpose.items():
        prompt, reply = pilot.token_ratios(purpose, model)
        own = counts * np.array([1, prompt, prompt if reads else 0, reply, np.nan])
        if share is not None:
            own[:, 2] = own[:, 1] * share
        total += own
    total[:, 4] = [
        np.nan if price is None else price.cost(sent, said, read)
        for _, sent, read, said, _ in total
    ]
    return total


def _price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    if model in prices:
        return Price.of(prices[model])
    if model.partition("/")[0] == PROVIDER:
        return FREE
    from mesa_memory.llm.cost.pricing import price

    return price(model)
