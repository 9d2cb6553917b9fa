"""Calls, tokens and dollars of runs, before they are paid.

Two short runs without a language model (pilots), with a seed each, count requests by
purpose. The counts per agent and step go on to the run's last step and to all agents;
the range is that of the two seeds.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.experiments.estimates.estimate import Estimate, Priced
from mesa_memory.experiments.estimates.pilot import Pilot, run_pilot
from mesa_memory.llm.cost.price import FREE, Price
from mesa_memory.llm.doubles.policy import PROVIDER, Turn

#: names of a model's argument for the number of agents, the likeliest first
AGENTS = (
    "n_agents", "num_agents", "number_of_agents", "agents", "n_people", "people",
    "population", "population_size", "n", "N",
)  # fmt: skip
#: agents times steps of both pilots together
EFFORT = 3000
#: number of pilots; steps and agents that a shortened pilot still has
PILOTS, MIN_STEPS, MIN_AGENTS = 2, 50, 8


def estimate(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
    *,
    steps: int,
    llm: str | Sequence[str] = (),
    tiers: str | Sequence[str] = ("",),
    cached: float | None = None,
    replies: Mapping[str, float] | None = None,
    agents: str | None = None,
    runs: int = 1,
    prices: Mapping[str, Any] | None = None,
    policy: Callable[[Turn], Any] | None = None,
    effort: int = EFFORT,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Estimate:
    """Forecasts the requests and the cost of runs of a model; sends and pays nothing.

    Args:
        model_class: makes the model; an argument ``llm`` gets ``"offline"`` in pilots.
        parameters: of the model.
        steps: of a run.
        llm: names of the models to be priced, such as ``"openai/gpt-5-mini"``.
        tiers: service tiers to be priced, such as ``"flex"``; empty for none.
        cached: share of the prompt tokens that the provider reads from its cache, 0 to
            1; None works it out from the prompts, as OpenAI documents its cache.
        replies: tokens of a reply by purpose, where you know better than the pilot: a
            language model may say more than the offline answers do.
        agents: name of the argument for the number of agents; None looks for
            ``AGENTS``. Without one, pilots have all agents.
        runs: number of runs, one for each seed.
        prices: prices of models that litellm's list does not have, by name: a ``Price``
            or US dollars per prompt token and per reply token.
        policy: answers for agents that reason with a provider's model.
        effort: agents times steps of both pilots.
        seed: of the first pilot; the second has the next one.
        progress: called with the agent-steps that are done, and their number in all.

    Raises:
        ValueError: for a number out of its range.
    """
    given = dict(parameters or {})
    (
        checked_int("steps", steps),
        checked_int("runs", runs),
        checked_int("effort", effort),
    )
    if cached is not None and checked_number("cached", cached) > 1:
        raise ValueError(f"cached must be a share from 0 to 1, got {cached!r}")
    name, count = _agents(model_class, given, agents)
    few, length = _planned(count, steps, effort // PILOTS)
    if name is not None and few is not None:
        given[name] = few
    each, pilots = (few or 1) * length, []
    for turn in range(PILOTS):

        def tell(step: int, before: int = turn * each) -> None:
            progress(before + step * (few or 1), PILOTS * each)

        pilots.append(run_pilot(model_class, given, length, seed + turn, policy, tell))
    count = round(pilots[0].agents) if count is None else count
    counts = _continued(pilots, count, steps, replies or {})
    models = [llm] if isinstance(llm, str) else list(llm)
    named = [tiers] if isinstance(tiers, str) else list(tiers)
    priced = tuple(
        _priced(counts, pilots[0], model, tier, cached, prices or {})
        for model in models
        for tier in named
    )
    sizes = tuple((round(pilot.agents), pilot.steps) for pilot in pilots)
    return Estimate(count, steps, 1, counts, priced, sizes).times(runs)


def _agents(
    model_class: Callable[..., Any], given: Mapping[str, Any], name: str | None
) -> tuple[str | None, int | None]:
    """The argument for the number of agents, and the number; None if unknown."""
    try:
        takes = inspect.signature(model_class).parameters
    except (TypeError, ValueError):
        return None, None
    if name is not None and name not in takes and name not in given:
        raise ValueError(
            f"agents={name!r} must name the model's argument for the number of agents; "
            f"the model takes {', '.join(takes)}"
        )
    for candidate in (name,) if name else AGENTS:
        default = takes[candidate].default if candidate in takes else None
        value = given.get(candidate, default)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return candidate, value
    return None, None


def agents_argument(model_class: Callable[..., Any]) -> str:
    """The name of a model's argument for the number of agents.

    Raises:
        ValueError: if it has none of ``AGENTS``.
    """
    takes = inspect.signature(model_class).parameters
    found = next((name for name in AGENTS if name in takes), None)
    if found is None:
        raise ValueError(
            "the model has no argument for the number of agents, under any of the names "
            f"{', '.join(AGENTS)}; it takes {', '.join(takes)}"
        )
    return found


def _planned(count: int | None, steps: int, effort: int) -> tuple[int | None, int]:
    """Agents (None: as many as the model has) and steps of a pilot."""
    if count is None:
        return None, min(steps, max(MIN_STEPS, effort // 10))
    few = min(count, max(MIN_AGENTS, effort // min(steps, MIN_STEPS)))
    return few, max(min(steps, 2), min(steps, effort // few))


def _continued(
    pilots: Sequence[Pilot], agents: int, steps: int, replies: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """By purpose, the counts of one run by each pilot, shape (pilots, 4)."""
    found = {}
    for purpose in sorted({name for pilot in pilots for name in pilot.counts}):
        counts = np.array([pilot.continued(purpose, steps) for pilot in pilots])
        if purpose in replies:
            each = checked_number(f"replies[{purpose!r}]", replies[purpose])
            counts[:, 3] = counts[:, 0] * each
        found[purpose] = counts * agents
    return found


def _price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    if model in prices:
        return Price.of(prices[model])
    if model.partition("/")[0] == PROVIDER:
        return FREE
    from mesa_memory.llm.cost.pricing import price

    return price(model)


def _priced(
    by_purpose: Mapping[str, np.ndarray],
    pilot: Pilot,
    model: str,
    tier: str,
    share: float | None,
    prices: Mapping[str, Any],
) -> Priced:
    """All purposes of one run at the price of one model in one tier."""
    price, total = _price_of(model, prices), np.zeros((PILOTS, 4))
    reads = price is not None and price.in_tier(tier).cached is not None
    for purpose, counts in by_purpose.items():
        prompt, reply = pilot.token_ratios(purpose, model)
        own = counts * np.array([1, prompt, prompt if reads else 0, reply])
        if share is not None:
            own[:, 2] = own[:, 1] * share
        total += own
    if price is None:
        return Priced(model, tier, total, None)
    cost = [price.cost(sent, said, read, tier) for _, sent, read, said in total]
    return Priced(model, tier, total, np.array(cost))
