"""The part of a prompt that an earlier prompt began with, as providers' caches see it."""

import hashlib
import json
from collections import OrderedDict

from mesa_memory.core.requests import LLMRequest

#: tokens by which a provider's cache grows, and of the shortest prompt that it keeps
#: (OpenAI's numbers)
CACHED_TOKENS, LEAST_CACHED = 128, 1024
#: characters to a token, where nobody has counted
CHARS = 4
#: most beginnings of prompts that are remembered, the newest
BEGINNINGS = 50_000

_written = json.JSONEncoder(default=str, ensure_ascii=False).encode


class PromptPrefixes:
    """Remembers how prompts began, in blocks of ``CACHED_TOKENS``."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def read(self, request: LLMRequest) -> int:
        """Tokens at the beginning of a prompt that began an earlier one.

        Fewer than ``LEAST_CACHED`` count as 0. The prompt is remembered, too.
        """
        sent = _written([request.arguments, request.messages()])
        text = sent.encode("utf-8", "surrogatepass")
        step, known = CACHED_TOKENS * CHARS, 0
        digest = hashlib.blake2b((request.model or "").encode())
        for end in range(step, len(text) + 1, step):
            digest.update(text[end - step : end])
            begun = digest.digest()[:16]
            if begun in self._seen:
                known = end // CHARS
                self._seen.move_to_end(begun)
            self._seen[begun] = None
        while len(self._seen) > BEGINNINGS:
            self._seen.popitem(last=False)
        return known if known >= LEAST_CACHED else 0
