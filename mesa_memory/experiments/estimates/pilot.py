"""A pilot: a short run without a language model, in which every request is counted.

Nothing is sent, recorded or paid. ``OfflineLLM`` answers, whichever model a request names.
"""

import inspect
import threading
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.llm.cost.ledger import Budget, usage_of
from mesa_memory.llm.cost.prompt_prefixes import Beginnings
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import PROVIDER, Turn, answer, register_policy
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime.reasoning import ReasoningLLM, route_reasoning
from mesa_memory.runtime.services import Services
from mesa_memory.runtime.stand_in import stand_in

#: the counts of each purpose in each step, in this order
COUNTED = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
#: share of a pilot, at its end, whose mean goes on after it
CONTINUED_SHARE = 1 / 3
#: requests of a purpose whose texts are counted again for named models
SAMPLE_SIZE = 64
#: policy of agents that reason with a provider's model, and its reply
_SPEAKER = "estimate"
_SENTENCE = "I look around, remember what I was told and go on with my work for today."


@dataclass(frozen=True)
class Pilot:
    """The counts of one pilot.

    Attributes:
        agents: mean number of agents with a language model or a memory.
        steps: finished steps.
        counts: by purpose, shape (steps + 1, 4): the counts of one agent in each step,
            as in ``COUNTED``. Step 0 is before the first one.
        samples: by purpose, prompts and replies of the last requests.
    """

    agents: float
    steps: int
    counts: Mapping[str, np.ndarray]
    samples: Mapping[str, tuple[tuple[str, str], ...]]

    def continued(self, purpose: str, steps: int) -> np.ndarray:
        """The counts of one agent over a run, shape (4,).

        After the pilot's end, the mean of its last third goes on.
        """
        counted = self.counts.get(purpose)
        if counted is None:
            return np.zeros(len(COUNTED))
        if steps <= self.steps:
            return counted[: steps + 1].sum(axis=0)
        end = counted[-max(1, round(self.steps * CONTINUED_SHARE)) :]
        return counted.sum(axis=0) + end.mean(axis=0) * (steps - self.steps)

    def token_ratios(self, purpose: str, model: str) -> tuple[float, float]:
        """Tokens of a named model per token counted here: of prompts, of replies."""
        sampled = self.samples.get(purpose, ())
        return _ratio([p for p, _ in sampled], model), _ratio(
            [r for _, r in sampled], model
        )


class Meter:
    """Answers without a model, and counts requests and replies.

    Attributes:
        step: the step to which requests are counted.
    """

    instant = True

    def __init__(self, policy: Callable[[Turn], Any] | None = None) -> None:
        self.step = 0
        self._lock = threading.Lock()
        self._offline = OfflineLLM()
        self._speaker = register_policy(_SPEAKER, policy or (lambda turn: _SENTENCE))
        self._begun = Beginnings()
        self._counts: dict[str, dict[int, np.ndarray]] = defaultdict(
            lambda: defaultdict(lambda: np.zeros(len(COUNTED)))
        )
        self._samples: dict[str, deque[tuple[str, str]]] = defaultdict(
            lambda: deque(maxlen=SAMPLE_SIZE)
        )

    def complete(self, request: LLMRequest) -> Reply:
        """An answer, the same in every process."""
        with self._lock:
            reply = self._answered(request)
            used, prompt = usage_of(request, reply), request.tokens
            cached = min(self._begun.read(request), prompt)
            counts = self._counts[request.purpose][self.step]
            counts += (1, prompt, cached, used.completion_tokens)
            words = "\n".join(m["content"] or "" for m in request.messages())
            self._samples[request.purpose].append((words, reply.text or ""))
        return reply

    def again(self) -> "Meter":
        """The same for copies of the model."""
        return self

    def pilot(self, agents: float, steps: int) -> Pilot:
        """The counts per agent."""
        counts = {}
        for purpose, of_step in sorted(self._counts.items()):
            counts[purpose] = np.zeros((steps + 1, len(COUNTED)))
            for step, counted in of_step.items():
                counts[purpose][step] = counted / max(agents, 1)
        samples = {name: tuple(kept) for name, kept in sorted(self._samples.items())}
        return Pilot(agents, steps, counts, samples)

    def _answered(self, request: LLMRequest) -> Reply:
        provider, _, _ = (request.model or "").partition("/")
        if provider == PROVIDER or not isinstance(request, ChatRequest):
            return self._offline.complete(request)
        turn = Turn.of(request.messages(), request.arguments)
        response = answer(self._speaker.partition("/")[2], turn)
        text = response.choices[0].message.content
        return Reply(text, request.model or "", cost=0.0, raw=response)


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
        policy: answers for agents that reason with a provider's model, see
            ``register_policy``; by default one sentence.
        progress: called with the number of each finished step.

    Raises:
        ValueError, TypeError: of the model's own constructor.
    """
    meter, people = Meter(policy), 0
    with warnings.catch_warnings(), stand_in(meter):
        warnings.simplefilter("ignore")  # the run itself will warn
        model = model_class(**_arguments(model_class, parameters, seed))
        services = Services.of(model)
        services.replay = meter  # the model may have configured another one
        services.ledger.budget = Budget()
        if not services.embeds_here:
            services.embedder = embedder_of("static")
        for step in range(1, steps + 1):
            meter.step = step
            agents = list(_thinking(model))
            people += len(agents)
            for agent in agents:
                _route(agent)
            model.step()
            services.flush()
            progress(step)
    return meter.pilot(people / steps, steps)


def _arguments(
    model_class: Callable[..., Any], parameters: Mapping[str, Any], seed: int | None
) -> dict[str, Any]:
    given = dict(parameters)
    try:
        takes = set(inspect.signature(model_class).parameters)
    except (TypeError, ValueError):
        takes = set()
    given |= {n: v for n, v in (("llm", PROVIDER), ("record", None)) if n in takes}
    if not {"rng", "seed", "scenario"} & given.keys():
        given |= dict.fromkeys([n for n in ("rng", "seed") if n in takes][:1], seed)
    return given


def _thinking(model: Any) -> Iterator[Any]:
    """The agents that may ask a language model."""
    for agent in model.agents:
        if getattr(agent, "llm", None) is not None or hasattr(agent, "memory"):
            yield agent


def _route(agent: Any) -> None:
    """Has the meter answer the agent's own requests; its prompts stay as they are."""
    own = getattr(agent, "llm", None)
    if own is not None and not isinstance(own, ReasoningLLM):
        route_reasoning(agent, block=None)


def _ratio(texts: list[str], model: str) -> float:
    ours = sum(count_tokens(text) for text in texts)
    return sum(count_tokens(text, model) for text in texts) / ours if ours else 1.0
