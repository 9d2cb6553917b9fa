"""Sends requests directly to servers that speak the OpenAI protocol.

Names, keys and addresses are those of litellm. What is sent is the request and nothing
else; what comes back is read within the bounds of ``hosts.http_limits``.
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from mesa_memory.core.content import plain
from mesa_memory.core.reply import Reply
from mesa_memory.core.text import redaction
from mesa_memory.core.text.addresses import server_address
from mesa_memory.hosts import litellm as host
from mesa_memory.hosts.http_limits import UNPACKED, Body, redirected, refusal
from mesa_memory.hosts.provider_faults import StateError
from mesa_memory.hosts.proxies import proxy_of
from mesa_memory.llm.base import Attempt
from mesa_memory.llm.providers.completion import answer_of, reply_of
from mesa_memory.llm.providers.connections import connections
from mesa_memory.llm.schemas import response_format

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
        target, body = self._target(attempt), _body(attempt)
        body["model"] = target.model
        raw = await self._post(target, attempt, _json(body))
        return reply_of(answer_of(raw), attempt, target.model)

    def _target(self, attempt: Attempt) -> "_Target":
        key = (attempt.address, attempt.options.get("organization"))
        found = self._targets.get(key)
        if found is None:
            found = self._targets[key] = _Target(*key)
        return found

    async def _post(self, target: "_Target", attempt: Attempt, body: bytes) -> bytes:
        """The body of the answer.

        Raises:
            StateError: if the server refuses, or its answer cannot be read.
            ConnectionError: without a connection, or it is lost.
        """
        try:
            response = await connections.session().post(
                target.url,
                data=body,
                headers=target.headers(attempt.options),
                allow_redirects=False,
                proxy=target.proxy,
                ssl=target.tls,
            )
            try:
                return await _read(response)
            finally:
                if not response.closed:  # as it is when all was read
                    response.release()
        except aiohttp.InvalidURL as error:
            raise host.not_sendable(
                f"{error} is not an address", target.provider, target.model
            ) from None
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error) or type(error).__name__) from error


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
