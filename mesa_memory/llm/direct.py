"""Sends requests directly to servers that speak the OpenAI protocol.

The direct way is for servers that speak the OpenAI protocol. litellm is the way for every
other provider, for options that only litellm understands, and where a user's code has
set something in litellm that it expects to be called.

Names, keys and addresses are those of litellm. What is sent is the request and nothing
else; what comes back is read within the bounds of ``hosts.litellm``.
"""

import asyncio
import atexit
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from mesa_memory.core.at_fork import at_fork
from mesa_memory.core.content import plain
from mesa_memory.core.requests import ChatRequest, Reply, TokenCounts, tier_of
from mesa_memory.core.text import redaction, replies
from mesa_memory.core.text.addresses import server_address
from mesa_memory.hosts import litellm as host
from mesa_memory.hosts.litellm import UNPACKED, Body, proxy_of, redirected, refusal
from mesa_memory.hosts.provider_faults import StateError
from mesa_memory.llm import prices as pricing
from mesa_memory.llm.base import Attempt
from mesa_memory.llm.errors import NoAnswer
from mesa_memory.llm.schemas import response_format

#: providers whose servers speak the OpenAI protocol at any address
OPENAI_PROVIDERS = frozenset(
    {"openai", "custom_openai", "hosted_vllm", "ollama", "ollama_chat", "lm_studio"}
    | {"deepseek", "groq", "openrouter"}
)
#: options that the protocol knows
PROTOCOL_OPTIONS = frozenset(
    {"frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs"}
    | {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop"}
    | {"tools", "tool_choice", "parallel_tool_calls", "response_format", "prediction"}
    | {"reasoning_effort", "verbosity", "service_tier", "store", "metadata", "user"}
    | {"prompt_cache_key", "prompt_cache_retention", "safety_identifier"}
)
#: options about the way itself
CLIENT_OPTIONS = frozenset(
    {"api_key", "api_base", "base_url", "timeout", "extra_headers", "headers"}
    | {"extra_body", "organization", "drop_params"}
)
#: options with which a request can go the direct way
DIRECT_OPTIONS = PROTOCOL_OPTIONS | CLIENT_OPTIONS
#: models that litellm asks in other protocols
_OTHER_PROTOCOLS = ("responses/",)


def obstacle(arguments: Mapping[str, Any]) -> str:
    """The reason why a request needs litellm; empty if it does not.

    Args:
        arguments: all that go with the messages, the user's options included.
    """
    if set_there := host.hooks():
        return f"litellm.{set_there[0]} is set"
    if DIRECT_OPTIONS.issuperset(arguments):
        return ""
    unknown = arguments.keys() - DIRECT_OPTIONS
    if unknown == {"think"} and arguments["think"] is False:
        return ""  # Mesa-LLM's word for Ollama; the protocol has one, too
    return f"only litellm knows the option {min(unknown)!r}"


def destination(
    model: str, api_base: str | None, api_key: str | None
) -> tuple[str, host.Address | None]:
    """The reason why a model needs litellm, empty if it does not; and its address.

    Args:
        model: ``"provider/model"``.
        api_base: None is the provider's usual address.
        api_key: None is the one that litellm knows.
    """
    try:
        address = host.address_of(model, api_base, api_key)
    except Exception:  # litellm's own, of any class; it says what it does not know
        return "litellm does not know the name", None
    reason = ""
    if not _speaks(address.provider, api_base):
        reason = f"{address.provider} speaks a protocol of its own"
    elif address.model.startswith(_OTHER_PROTOCOLS):
        reason = "the model is asked by the responses protocol"
    elif (proxy_of(urlsplit(address.base or "")) or "").startswith("socks"):
        reason = "a SOCKS proxy leads to it"
    return reason, address


def speaks_openai(model: str, api_base: str | None) -> bool:
    """True if the model's server speaks the OpenAI protocol, as far as its name says."""
    try:
        provider = host.address_of(model, api_base, None).provider
    except Exception:  # as above
        return False
    return _speaks(provider, api_base)


def _speaks(provider: str, api_base: str | None) -> bool:
    known = provider in OPENAI_PROVIDERS or (
        bool(api_base) and host.speaks_openai(provider)
    )
    return known and not host.is_custom(provider)


#: seconds that a connection stays open between two requests
KEEPALIVE_S = 60.0
#: seconds for which the address of a name is remembered
DNS_CACHE_S = 300
#: seconds for closing connections when the program ends
CLOSING_S = 1.0
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None)


class Connections:
    """One session for each event loop; how many requests there are, others decide."""

    def __init__(self) -> None:
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    def session(self) -> aiohttp.ClientSession:
        """The session of the running event loop, made on first use."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            for ended in [other for other in self._sessions if other.is_closed()]:
                self._sessions.pop(ended).detach()
            session = self._sessions[loop] = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0, keepalive_timeout=KEEPALIVE_S, ttl_dns_cache=DNS_CACHE_S
                ),
                timeout=_NO_TIMEOUT,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return session

    def close(self) -> None:
        """Closes all while their event loops still run."""
        for loop, session in self._sessions.items():
            if loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(session.close(), loop)
                with suppress(TimeoutError):  # the process ends anyway
                    closing.result(CLOSING_S)
            else:
                session.detach()
        self._sessions.clear()

    def forked(self) -> None:
        """In a child process: leaves all to the parent."""
        for session in self._sessions.values():
            session.detach()
        self._sessions.clear()


class _Connector(aiohttp.TCPConnector):
    """Connections that are closed together, or by the system.

    Those of a parent process must not be closed in its child, which shares the parent's
    event loop; those of an event loop that has ended cannot be.
    """

    def __del__(self, *_: Any) -> None:
        """Says nothing of them."""


connections = Connections()
at_fork(after_in_child=connections.forked)
atexit.register(connections.close)


#: what some servers put in front of an answer; litellm takes it off, too
_THOUGHT = re.compile(
    r"<(?:think|thinking|budget:thinking)>.*?</(?:think|thinking|budget:thinking)>(.*)",
    re.DOTALL,
)


def answer_of(body: bytes) -> dict[str, Any]:
    """The answer in a body, a dict whose ``choices`` has one with a message at least.

    Raises:
        NoAnswer: if such a choice is missing.
        StateError: if the server says that something went wrong, after all.
    """
    try:
        answer = orjson.loads(body)
    except ValueError:
        try:  # half of a pair of \u escapes, or NaN
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(
                "the reply is not valid JSON; expected a chat completion"
            ) from error
    if not isinstance(answer, dict):
        raise NoAnswer("the reply is not a JSON object; expected a chat completion")
    if fault := answer.get("error"):
        code = fault.get("code") if isinstance(fault, dict) else None
        raise StateError(code if isinstance(code, int) else 422, answer)
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise NoAnswer("the reply has no choices")
    first = choices[0]
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise NoAnswer("the reply has no message")
    return answer


def reply_of(answer: dict[str, Any], attempt: Attempt, model: str) -> Reply:
    """The reply in an answer.

    Args:
        model: the name that the server knows.

    Raises:
        NoAnswer: if wrapped reasoning cannot use it.
    """
    choice, counts = answer["choices"][0], TokenCounts.of(answer.get("usage"))
    tier, raw = tier_of(answer), None
    if isinstance(attempt.request, ChatRequest):
        raw = _response(answer, model)
        text, finish = raw.choices[0].message.content, choice.get("finish_reason")
    else:
        text = _text(choice["message"])
        if attempt.by_tool:
            text = _called_with(choice["message"]) or text
        finish = choice.get("finish_reason")
    return Reply(
        text=text,
        model=attempt.model,
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cost=pricing.cost(attempt.model, counts, tier),
        finish=replies.end_of(finish),
        raw=raw,
        answered=_word(answer.get("model")),
        response_id=_word(answer.get("id")),
        cached_tokens=counts.cached,
        tier=tier,
    )


def _response(answer: dict[str, Any], model: str) -> Any:
    """The answer as wrapped reasoning expects it.

    Raises:
        NoAnswer: if that cannot be made of it.
    """
    for choice in answer["choices"]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            choice["message"].setdefault("role", "assistant")
    try:
        return host.response_of(answer, model)
    except Exception as error:  # whatever litellm makes of an odd answer
        raise NoAnswer(f"unexpected reply format: {error}") from error


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _text(message: Mapping[str, Any]) -> str | None:
    """The content of a message, without the thinking that comes before it."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        return None
    thought = _THOUGHT.match(content)
    return thought[1] if thought else content


def _called_with(message: Mapping[str, Any]) -> str | None:
    """The arguments of the first tool that a message calls."""
    calls = message.get("tool_calls")
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    said = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(said) if isinstance(said, dict) else said


#: HTTP states with which a server passes a request on
REDIRECTED = (301, 302, 303, 307, 308)
#: what a key of nobody looks like; litellm's word for servers that want none
_NO_KEY = "fake-api-key"


class OpenAICompatibleSender:
    """Sends attempts as HTTP requests, over connections that are kept."""

    name = "direct"

    def __init__(self) -> None:
        self._targets: dict[tuple, _Target] = {}

    async def send(self, attempt: Attempt) -> Reply:
        """See ``Sender``."""
        target = self._target(attempt)
        try:
            response = await connections.session().post(
                target.url,
                data=_json({**_body(attempt), "model": target.model}),
                headers=target.headers(attempt.options),
                allow_redirects=False,
                proxy=target.proxy,
                ssl=target.tls,
            )
            try:
                raw = await _read(response)
            finally:
                if not response.closed:  # as it is when all was read
                    response.release()
        except aiohttp.InvalidURL as error:
            raise host.not_sendable(
                f"{error} is not an address", target.provider, target.model
            ) from None
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error
        return reply_of(answer_of(raw), attempt, target.model)

    def _target(self, attempt: Attempt) -> "_Target":
        key = (attempt.address, attempt.options.get("organization"))
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = _Target(*key)
        return found


class _Target:
    """The address and headers of requests to a model."""

    def __init__(self, address: host.Address, organization: str | None) -> None:
        self.provider, self.model = address.provider, address.model
        ollama = address.provider.startswith("ollama")
        if address.key is None and not ollama:
            raise host.no_key(address.provider, address.model)
        if not address.base:
            raise host.not_sendable(
                f"no address is known for {address.provider}: give the agent or the "
                "memory an api_base",
                address.provider,
                address.model,
            )
        try:
            base = server_address(address.base)
        except ValueError as error:
            problem = host.not_sendable(f"{error}", address.provider, address.model)
            raise problem from None
        if ollama and not base.endswith("/v1"):
            base += "/v1"
        self.url = URL(f"{base}/chat/completions")
        self.proxy = proxy_of(urlsplit(str(self.url)))
        self.tls = host.tls() if self.url.scheme == "https" else True
        headers = {"Content-Type": "application/json", "Accept-Encoding": UNPACKED}
        if address.key is not None:
            if address.key != _NO_KEY:
                redaction.learn(address.key)
            headers["Authorization"] = f"Bearer {address.key}"
        headers |= _of_the_owner(address.provider, organization)
        self._headers = CIMultiDict(headers)  # as aiohttp wants it

    def headers(self, options: Mapping[str, Any]) -> Mapping[str, str]:
        """The headers of a request."""
        if not options:
            return self._headers
        own = {**(options.get("headers") or {}), **(options.get("extra_headers") or {})}
        return {**self._headers, **own} if own else self._headers


def _of_the_owner(provider: str, organization: str | None) -> dict[str, str]:
    """Headers that name the caller, from the environment."""
    names: dict[str, str | None] = {}
    variable = os.environ.get
    if provider == "openai":
        names["OpenAI-Organization"] = (
            organization or variable("OPENAI_ORGANIZATION") or variable("OPENAI_ORG_ID")
        )
        names["OpenAI-Project"] = variable("OPENAI_PROJECT_ID")
    if provider == "openrouter":
        names["HTTP-Referer"] = variable("OR_SITE_URL")
        names["X-Title"] = variable("OR_APP_NAME")
    return {name: value for name, value in names.items() if value}


def _body(attempt: Attempt) -> dict[str, Any]:
    """The body of a request, as a dict."""
    messages = attempt.request.messages()
    if not attempt.options and _NOT_SENT.isdisjoint(attempt.arguments):
        return {"messages": messages, **attempt.arguments}
    given = {**attempt.arguments, **attempt.options}
    more = given.get("extra_body") or {}
    if given.get("think") is False:
        given.setdefault("reasoning_effort", "none")
    if form := given.get("response_format"):
        given["response_format"] = response_format(form)
    sent = {key: value for key, value in given.items() if key not in _NOT_SENT}
    return {"messages": messages, **sent, **more}


_NOT_SENT = frozenset(
    {"api_key", "api_base", "base_url", "timeout", "extra_headers", "headers"}
    | {"extra_body", "organization", "drop_params", "think"}
)


def _json(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # text that UTF-8 cannot carry, an array, an agent
        return orjson.dumps(plain(body))


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """The body of an answer, within bounds.

    Raises:
        StateError: if its HTTP status is not a success, or its body is refused.
    """
    status, named = response.status, response.headers.get
    if status in REDIRECTED and (where := named("Location")):
        raise StateError(400, refusal(redirected(f"{response.url.join(URL(where))}")))
    body = Body(status, named("Content-Encoding", ""), named("Content-Type", ""))
    content = response.content
    while not body.refusal and body.add(await content.readany()):
        if content.at_eof():
            break
    if body.refusal:
        response.close()
        raise StateError(502, refusal(body.refusal))
    if not 200 <= status < 300:
        raise StateError(status, body.content, response.headers)
    return body.content
