"""What runs will cost, before they are paid: calls, tokens and dollars, with an interval.

Short runs without a language model (pilots) count requests by purpose. One is long, to
see how memories fill up; one has more agents, to see what grows with their number.

The interval is one of prediction, for runs with seeds of their own. Its variance has
three parts. *Steps*: how far the curves are apart, and how far all of them together were
off where the pilot knows better (residuals of a rolling origin, Tashman 2000). *Crowd*:
the standard error of what differs between the two pilots, as far as it is continued to
the number of agents. *Seeds*: agents differ, and a pilot has some of them; they are a
sample of clusters (Cochran 1977, chapter 9), and so are those of the run itself. Errors of
purposes and of runs have the same causes, and are added.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mesa_memory.core.validate import number, whole
from mesa_memory.experiments.estimate import Estimate, Line, Priced
from mesa_memory.experiments.growth import ERRORS, Sum, total
from mesa_memory.experiments.pilot import COUNTED, Pilot, run_pilot
from mesa_memory.llm.policy import PROVIDER, Turn
from mesa_memory.llm.price import FREE, Price

#: names of the argument that says how many agents there are, the likeliest first
AGENTS = (
    "n_agents", "num_agents", "number_of_agents", "agents", "n_people", "people",
    "population", "population_size", "n", "N",
)  # fmt: skip
#: steps of agents in all pilots together
EFFORT = 1200
#: share of them that the long pilot has at most, and its fewest steps and agents
LONG, FEWEST_STEPS, FEWEST_AGENTS = 2 / 3, 40, 8
#: by how much the other pilot has more agents
WIDER = 2
#: what was not seen in n calls may still occur in a share of up to this number / n of
#: all calls (the rule of three, Hanley and Lippman-Hand 1983)
UNSEEN = 3
#: relative error of each forecast at least, as tokens are counted from samples
LEAST_ERROR = 0.01


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
    seed: int | None = 0,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Estimate:
    """What runs of a model will use and cost; nothing is sent, recorded or paid.

    If the run is not longer than the pilots may be, the pilot is the whole run.

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
        agents: name of the argument that is the number of agents; None looks for
            ``AGENTS``. Without one, all pilots have all agents.
        runs: how many runs there will be, as by seeds.
        prices: prices of models that litellm's list does not have, by name: a ``Price``
            or US dollars per prompt token and per reply token.
        policy: what agents say who reason with a provider's model.
        effort: agents times steps in all pilots.
        seed: of the pilots.
        progress: called with the agent-steps that are done, and of how many.

    Raises:
        ValueError: for a number out of its range.
    """
    given = dict(parameters or {})
    whole("steps", steps), whole("runs", runs), whole("effort", effort)
    if cached is not None and number("cached", cached) > 1:
        raise ValueError(f"cached must be a share from 0 to 1, got {cached!r}")
    name, many = _agents(model_class, given, agents)

    def run(n: int | None, length: int, tell: Callable[[int], None]) -> Pilot:
        made_with = given if n is None or name is None else given | {name: n}
        return run_pilot(model_class, made_with, length, seed, policy, tell)

    planned = _planned(many, steps, effort, name is not None)
    pilots = list(_run_all(planned, run, progress))
    count = many if many is not None else round(pilots[0].agents)
    models = [llm] if isinstance(llm, str) else list(llm)
    named = [tiers] if isinstance(tiers, str) else list(tiers)
    return foretold(
        pilots, count, steps, models, named, cached, replies or {}, prices or {}
    ).times(runs)


def foretold(
    pilots: Sequence[Pilot],
    agents: int,
    steps: int,
    models: Iterable[str] = (),
    tiers: Iterable[str] = ("",),
    cached: float | None = None,
    replies: Mapping[str, float] | None = None,
    prices: Mapping[str, Any] | None = None,
) -> Estimate:
    """What one run will use and cost, by what pilots have counted.

    Args:
        pilots: the long one, and one of more agents if there is.
        agents, steps: of the run.
        models, tiers, cached, replies, prices: see ``estimate``.
    """
    lines = tuple(
        _scaled(line, replies or {}) for line in _lines(pilots, agents, steps)
    )
    named = tuple(tiers)
    priced = tuple(
        _priced(lines, pilots[0], model, tier, cached, prices or {})
        for model in models
        for tier in named
    )
    sizes = tuple((round(p.agents), p.steps) for p in pilots)
    return Estimate(agents, steps, 1, lines, priced, sizes)


# -- the pilots ------------------------------------------------------------------------


def _agents(
    model_class: Callable[..., Any], given: Mapping[str, Any], name: str | None
) -> tuple[str | None, int | None]:
    """The argument that is the number of agents, and the number; None if unknown."""
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
    """The argument of a model that is the number of agents.

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


def _planned(
    many: int | None, steps: int, effort: int, scalable: bool
) -> list[tuple[int | None, int]]:
    """Agents (None: as they are) and steps of each pilot, the long one first."""
    if many is None or not scalable:
        return [(None, min(steps, max(FEWEST_STEPS, effort // 10)))]
    if many * steps <= effort:
        return [(None, steps)]
    length = min(steps, max(FEWEST_STEPS, round(LONG * effort / FEWEST_AGENTS)))
    # The wide pilot is to see as many of the steps as it may: what depends on the crowd
    # may come late.
    few = max(FEWEST_AGENTS, effort // ((1 + WIDER) * length))
    if few * WIDER >= many:  # then all of them, for as long as they may
        return [(None, max(min(steps, FEWEST_STEPS), min(steps, effort // many)))]
    wide = WIDER * few
    rest = max(0, effort - few * length) // wide
    return [(few, length), (wide, max(2, min(length, rest)))]


def _run_all(
    planned: Sequence[tuple[int | None, int]],
    run: Callable[[int | None, int, Callable[[int], None]], Pilot],
    progress: Callable[[int, int], None],
) -> Iterable[Pilot]:
    whole_work, before = sum((n or 1) * t for n, t in planned), 0
    for n, t in planned:

        def tell(step: int, done: int = before, each: int = n or 1) -> None:
            progress(done + each * step, whole_work)

        yield run(n, t, tell)
        before += (n or 1) * t


# -- from pilots to runs ---------------------------------------------------------------


def _lines(pilots: Sequence[Pilot], agents: int, steps: int) -> Iterable[Line]:
    purposes = sorted({purpose for pilot in pilots for purpose in pilot.counts})
    for purpose in purposes:
        sums = [
            _grown(pilots, purpose, column, agents, steps)
            for column in range(len(COUNTED))
        ]
        calls, prompt, cached, said = sums
        if not cached.value:
            cached = _unseen(prompt, pilots[0], purpose)
        yield Line(purpose, calls, prompt, cached, said)


def _unseen(prompt: Sum, pilot: Pilot, purpose: str) -> Sum:
    """What may be read from a cache though none of the pilot's calls did."""
    calls = float(pilot.per_agent(purpose)[:, 0].sum()) * pilot.agents
    share = min(1.0, UNSEEN / max(calls, 1.0))
    return Sum(0.0, prompt.value * share / ERRORS)


def _grown(
    pilots: Sequence[Pilot], purpose: str, column: int, agents: int, steps: int
) -> Sum:
    """One count of one purpose, for all agents and steps of a run."""
    long = pilots[0].per_agent(purpose)[:, column]
    told = total(long[1:], steps)
    steps_error = told.error / told.value if told.value else 0.0
    factor, crowd_error = 1.0, 0.0
    if len(pilots) > 1:
        factor, crowd_error = _by_agents(pilots[0], pilots[1], purpose, column, agents)
    apart = pilots[0].between(purpose, column)
    seeds_error = apart * math.sqrt(1 / max(pilots[0].agents, 1) + 1 / max(agents, 1))
    value = (told.value + float(long[0])) * agents * factor
    relative = math.hypot(steps_error, crowd_error, seeds_error, LEAST_ERROR)
    return Sum(value, value * relative)


def _by_agents(
    long: Pilot, wide: Pilot, purpose: str, column: int, agents: int
) -> tuple[float, float]:
    """By what an agent's share changes with the number of agents, and its error.

    A larger crowd may be ahead of a smaller one in the same growth: its memories fill
    up sooner, to the same size. So a difference counts as far as it is larger than
    what the long pilot still grows by after these steps; the rest may last or not.
    It is chance as well, and counts as far as it is larger than its standard error (as
    James and Stein 1961 shrink, never beyond zero).
    """
    both = min(long.steps, wide.steps)
    alone = long.per_agent(purpose)[:, column]
    few, many = alone[: both + 1], wide.per_agent(purpose)[: both + 1, column]
    late = (both + 1) // 2
    if not few[late:].sum() or not many[late:].sum():
        return 1.0, 0.0
    # What happens early happens at other times in a larger crowd: only what is there in
    # all of the steps and in the later ones is taken to be an effect of its size.
    whole = math.log(many.sum() / few.sum())
    later = math.log(many[late:].sum() / few[late:].sum())
    found = min(whole, later, key=abs) if whole * later > 0 else 0.0
    growth = _grows(few[late:], alone[both + 1 :])
    lasting = math.copysign(max(0.0, abs(found) - growth), found)
    error = math.hypot(
        *(p.between(purpose, column, both) / math.sqrt(p.agents) for p in (long, wide))
    )
    sure = max(0.0, 1 - (error / lasting) ** 2) if lasting else 0.0
    reach = math.log(agents / long.agents) / math.log(wide.agents / long.agents)
    # Evenly from none to all, the less of what comes later is there already.
    unclear = (abs(found) - abs(lasting)) / math.sqrt(12) * math.exp(-growth)
    error = math.hypot(error * math.sqrt(sure), unclear)
    return math.exp(lasting * sure * reach), error * abs(reach)


def _grows(now: np.ndarray, after: np.ndarray) -> float:
    """By what a count changes afterwards, up or down, as a logarithm."""
    if not len(after):
        return 0.0
    if not after.any():
        return math.inf
    return abs(math.log(float(after.mean() / now.mean())))


def _scaled(line: Line, replies: Mapping[str, float]) -> Line:
    """A line with replies as long as the user says."""
    if line.purpose not in replies:
        return line
    each = number(f"replies[{line.purpose!r}]", replies[line.purpose])
    said = Sum(line.calls.value * each, line.calls.error * each)
    return Line(line.purpose, line.calls, line.prompt, line.cached, said)


# -- prices ------------------------------------------------------------------------------


def price_of(model: str, prices: Mapping[str, Any]) -> Price | None:
    """What a named model costs; None if nobody knows."""
    if model in prices:
        return Price.of(prices[model])
    if model.partition("/")[0] == PROVIDER or model == PROVIDER:
        return FREE
    from mesa_memory.llm.pricing import price

    return price(model)


def _priced(
    lines: Sequence[Line],
    pilot: Pilot,
    model: str,
    tier: str,
    share: float | None,
    prices: Mapping[str, Any],
) -> Priced:
    """All lines of one run at the price of one model in one tier."""
    price, none = price_of(model, prices), Sum(0.0, 0.0)
    prompt, cached, said, cost = none, none, none, none
    reads = price is not None and price.in_tier(tier).cached is not None
    for line in lines:
        prompts, replies = pilot.tokens_for(line.purpose, model)
        own, words = line.prompt * prompts, line.completion * replies
        read = own * share if share is not None else line.cached * prompts
        read = read if reads or share is not None else none
        if price is not None:
            dollars = price.cost(own.value, words.value, read.value, tier)
            # As much more of the prompt is read from the cache as there is more of it;
            # besides, its share may be another one.
            part = read.value / own.value if own.value else 0.0
            more = price.cost(own.error, words.error, part * own.error, tier)
            less = price.cost(read.error, 0, 0, tier)
            less -= price.cost(read.error, 0, read.error, tier)
            cost += Sum(dollars, math.hypot(more, less))
        prompt, cached, said = prompt + own, cached + read, said + words
    return Priced(model, tier, prompt, cached, said, None if price is None else cost)
