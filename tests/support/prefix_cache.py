"""A provider's prompt cache: which part of a prompt it has read before."""

import hashlib
import json
from typing import Any


class PrefixCache:
    """Remembers the prefixes of all prompts, in blocks, as OpenAI documents it.

    Args:
        least: shorter prompts and prefixes are not cached, in tokens.
        block: prefixes are cached in multiples of so many tokens.
        chars: characters to a token.
    """

    def __init__(self, least: int = 1024, block: int = 128, chars: int = 4) -> None:
        self._least, self._block, self._chars = least, block, chars
        self._seen: set[bytes] = set()

    def read(self, body: dict[str, Any]) -> int:
        """Tokens of a request that lie in a prefix of an earlier one; it is kept, too."""
        text = _prompt(body).encode()
        step, tokens = self._block * self._chars, 0
        digest = hashlib.blake2b(str(body.get("model")).encode())
        for end in range(step, len(text) + 1, step):
            digest.update(text[end - step : end])
            prefix = digest.digest()
            if prefix in self._seen:
                tokens = end // self._chars
            self._seen.add(prefix)
        return tokens if tokens >= self._least else 0


def _prompt(body: dict[str, Any]) -> str:
    """What a model reads, in the order in which it does: tools, form, messages."""
    parts = [body.get("tools") or [], body.get("response_format") or {}]
    parts += body.get("messages") or []
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)
