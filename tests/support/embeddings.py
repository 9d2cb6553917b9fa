"""A local server that speaks the OpenAI embeddings protocol, and misbehaves on demand."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from aiohttp import web

from tests.support.openai_server import OpenAIServer

#: (number of the request, its body, a normal answer's rows) -> response, None: normal
Misbehave = Callable[[int, dict, list[dict]], web.Response | None]


def vector_of(text: str, dim: int = 8) -> np.ndarray:
    """A vector that only this text has; not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=dim).astype(np.float32)


def answered(rows: list[dict]) -> web.Response:
    """A complete answer with these rows."""
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return web.json_response(
        {"object": "list", "data": rows, "model": "test", "usage": usage}
    )


def refused(status: int, headers: dict | None = None) -> web.Response:
    """An error in the provider's form."""
    error = {"message": f"state {status}", "type": "test", "code": status}
    return web.json_response({"error": error}, status=status, headers=headers)


class EmbeddingsServer(OpenAIServer):
    """The server; it knows one address, and no others."""

    def __init__(self, misbehave: Misbehave | None = None, dim: int = 8) -> None:
        """Prepares a server that ``with`` starts and stops."""
        super().__init__()
        self.misbehave, self.dim = misbehave, dim
        self.bodies: list[dict[str, Any]] = []

    @property
    def batches(self) -> list[int]:
        """How many texts each request had."""
        return [len(body["input"]) for body in self.bodies]

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != "/v1/embeddings":
            return refused(404)
        body = await request.json()
        self.bodies.append(body)
        in_base64 = body.get("encoding_format") == "base64"
        rows = []
        for index, text in enumerate(body["input"]):
            vector = vector_of(text, self.dim)
            numbers = base64.b64encode(vector.astype("<f4").tobytes()).decode()
            embedding = numbers if in_base64 else vector.tolist()
            rows.append({"object": "embedding", "index": index, "embedding": embedding})
        wrong = self.misbehave and self.misbehave(len(self.bodies), body, rows)
        return wrong or answered(rows)
