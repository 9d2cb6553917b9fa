"""The expected usage of requests, learned from earlier ones.

A budget limits the most that a call may use; a forecast is the expected usage.
"""

import threading
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial

from mesa_memory.core.requests import LLMRequest
from mesa_memory.llm.cost.price import Price
from mesa_memory.llm.cost.prompt_prefixes import PromptPrefixes
from mesa_memory.llm.cost.usage import ONE_CALL, Usage

#: tokens of a reply, as long as no reply of the model is known
INITIAL_REPLY_TOKENS = 100


@dataclass
class _Ratio:
    """Two sums and their ratio, which is given until something is counted."""

    ratio: float = 1.0
    counted: float = 0.0
    expected: float = 0.0

    def add(self, counted: float, expected: float) -> None:
        self.counted += counted
        self.expected += expected
        if self.expected:
            self.ratio = self.counted / self.expected


class Forecaster:
    """Says before each request what it will use, and learns from what it used.

    The prompt: by its characters, and what the model has counted for others. The reply:
    as long as those of its purpose were. What is cached: the part that began an earlier
    prompt, and how much of such parts the provider has read from its cache until now.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prompts: dict[str, _Ratio] = defaultdict(_Ratio)
        self._replies: dict[tuple, _Ratio] = defaultdict(
            partial(_Ratio, INITIAL_REPLY_TOKENS)
        )
        self._cached: dict[str, _Ratio] = defaultdict(_Ratio)
        self._prefixes = PromptPrefixes()

    def forked(self) -> None:
        """In a child process: no thread of the parent holds the lock."""
        self._lock = threading.Lock()

    def expect(
        self,
        request: LLMRequest,
        price: Price | None,
        max_tokens: int | None = None,
        tier: str = "",
    ) -> Usage:
        """The expected usage of a request, before it is sent.

        Args:
            price: of its model; None unknown, and so is the cost.
            max_tokens: limit of the reply, if there is one.
            tier: the service tier that is asked for; empty for none.
        """
        model = request.model or ""
        with self._lock:
            ratio = self._prompts[model].ratio
            prompt = round(request.tokens * ratio)
            cached = 0
            if price is not None and price.cached is not None:
                begun = self._prefixes.read(request) * ratio
                cached = round(begun * self._cached[model].ratio)
            reply = round(self._replies[model, request.purpose].ratio)
        reply = reply if max_tokens is None else min(reply, max_tokens)
        cached = min(cached, prompt) if cached else 0
        cost = None if price is None else price.cost(prompt, reply, cached, tier)
        return replace(
            ONE_CALL,
            prompt_tokens=prompt,
            completion_tokens=reply,
            cost=cost,
            cached_tokens=cached,
        )

    def learn(self, request: LLMRequest, expected: Usage, used: Usage) -> None:
        """Takes up what an answered request used, if it was expected at all."""
        if not expected.calls:
            return
        model = request.model or ""
        with self._lock:
            prompts = self._prompts[model]
            ratio = prompts.ratio
            prompts.add(used.prompt_tokens, request.tokens)
            self._replies[model, request.purpose].add(used.completion_tokens, 1)
            if expected.cached_tokens or used.cached_tokens:
                hit = self._cached[model]
                begun = expected.cached_tokens / (hit.ratio or 1.0)
                hit.add(used.cached_tokens, begun or used.cached_tokens / ratio)
