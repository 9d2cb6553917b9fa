"""How far the forecast of a run, made from short pilots, is from what the run uses.

    python -m benchmarks.estimates [--agents 24] [--steps 100] [--memory NAME …]
        [--world NAME …] [--effort 3000] [--seeds 1] [--processes 2] [--json]

Each example is run whole, once with every memory, against a stand-in for a provider that
counts as a provider does: tokens by the model's own tokenizer, what lies in a prefix that
it has read before (as OpenAI documents its cache), and dollars by model and cache.
It shares no code with the forecast, which is made first, from pilots alone. ``rumor`` is
the example; ``planning`` is the same town with rules, tools and Mesa-LLM's CoT, whose
prompts are long enough to be cached; ``street`` is README's model, ``village`` the
tutorial's.
"""

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import litellm

from benchmarks.planning_town import PlanningTown, planned
from benchmarks.tables import options, show
from mesa_memory import Services, configure, register_policy
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments.estimates import EFFORT_AGENT_STEPS, estimate
from mesa_memory.llm import prices as pricing
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support import examples
from tests.support.prefix_cache import PrefixCache

#: a model whose price list has no cache, and one that has
PRICED = ("openai/gpt-4-turbo", "openai/gpt-5-mini")
#: seed of the first run; pilots have others
FIRST_SEED = 7
#: most that a forecast may be off
ALLOWED = 0.25


class Provider:
    """Answers offline, and counts and prices as several models would."""

    def __init__(self) -> None:
        self._offline, self._caches = OfflineLLM(), {m: PrefixCache() for m in PRICED}
        self.sums: dict[str, dict[str, float]] = {
            which: dict.fromkeys(("prompt", "cached", "reply", "cost"), 0.0)
            for which in PRICED
        }

    def price(self, model: str | None) -> Any:
        """Of the first model, for the ledger."""
        return pricing.price(PRICED[0])

    def complete(self, request: LLMRequest) -> Reply:
        """The offline answer, with what a provider says of it."""
        reply = self._offline.complete(request)
        body = {"messages": request.messages(), **request.arguments}
        tools = json.dumps(body.get("tools") or "", default=str)
        words = [m["content"] or "" for m in body["messages"]] + [tools]
        said, used = answered(reply), {}
        for model in self._caches:
            seen = self._caches[model].read(body | {"response_format": None})
            prompt = sum(tokens(text, model) for text in words)
            used[model] = (prompt, tokens(said, model), min(seen, prompt))
        for model in PRICED:
            price, counts = pricing.price(model), used[model]
            assert price is not None
            if price.cached is None:
                counts = (*counts[:2], 0)
            sums = self.sums[model]
            for name, count in zip(("prompt", "reply", "cached"), counts, strict=True):
                sums[name] += count
            sums["cost"] += price.cost(*counts)
        first = used[PRICED[0]]
        told = {"prompt_tokens": first[0], "completion_tokens": first[1]}
        return Reply(**{**vars(reply), **told, "cost": None})


def answered(reply: Reply) -> str:
    """What a model has to write for a reply, the tools that it calls included."""
    choices = getattr(reply.raw, "choices", None)
    called = (choices and getattr(choices[0].message, "tool_calls", None)) or ()
    return (reply.text or "") + "".join(str(c.function) for c in called)


@cache
def tokens(text: str, model: str) -> int:
    """As the model's own tokenizer counts."""
    return litellm.token_counter(model=model, text=text) if text else 0


def made(name: str, n_agents: int, memory: str, rng: Any = None) -> Any:
    """A model of a page."""
    return getattr(examples, name)(n_agents, memory, rng)


def planning(n_agents: int, memory: str, rng: Any = None, llm: str = "offline") -> Any:
    """The town with rules, tools and CoT."""
    town = PlanningTown(n_agents, memory, llm=llm, rng=rng)
    model = register_policy("planner", planned)
    for person in town.agents:
        person.llm.llm_model = model
    return town


WORLDS: dict[str, Any] = {
    "rumor": RumorModel,
    "planning": planning,
    "street": partial(made, "street"),
    "village": partial(made, "village"),
}


def counted(
    world: str, memory: str, agents: int, steps: int, seed: int
) -> tuple[int, Provider]:
    """Calls of a whole run, and what the provider counted."""
    model = WORLDS[world](n_agents=agents, memory=memory, rng=seed)
    provider = Provider()
    configure(model, llm="offline", execution="blocking")
    services = Services.of(model)
    services.replay = provider  # is asked everything, also what a policy would answer
    for _ in range(steps):
        model.step()
    services.flush()
    return services.ledger.total.calls, provider


def compared(
    case: tuple[str, str, int], agents: int, steps: int, effort: int
) -> dict[str, Any]:
    """One row: how far the forecast is from the count, in percent."""
    world, memory, seed = case
    given = {"n_agents": agents, "memory": memory}
    how: dict[str, Any] = {"llm": PRICED, "effort": effort, "seed": seed}
    told = estimate(WORLDS[world], given, steps=steps, **how)
    calls, provider = counted(world, memory, agents, steps, FIRST_SEED + seed)
    row: dict[str, Any] = {"example": world, "memory": memory, "calls": calls}
    row["calls_%"] = off(told.calls.value, calls)
    for model, sums in provider.sums.items():
        own, name = told.priced[model], model.partition("-")[2]
        tokens = float(own[:, [1, 3]].sum(axis=1).mean())
        row[f"{name}_tokens_%"] = off(tokens, sums["prompt"] + sums["reply"])
        row[f"{name}_$_%"] = off(float(own[:, 4].mean()), sums["cost"])
    own, sums = told.priced[PRICED[1]], provider.sums[PRICED[1]]
    row["cached"] = sums["cached"] / max(sums["prompt"], 1)
    row["cached_forecast"] = own[:, 2].mean() / max(own[:, 1].mean(), 1)
    row["pilot"] = sum(n * t for n, t in told.pilots) / (agents * steps)
    return row


def off(forecast: float, count: float) -> float:
    """The difference in percent of the count."""
    return 100 * (forecast / count - 1) if count else 0.0 if not forecast else 999.0


def main() -> int:
    """Prints the table and the largest error; 1 if it is larger than allowed."""
    given = options(
        __doc__,
        agents=24,
        steps=100,
        memory=OUR_MEMORIES,
        world=WORLDS,
        effort=EFFORT_AGENT_STEPS,
        seeds=1,
        processes=2,
    )
    cases = list(product(given.world, given.memory, range(given.seeds)))
    size = {"agents": given.agents, "steps": given.steps, "effort": given.effort}
    rows = []
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        for row in pool.map(partial(compared, **size), cases):
            rows.append(row)
            done = f"{row['example']} {row['memory']}: done"
            print(done, file=sys.stderr, flush=True)
    title = f"Forecast against count, {given.agents} agents, {given.steps} steps"
    show(title, rows, 1, given.json)
    worst = max(abs(v) for row in rows for key, v in row.items() if key.endswith("_%"))
    print(f"the farthest forecast is off by {worst:.1f}% (allowed: {ALLOWED:.0%})")
    return int(worst > 100 * ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
