"""A pilot: a short run without a language model, in which every request is counted.

Nothing is sent, recorded or paid. ``OfflineLLM`` answers for every model.
"""

import hashlib
import inspect
import json
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import numpy as np

from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import ChatRequest, LLMRequest
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.experiments.estimates.estimate import QUANTITIES
from mesa_memory.llm.cost.usage import Budget, usage_of
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import (
    PROVIDER,
    PolicyInput,
    answer,
    register_policy,
)
from mesa_memory.llm.doubles.replay import override_client
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime.services import Services

#: share of a pilot, at its end, whose mean goes on after it
CONTINUED_SHARE = 1 / 3
#: requests of a purpose whose texts are counted again for named models
SAMPLE_SIZE = 64
#: tokens by which a provider's cache grows, and of the shortest prompt that it keeps
#: (OpenAI's numbers)
CACHE_BLOCK_TOKENS, MIN_CACHED_TOKENS = 128, 1024
#: characters to a token, where nobody has counted
CHARS_PER_TOKEN = 4
#: policy of agents that reason with a provider's model, and its reply
_POLICY_NAME = "estimate"
_SENTENCE = "I look around, remember what I was told and go on with my work for today."

_written = json.JSONEncoder(default=str, ensure_ascii=False).encode


class Pilot:
    """A client without a model that counts requests and replies.

    Attributes:
        steps: steps of the pilot.
        step: the step to which requests are counted; 0 is before the first one.
        agents: mean number of agents with a language model or a memory.
        counts: by purpose, shape (steps + 1, 5): the counts of all agents in each step,
            as in ``QUANTITIES``.
    """

    instant = True

    def __init__(self, steps: int, policy: Callable[[PolicyInput], Any] | None) -> None:
        self.steps, self.step, self.agents = steps, 0, 0.0
        self.counts: dict[str, np.ndarray] = defaultdict(
            lambda: np.zeros((steps + 1, len(QUANTITIES)))
        )
        self._samples: dict[str, deque] = defaultdict(lambda: deque(maxlen=SAMPLE_SIZE))
        self._lock, self._offline, self._prefixes = (
            Lock(),
            OfflineLLM(),
            PromptPrefixes(),
        )
        self._policy = register_policy(_POLICY_NAME, policy or (lambda turn: _SENTENCE))

    def complete(self, request: LLMRequest) -> Reply:
        """An answer, the same in every process."""
        with self._lock:
            reply = self._answered(request)
            used, prompt = usage_of(request, reply), request.tokens
            cached = min(self._prefixes.read(request), prompt)
            counts = self.counts[request.purpose][self.step]
            counts += (1, prompt, cached, used.completion_tokens, np.nan)
            words = "\n".join(m["content"] or "" for m in request.messages())
            self._samples[request.purpose].append((words, reply.text or ""))
        return reply

    def again(self) -> "Pilot":
        """The same for copies of the model."""
        return self

    def of_run(self, purpose: str, steps: int, since: int = 0) -> np.ndarray:
        """The counts of one agent after step ``since`` of a run, shape (5,).

        After the pilot's end, the mean of its last third goes on.
        """
        counted = self.counts[purpose] / max(self.agents, 1)
        own = counted[since + 1 if since else 0 : steps + 1].sum(axis=0)
        end = counted[-max(1, round(self.steps * CONTINUED_SHARE)) :].mean(axis=0)
        return own + end * max(0, steps - max(self.steps, since))

    def token_ratios(self, purpose: str, model: str) -> tuple[float, float]:
        """Tokens of a named model per token counted here: of prompts, of replies."""
        prompts, replies = zip(*self._samples[purpose] or [("", "")])
        return _ratio(prompts, model), _ratio(replies, model)

    def _answered(self, request: LLMRequest) -> Reply:
        provider, _, _ = (request.model or "").partition("/")
        if provider == PROVIDER or not isinstance(request, ChatRequest):
            return self._offline.complete(request)
        turn = PolicyInput.of(request.messages(), request.arguments)
        response = answer(self._policy.partition("/")[2], turn)
        text = response.choices[0].message.content
        return Reply(text, request.model or "", cost=0.0, raw=response)


class PromptPrefixes:
    """Remembers how prompts began, in blocks of ``CACHE_BLOCK_TOKENS``.

    Providers read the part of a prompt that an earlier one began with from their caches.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def read(self, request: LLMRequest) -> int:
        """Tokens at the beginning of a prompt that began an earlier one.

        Fewer than ``MIN_CACHED_TOKENS`` count as 0. The prompt is remembered, too.
        """
        sent = _written([request.arguments, request.messages()])
        text = sent.encode("utf-8", "surrogatepass")
        step, known = CACHE_BLOCK_TOKENS * CHARS_PER_TOKEN, 0
        digest = hashlib.blake2b((request.model or "").encode())
        for end in range(step, len(text) + 1, step):
            digest.update(text[end - step : end])
            begun = digest.digest()[:16]
            if begun in self._seen:
                known = end // CHARS_PER_TOKEN
            self._seen.add(begun)
        return known if known >= MIN_CACHED_TOKENS else 0


def run_pilot(
    model_class: Callable[..., Any],
    parameters: Mapping[str, Any],
    steps: int,
    seed: int,
    policy: Callable[[PolicyInput], Any] | None = None,
    change: Callable[[Any], Any] | None = None,
) -> Pilot:
    """Runs a model for some steps without a language model, and counts its requests.

    Args:
        model_class: makes the model. An argument ``llm`` becomes ``"offline"`` and an
            argument ``record`` None, also if ``parameters`` name others.
        seed: goes to an argument ``rng`` or ``seed``, if ``parameters`` have neither.
        policy: answers for agents that reason with a provider's model, see
            ``register_policy``; by default one sentence.
        change: called with the model before each step.

    Raises:
        ValueError, TypeError: of the model's own constructor.
    """
    pilot, people = Pilot(steps, policy), 0
    with warnings.catch_warnings(), override_client(pilot):
        warnings.simplefilter("ignore")  # the run itself will warn
        model = model_class(**_arguments(model_class, parameters, seed))
        services = Services.of(model)
        services.agents = True
        services.replay = pilot  # the model may have configured another one
        services.ledger.budget = Budget()
        if not services.embeds_here:
            services.embedder = embedder_of("static")
        for pilot.step in range(1, steps + 1):
            if change is not None:
                change(model)
            for agent in model.agents:
                people += hasattr(agent, "llm") or hasattr(agent, "memory")
            model.step()
            services.flush()
    pilot.agents = people / steps
    return pilot


def arguments_of(model_class: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments of a model by name; none for a callable without a signature."""
    try:
        return inspect.signature(model_class).parameters
    except (TypeError, ValueError):
        return {}


def _arguments(
    model_class: Callable[..., Any], parameters: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    given, takes = dict(parameters), arguments_of(model_class)
    given |= {n: v for n, v in (("llm", PROVIDER), ("record", None)) if n in takes}
    if not {"rng", "seed", "scenario"} & given.keys():
        given |= dict.fromkeys([n for n in ("rng", "seed") if n in takes][:1], seed)
    return given


def _ratio(texts: tuple[str, ...], model: str) -> float:
    ours = sum(count_tokens(text) for text in texts)
    return sum(count_tokens(text, model) for text in texts) / ours if ours else 1.0
