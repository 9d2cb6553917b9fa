"""The part of a prompt that an earlier prompt began with, as providers' caches see it."""

import hashlib
import json
from collections import OrderedDict

from mesa_memory.core.requests import LLMRequest

#: tokens by which a provider's cache grows, and of the shortest prompt that it keeps
#: (OpenAI's numbers)
CACHE_BLOCK_TOKENS, MIN_CACHED_TOKENS = 128, 1024
#: characters to a token, where nobody has counted
CHARS_PER_TOKEN = 4
#: most beginnings of prompts that are remembered, the newest
MAX_PREFIXES = 50_000

_written = json.JSONEncoder(default=str, ensure_ascii=False).encode


class PromptPrefixes:
    """Remembers how prompts began, in blocks of ``CACHE_BLOCK_TOKENS``."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

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
                self._seen.move_to_end(begun)
            self._seen[begun] = None
        while len(self._seen) > MAX_PREFIXES:
            self._seen.popitem(last=False)
        return known if known >= MIN_CACHED_TOKENS else 0
