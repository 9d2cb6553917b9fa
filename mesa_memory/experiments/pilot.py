"""A pilot: a short run without a language model, in which every request is counted.

Nothing is sent, recorded or paid. Requests are answered as by ``OfflineLLM``, whichever
model they name.
"""

import inspect
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.llm.beginnings import Beginnings
from mesa_memory.llm.ledger import Budget, usage_of
from mesa_memory.llm.offline import OfflineLLM
from mesa_memory.llm.policy import PROVIDER, Turn, answer, register_policy
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime.reasoning import ReasoningLLM, route_reasoning
from mesa_memory.runtime.services import Services
from mesa_memory.runtime.stand_in import stand_in

#: what is counted of each purpose in each step, in this order
COUNTED = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
#: requests of a purpose whose words are kept, to count them for named models
SAMPLED = 64
#: says something when an agent is to reason with a provider's model
SPEAKER = "estimate"
_SAID = "I look around, remember what I was told and go on with my work for today."


@dataclass(frozen=True)
class Pilot:
    """What a pilot counted.

    Attributes:
        agents: how many agents with a language model or a memory there were, on the
            average over the steps.
        steps: how many steps it had.
        counts: by purpose an array of shape (agents, steps + 1, 4): what each agent
            that there ever was asked for in each step, as in ``COUNTED``; step 0 is
            before the first one.
        samples: by purpose, prompts and replies of some requests, as text.
    """

    agents: float
    steps: int
    counts: Mapping[str, np.ndarray]
    samples: Mapping[str, tuple[tuple[str, str], ...]]

    def per_agent(self, purpose: str) -> np.ndarray:
        """The counts of a purpose for one agent, by step; zeros if it never occurred."""
        found = self.counts.get(purpose)
        if found is None:
            return np.zeros((self.steps + 1, len(COUNTED)))
        return found.sum(axis=0) / max(self.agents, 1)

    def between(self, purpose: str, column: int, steps: int | None = None) -> float:
        """How far agents are apart in a count: standard deviation to mean.

        Args:
            column: which of ``COUNTED``.
            steps: over the first ones only.
        """
        found = self.counts.get(purpose)
        if found is None or len(found) < 2:
            return 0.0
        end = None if steps is None else steps + 1
        sums = found[:, :end, column].sum(axis=1)
        return float(sums.std(ddof=1) / sums.mean()) if sums.any() else 0.0

    def first(self, steps: int) -> "Pilot":
        """What it would have counted, had it ended earlier; samples are those of all."""
        counts = {name: sums[:, : steps + 1] for name, sums in self.counts.items()}
        return replace(self, steps=steps, counts=counts)

    def tokens_for(self, purpose: str, model: str) -> tuple[float, float]:
        """Tokens of a named model to one that is counted here: of prompts, of replies."""
        sampled = self.samples.get(purpose, ())
        return _ratio([p for p, _ in sampled], model), _ratio(
            [r for _, r in sampled], model
        )


class Meter:
    """Answers without a model, and counts what was asked and answered.

    Attributes:
        step: to which step requests are counted.
    """

    instant = True

    def __init__(self, policy: Callable[[Turn], Any] | None = None) -> None:
        self.step = 0
        self._lock = threading.Lock()
        self._offline = OfflineLLM()
        self._speaker = register_policy(SPEAKER, policy or (lambda turn: _SAID))
        self._begun = Beginnings()
        self._counts: dict[str, dict[tuple[Any, int], np.ndarray]] = defaultdict(
            lambda: defaultdict(lambda: np.zeros(len(COUNTED)))
        )
        self._samples: dict[str, _Sample] = defaultdict(_Sample)

    def complete(self, request: LLMRequest) -> Reply:
        """An answer, the same in every process."""
        with self._lock:
            reply = self._answered(request)
            used = usage_of(request, reply)
            prompt, said = request.tokens, used.completion_tokens
            cached = min(self._begun.read(request), prompt)
            of_agent = self._counts[request.purpose][request.agent, self.step]
            of_agent += (1, prompt, cached, said)
            self._samples[request.purpose].offer(request, reply)
        return reply

    def again(self) -> "Meter":
        """Copies of the model are counted, too."""
        return self

    def counts(self, steps: int, agents: int) -> dict[str, np.ndarray]:
        """See ``Pilot.counts``; ``agents`` are those who were seen, asking or not."""
        found = {}
        for purpose, counted in sorted(self._counts.items()):
            rows: dict[Any, int] = {}
            for agent, _ in counted:
                rows.setdefault(agent, len(rows))
            size = (max(agents, len(rows)), steps + 1, len(COUNTED))
            table = found[purpose] = np.zeros(size)
            for (agent, step), sums in counted.items():
                table[rows[agent], step] = sums
        return found

    def samples(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """See ``Pilot.samples``."""
        return {purpose: tuple(s.kept) for purpose, s in sorted(self._samples.items())}

    def _answered(self, request: LLMRequest) -> Reply:
        provider, _, _ = (request.model or "").partition("/")
        if provider == PROVIDER or not isinstance(request, ChatRequest):
            return self._offline.complete(request)
        turn = Turn.of(request.messages(), request.arguments)
        response = answer(self._speaker.partition("/")[2], turn)
        text = response.choices[0].message.content
        return Reply(text, request.model or "", cost=0.0, raw=response)


class _Sample:
    """Evenly spaced requests of one purpose, at most ``SAMPLED``."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str]] = []
        self._each, self._seen = 1, 0

    def offer(self, request: LLMRequest, reply: Reply) -> None:
        if self._seen % self._each == 0:
            words = "\n".join(m["content"] or "" for m in request.messages())
            self.kept.append((words, reply.text or ""))
            if len(self.kept) > SAMPLED:
                del self.kept[1::2]
                self._each *= 2
        self._seen += 1


def run_pilot(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any],
    steps: int,
    seed: int | None = 0,
    policy: Callable[[Turn], Any] | None = None,
    progress: Callable[[int], None] = lambda step: None,
) -> Pilot:
    """Runs a model for some steps without a language model, and counts its requests.

    Args:
        model_class: makes the model. An argument ``llm`` is ``"offline"`` and an
            argument ``record`` is None, unless ``parameters`` say otherwise.
        seed: goes to an argument ``rng`` or ``seed``, if ``parameters`` have neither.
        policy: what agents say who reason with a provider's model, see
            ``register_policy``; by default a sentence.
        progress: called with the number of each finished step.

    Raises:
        ValueError, TypeError: of the model's own constructor.
    """
    meter, people = Meter(policy), 0
    seen: set[Any] = set()
    with warnings.catch_warnings(), stand_in(meter):
        warnings.simplefilter("ignore")  # what is said of a run is said when it is run
        model = model_class(**arguments_of(model_class, parameters, seed))
        services = Services.of(model)
        services.replay = meter  # the model may have configured another one
        services.ledger.budget = Budget()
        if not services.embeds_here:
            services.embedder = embedder_of("static")
        for step in range(1, steps + 1):
            meter.step = step
            agents = list(_thinking(model))
            people += len(agents)
            seen.update(agent.unique_id for agent in agents)
            for agent in agents:
                _route(agent)
            model.step()
            services.flush()
            progress(step)
    counts = meter.counts(steps, len(seen))
    return Pilot(people / steps, steps, counts, meter.samples())


def arguments_of(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any],
    seed: int | None,
) -> dict[str, Any]:
    """What a pilot's model is made with."""
    given, takes = dict(parameters), _takes(model_class)
    for name, value in (("llm", PROVIDER), ("record", None)):
        if name in takes:
            given[name] = value
    known = {"rng", "seed", "scenario"} & given.keys()
    if not known:
        seeded = [n for n in ("rng", "seed") if n in takes][:1]
        given |= dict.fromkeys(seeded, seed)
    return given


def _takes(model_class: Callable[..., Any]) -> set[str]:
    """The names of the arguments of a class or function."""
    try:
        return set(inspect.signature(model_class).parameters)
    except (TypeError, ValueError):
        return set()


def _thinking(model: Any) -> Iterator[Any]:
    """The agents that may ask a language model."""
    for agent in model.agents:
        if getattr(agent, "llm", None) is not None or hasattr(agent, "memory"):
            yield agent


def _route(agent: Any) -> None:
    """Has what an agent asks answered here, too; its words stay as they are."""
    own = getattr(agent, "llm", None)
    if own is not None and not isinstance(own, ReasoningLLM):
        route_reasoning(agent, block=None)


def _ratio(texts: list[str], model: str) -> float:
    ours = sum(count_tokens(text) for text in texts)
    return sum(count_tokens(text, model) for text in texts) / ours if ours else 1.0
