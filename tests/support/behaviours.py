"""What the local server receives, and how it may misbehave."""

import json
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def text_of(message: dict[str, Any]) -> str:
    """Returns the text of one message, whether a string or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content)


@dataclass
class Received:
    """One chat request; header names are in lower case."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    time: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Derives what tests ask for most from the body."""
        self.model: str = self.body.get("model", "")
        self.messages: list[dict[str, Any]] = self.body.get("messages") or []
        texts = [(message.get("role"), text_of(message)) for message in self.messages]
        self.system = "\n".join(t for r, t in texts if r in ("system", "developer"))
        self.prompt = "\n".join(t for r, t in texts if r == "user")
        self.chars = sum(len(t) for _, t in texts)


def default_answer(received: Received) -> str:
    """Returns a plausible reply for the kind of question that was asked."""
    asked = received.system + received.prompt
    if "grades" in asked:
        lines = re.findall(r"^\d+\. (.*)", received.prompt, re.MULTILINE)
        grades = [1 + zlib.crc32(line.encode("utf-8", "replace")) % 5 for line in lines]
        return json.dumps({"grades": grades})
    if "grade the importance" in asked:  # Mesa-LLM's own episodic memory
        return json.dumps({"grade": 3})
    if '"facts"' in asked:
        lines = re.findall(r"^(\d+)\. Step (.*)", received.prompt, re.MULTILINE)
        said = [(int(number), line[-60:]) for number, line in lines]
        facts = [
            {
                "subject": f"line {line[:3]}",
                "attribute": "news",
                "value": line,
                "sources": n,
            }
            for n, line in said[-3:]
        ]
        end = lines[-1][1] if lines else "nothing"
        brief = {"summary": f"Step {end}"} if '"summary"' in asked else {}
        return json.dumps({"facts": facts, **brief})
    if '"insights"' in asked:
        said = f"Insight number {zlib.crc32(received.prompt.encode()) % 1000}."
        return json.dumps({"insights": [{"insight": said, "evidence": [1]}]})
    if "sentiment" in asked:
        reply = {"text": "Seems reliable.", "sentiment": 0.2, "familiarity": 0.4}
        others = re.findall(r"^Other agent (\d+): ", received.prompt, re.MULTILINE)
        if others:
            several = [{"other": int(number), **reply} for number in others]
            return json.dumps({"impressions": several})
        return json.dumps(reply)
    if "summary" in asked:
        end = received.prompt[-160:].replace("\n", " ")
        return json.dumps({"summary": f"Summary of: {end}"})
    return "ok"


@dataclass(frozen=True)
class Behaviour:
    """What to do with a request instead of answering it at once."""

    kind: str
    seconds: float = 0.0
    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    content: str | None = None
    finish_reason: str = "stop"

    @classmethod
    def status(cls, code, message="...", retry_after=None, code_name=None):
        """Replies with an HTTP error in the shape OpenAI gives it."""
        kind = "requests" if code == 429 else "invalid_request_error"
        kind = "server_error" if code >= 500 else kind
        error = {"message": message, "type": kind, "code": code_name}
        body = json.dumps({"error": error}).encode()
        wait = () if retry_after is None else (("Retry-After", str(retry_after)),)
        return cls("reply", code=code, body=body, headers=wait)

    @classmethod
    def text(cls, content, finish_reason="stop"):
        """Replies with this content, None meaning null."""
        return cls("text", content=content, finish_reason=finish_reason)

    @classmethod
    def raw(cls, body: bytes, content_type="application/json"):
        """Replies 200 with exactly these bytes."""
        return cls("reply", body=body, content_type=content_type)

    @classmethod
    def drop_before(cls):
        """Closes the connection without sending a byte."""
        return cls("drop_before")

    @classmethod
    def drop_inside(cls):
        """Closes the connection in the middle of a 200 reply."""
        return cls("drop_inside")

    @classmethod
    def silent(cls, seconds=3600.0):
        """Says nothing for so long, then closes the connection."""
        return cls("drop_before", seconds=seconds)

    @classmethod
    def trickle(cls, seconds: float):
        """Sends a normal reply so slowly, a byte after so many seconds each."""
        return cls("trickle", seconds=seconds)

    @classmethod
    def slow(cls, seconds: float):
        """Waits this long on top of the latency, then answers normally."""
        return cls("normal", seconds=seconds)


NORMAL = Behaviour("normal")
Behave = Callable[[Received], Behaviour | None]


def sequence(*behaviours: Behaviour | None) -> Behave:
    """Gives the n-th behaviour to the n-th request it sees, then normal ones."""
    left = iter(behaviours)
    return lambda received: next(left, None)


def always(behaviour: Behaviour | None) -> Behave:
    """Gives every request the same behaviour."""
    return lambda received: behaviour


def completion(
    received: Received,
    content: str | None,
    finish_reason="stop",
    cached: int | None = None,
) -> bytes:
    """Returns the body of a normal reply.

    Args:
        cached: Tokens of the prompt that were read from a cache; None says nothing.
    """
    tokens, reply_tokens = received.chars // 4, len(content or "") // 4
    usage = {"prompt_tokens": tokens, "completion_tokens": reply_tokens}
    usage |= {"total_tokens": tokens + reply_tokens}
    if cached is not None:
        usage |= {"prompt_tokens_details": {"cached_tokens": min(cached, tokens)}}
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    body = {
        "id": f"chatcmpl-{received.number}",
        "object": "chat.completion",
        "created": 0,
        "model": received.model,
        "choices": [choice],
        "usage": usage,
    }
    if tier := received.body.get("service_tier"):
        body["service_tier"] = "default" if tier == "auto" else tier
    return json.dumps(body).encode()
