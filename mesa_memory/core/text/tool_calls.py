"""The tools that a provider's response calls."""

from collections.abc import Iterator, Mapping
from typing import Any


def functions(response: Any) -> Iterator[Mapping[str, Any]]:
    """The functions that a response calls, in order, without damaged calls.

    Args:
        response: as plain data, in the form of OpenAI's chat completions.
    """
    for choice in _list(response, "choices"):
        message = choice.get("message") if isinstance(choice, Mapping) else None
        for call in _list(message, "tool_calls"):
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                yield function


def said(text: str | None, response: Any) -> str:
    """All that a reply says: its text, and the arguments of the tools that it calls.

    Args:
        response: see ``functions``.
    """
    arguments = (str(one.get("arguments") or "") for one in functions(response))
    return "\n".join([text or "", *arguments])


def _list(of: Any, name: str) -> list[Any]:
    found = of.get(name) if isinstance(of, Mapping) else None
    return found if isinstance(found, list) else []
