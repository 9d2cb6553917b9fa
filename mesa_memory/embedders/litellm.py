"""Embeddings of any provider through litellm, with bounded retries."""

import random
import time
from collections.abc import Sequence
from typing import Any

import litellm
import numpy as np

from mesa_memory.core.render import one_line, shorten
from mesa_memory.core.text import redaction
from mesa_memory.core.text.addresses import host_and_path, server_address
from mesa_memory.embedders.base import around_blanks, check_vectors, clean, normalised
from mesa_memory.errors import EmbedderError
from mesa_memory.hosts.litellm import BODY_BYTES, prepare
from mesa_memory.hosts.provider_faults import calling, fault_of, passing, wait_of

prepare()

#: asked for when the length of a vector must be known before any text is embedded
PROBE_TEXT = "memory"
#: longest part of a reply for one text: 8192 numbers of 24 characters; bytes
TEXT_BYTES = 200_000


class _Given(int):
    """A number that is true also when it is 0.

    litellm's embedding takes a false ``max_retries`` for one that was not given, and
    then sends each attempt up to three times.
    """

    def __bool__(self) -> bool:
        return True


NO_RETRIES = _Given(0)


class LiteLLMEmbedder:
    """Sends texts to a provider, in batches, one after the other.

    Args:
        model: ``"provider/model"`` as litellm names it.
        api_base: the provider's address, if not its usual one.
        batch: the most texts in one request.
        timeout: seconds for one attempt, and the longest wait a provider may ask for.
        attempts: the most attempts for one request.
        dim: expected length of a vector; None takes the length in the first answer.
        backoff: seconds before the second attempt; doubled each time, with jitter.
    """

    def __init__(
        self,
        model: str,
        api_base: str | None = None,
        batch: int = 100,
        timeout: float = 60.0,
        attempts: int = 5,
        dim: int | None = None,
        backoff: float = 1.0,
    ) -> None:
        limits = {"batch": batch, "timeout": timeout, "attempts": attempts}
        for name, value in (limits | ({} if dim is None else {"dim": dim})).items():
            if value <= 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        if backoff < 0:
            raise ValueError(f"backoff must be 0 or more, got {backoff}")
        redaction.learn_named({"api_base": api_base})
        api_base = server_address(api_base) if api_base else None
        self.model, self.api_base, self.batch = model, api_base, batch
        self.timeout, self.attempts, self.backoff = timeout, attempts, backoff
        # Servers of one's own may call quite different models the same.
        self.name = f"litellm:{model}" + (
            f"@{host_and_path(api_base).rstrip('/')}" if api_base else ""
        )
        self._dim = dim
        self._jitter = random.Random(model)
        self._closed_until = 0.0  # the provider asked not to be asked before

    def __getstate__(self) -> dict[str, Any]:
        """Another process has another clock."""
        return vars(self) | {"_closed_until": 0.0}

    @property
    def dim(self) -> int:
        """Length of a vector; costs a request of one word if nothing tells it yet."""
        if self._dim is None:
            self._request([PROBE_TEXT])
        assert self._dim is not None
        return self._dim

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """See ``Embedder.embed``. Blank texts are not sent."""
        return around_blanks(clean(texts), self._embed, lambda: self.dim)

    def _embed(self, texts: list[str]) -> np.ndarray:
        parts = [
            self._request(texts[start : start + self.batch])
            for start in range(0, len(texts), self.batch)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.dim), np.float32)

    def _request(self, texts: list[str]) -> np.ndarray:
        rows = self._rows(self._send(texts), len(texts))
        if self._dim is None:
            self._dim = len(rows[0])
        return normalised(check_vectors(rows, len(texts), self._dim, self.name))

    def _send(self, texts: list[str]) -> Any:
        self._wait_until_open()
        attempt = 0
        while True:
            attempt += 1
            try:
                return self._attempt(texts)
            except Exception as error:  # providers' code raises whatever it likes
                asked = wait_of(error)
                is_last = attempt >= self.attempts or asked > self.timeout
                if is_last or not passing(error):
                    raise self._failure(error, len(texts)) from redaction.cause(error)
            backoff = self.backoff * 2 ** (attempt - 1)
            time.sleep(max(backoff * (0.5 + self._jitter.random()), asked))

    def _wait_until_open(self) -> None:
        """Waits until a provider that named a time may be asked again.

        Raises:
            EmbedderError: if that is longer than an attempt may take.
        """
        left = self._closed_until - time.monotonic()
        if left > self.timeout:
            raise EmbedderError(
                f"{self.name} is not asked again before its time to wait is over; it "
                f"asks to wait {left:.4g} s.",
                passing=True,
                retry_after=left,
                sent=False,
            )
        if left > 0:
            time.sleep(left)

    def _attempt(self, texts: list[str]) -> Any:
        size = max(BODY_BYTES, TEXT_BYTES * len(texts))
        with calling(size, self.timeout):
            return litellm.embedding(
                model=self.model,
                input=texts,
                api_base=self.api_base,
                timeout=self.timeout,
                max_retries=NO_RETRIES,
            )

    def _rows(self, response: Any, n: int) -> list[Any]:
        """The vectors in the order of the texts; providers number them."""
        data = [dict(item) for item in getattr(response, "data", None) or []]
        numbers = [item.get("index", place) for place, item in enumerate(data)]
        if sorted(map(str, numbers)) != sorted(map(str, range(n))):
            raise EmbedderError(
                f"{self.name} answered {len(data)} vectors (numbered {numbers[:5]}…) "
                f"for {n} texts. Try a smaller batch than {self.batch}."
            )
        rows = [row for _, row in sorted(zip(numbers, data), key=lambda pair: pair[0])]
        return [row.get("embedding") or [] for row in rows]

    def _failure(self, error: Exception, n: int) -> EmbedderError:
        redaction.learn_keys(litellm)
        said = redaction.scrub(fault_of(error).said.partition("\nTraceback")[0])
        detail = one_line(shorten(said, 300))
        detail = detail.rstrip(". ") or type(error).__name__
        if passing(error):
            asked = wait_of(error)
            self._closed_until = time.monotonic() + asked
            wait = f" It asks to wait {asked:.4g} s." if asked else ""
            return EmbedderError(
                f"{self.name} gave no vectors for {n} text(s) in {self.attempts} "
                f"attempt(s) of {self.timeout:g} s: {detail}.{wait} Try again later, "
                "or give more attempts.",
                passing=True,
                retry_after=asked,
            )
        return EmbedderError(
            f"{self.name} refuses to embed {n} text(s) ({type(error).__name__}): "
            f"{detail}. Check the API key, the model's name ('provider/model', a model "
            "for embeddings), api_base and the length of the texts."
        )
