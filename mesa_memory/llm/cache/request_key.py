"""The key of a cached answer: a hash of all that the answer depends on.

The model and its address, the messages, the schema and the tools, the sampling settings
and the number of the replicate. In a study also the seed, the agent and the step, see
``Occurrences``. Never the purpose, or how a request is sent: timeouts, retries, secrets
in headers, keys.
"""

import hashlib
import json
import threading
from functools import lru_cache
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import PydanticUserError

from mesa_memory.core.content import plain
from mesa_memory.core.requests import ChatRequest, LLMRequest
from mesa_memory.core.text.redaction import scrub_json
from mesa_memory.hosts.litellm import address_of
from mesa_memory.llm.base import LLMSettings

#: increased when the key of a request changes
KEY_VERSION = 2
#: steps of which the numbers of requests are known; work in the background is behind
NUMBERED_STEPS = 100


def request_key(
    request: LLMRequest, settings: LLMSettings, replicate: int = 0
) -> bytes:
    """The key of the response to a request: a SHA-256, 32 bytes.

    Args:
        settings: how requests are sent, of which ``temperature``, ``seed``,
            ``max_tokens`` and ``options`` matter.
        replicate: tells answers apart that shall be asked for anew.
    """
    asked = {
        "form": KEY_VERSION,
        "reasoning": isinstance(request, ChatRequest),
        "replicate": replicate,
        "model": request.model,
        "address": _address(request.model or "", settings.api_base(request)),
        "messages": plain(request.messages()),
        "schema": None if request.schema is None else _shape(request.schema),
        "arguments": {n: _shaped(v) for n, v in request.arguments.items()},
        "settings": settings.told,
    }
    text = json.dumps(asked, sort_keys=True, default=repr).encode()
    # A key that is changed changes no answer, wherever it stands.
    return hashlib.sha256(scrub_json(text)).digest()


class Occurrences:
    """Numbers the equal requests of a run, so that each has an answer of its own.

    A model that samples answers an equal request differently. Runs of one seed and
    replicate share their answers, agent by agent and step by step; others do not.

    Args:
        seed: of the run, as plain data.
    """

    def __init__(self, seed: Any) -> None:
        self._seed = seed
        self._lock = threading.Lock()
        self._taken: dict[float, dict[tuple, set[int]]] = {}

    def take(self, key: bytes, request: LLMRequest) -> int:
        """The number of this equal request of an agent in a step, from 0.

        Args:
            key: see ``request_key``.
        """
        with self._lock:
            step = self._taken.setdefault(request.step, {})
            taken = step.setdefault((key, repr(request.agent)), set())
            number = next(n for n in count() if n not in taken)
            taken.add(number)
            while len(self._taken) > NUMBERED_STEPS:
                del self._taken[next(iter(self._taken))]
        return number

    def give_back(self, key: bytes, request: LLMRequest, number: int) -> None:
        """Frees a number that no answer was cached under."""
        with self._lock:
            step = self._taken.get(request.step, {})
            step.get((key, repr(request.agent)), set()).discard(number)

    def key(self, key: bytes, request: LLMRequest, number: int) -> bytes:
        """The key of an answer in this run: a SHA-256, 32 bytes."""
        place = [self._seed, repr(request.agent), float(request.step), number]
        return hashlib.sha256(key + json.dumps(place).encode()).digest()


def _shaped(value: Any) -> Any:
    """Plain data; a class of replies as its schema."""
    return _shape(value) if isinstance(value, type) else plain(value)


@lru_cache(maxsize=1024)
def _shape(schema: Any) -> Any:
    name = f"{schema.__module__}.{schema.__qualname__}"
    try:
        return schema.model_json_schema()
    except (AttributeError, PydanticUserError):  # a class of another kind, or no schema
        return name


def _address(model: str, api_base: str | None) -> str | None:
    """The address of the model's server, without keys; None if unknown."""
    try:
        base = address_of(model, api_base, None).base
    except Exception:  # litellm's own, for a name that it does not know
        base = api_base
    if not base:
        return None
    parts = urlsplit(base.strip())
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
