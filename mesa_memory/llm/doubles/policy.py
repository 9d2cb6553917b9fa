"""Agents that reason without a language model: a function in its place.

``register_policy("town", decide)`` makes ``llm_model="offline/town"`` a model of
litellm, so that ``LLMAgent`` with CoT, ReAct or ReWOO runs without key and network.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: the provider's name in ``provider/model``
PROVIDER = "offline"


@dataclass(frozen=True)
class ToolCall:
    """A tool to call: its name and arguments."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class PolicyInput:
    """The request of a reasoning step, as a policy gets it.

    Attributes:
        system: the system prompt; with CoT and ReWOO it holds the memory's text.
        prompt: the user messages, joined; with ReAct they hold the memory's text.
        tools: names of the tools that may be called now.
        fields: names of the fields the reply must have; empty for plain text.
    """

    system: str
    prompt: str
    tools: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, messages: Sequence[Mapping], arguments: Mapping[str, Any]
    ) -> "PolicyInput":
        """The turn in a chat request's messages and provider arguments."""

        def text(role: str) -> str:
            parts = [m.get("content") or "" for m in messages if m["role"] == role]
            return "\n".join(parts)

        callable_now = arguments.get("tool_choice") != "none"
        tools = arguments.get("tools") or [] if callable_now else []
        names = tuple(tool["function"]["name"] for tool in tools)
        fields = _fields(arguments.get("response_format"))
        return cls(text("system"), text("user"), names, fields)


#: gives text, the fields of a structured reply, or the tools to call
type Policy = Callable[[PolicyInput], str | Mapping[str, Any] | Sequence[ToolCall]]

_policies: dict[str, Policy] = {}


def register_policy(name: str, policy: Policy) -> str:
    """Makes ``policy`` available as a model; registering again replaces it.

    Args:
        name: the part behind ``offline/``.
        policy: takes a ``PolicyInput``. A text answers as it is (where fields are asked for,
            each field gets it); a mapping answers as JSON; a list of ``ToolCall``
            calls tools.

    Returns:
        The name for ``llm_model=``.

    Raises:
        ValueError: if the name is empty or the policy cannot be called.
    """
    if not name or "/" in name or not callable(policy):
        raise ValueError(
            "register_policy needs a name without '/' and a function, got "
            f"{name!r} and {policy!r}"
        )
    _policies[name] = policy
    enable()
    return f"{PROVIDER}/{name}"


def enable() -> None:
    """Adds the provider to litellm; Mesa-LLM asks for a key, so one is set."""
    from mesa_memory.hosts.litellm import add_provider

    os.environ.setdefault(f"{PROVIDER.upper()}_API_KEY", "none-needed")
    add_provider(PROVIDER, _provider, _PolicyError)


def answer(name: str, turn: PolicyInput) -> Any:
    """The registered policy's answer, as a response of litellm.

    Raises:
        LookupError: if no policy has this name.
        TypeError: if the policy's answer is of another kind.
    """
    if name not in _policies:
        raise LookupError(
            f"no offline policy is registered as {name!r}: call "
            f"register_policy({name!r}, function) first; registered are "
            f"{sorted(_policies)}"
        )
    return _response(name, turn, _checked(name, _policies[name](turn)))


def _checked(name: str, given: Any) -> Any:
    if isinstance(given, str | Mapping):
        return given
    if isinstance(given, Sequence) and all(isinstance(c, ToolCall) for c in given):
        return given
    raise TypeError(
        f"the policy {name!r} must return a text, a mapping or a list of ToolCall, got "
        f"{given!r}"
    )


def _fields(response_format: Any) -> tuple[str, ...]:
    """Field names of a pydantic class or of its JSON schema."""
    if hasattr(response_format, "model_fields"):
        return tuple(response_format.model_fields)
    if isinstance(response_format, Mapping):
        schema = response_format.get("json_schema", {}).get("schema", {})
        return tuple(schema.get("properties", {}))
    return ()


def _response(name: str, turn: PolicyInput, given: Any) -> Any:
    from litellm import Choices, Message, ModelResponse

    calls = None
    if isinstance(given, str):
        wanted = dict.fromkeys(turn.fields, given)
        content = json.dumps(wanted, ensure_ascii=False) if wanted else given
    elif isinstance(given, Mapping):
        content = json.dumps(dict(given), ensure_ascii=False)
    else:
        content = ""
        calls = [
            {
                "id": f"call-{number}",
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                },
            }
            for number, call in enumerate(given)
        ]
    message = Message(role="assistant", content=content, tool_calls=calls)
    choice = Choices(finish_reason="stop", index=0, message=message)
    return ModelResponse(
        id=f"{PROVIDER}-{name}", created=0, model=f"{PROVIDER}/{name}", choices=[choice]
    )


class _FromPolicy(type):
    """Says of single errors, not of their class, that a policy raised them."""

    def __instancecheck__(cls, error: object) -> bool:
        return getattr(error, "_from_policy", False)


class _PolicyError(metaclass=_FromPolicy):
    """An error of a policy, which litellm passes on unchanged."""


def _own_error(error: Exception) -> Exception:
    error._from_policy = True  # type: ignore[attr-defined]
    return error


def _provider() -> Any:
    from litellm import CustomLLM

    class OfflineProvider(CustomLLM):
        """Serves registered policies to litellm."""

        def completion(self, *_: Any, **given: Any) -> Any:
            options = dict(given.get("optional_params") or {})
            options |= {k: given[k] for k in ("tools", "tool_choice") if k in given}
            try:
                return answer(
                    given["model"], PolicyInput.of(given["messages"], options)
                )
            except Exception as error:
                raise _own_error(error) from None

        async def acompletion(self, *args: Any, **given: Any) -> Any:
            return self.completion(*args, **given)

    return OfflineProvider()
