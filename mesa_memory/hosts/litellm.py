"""litellm: its HTTP clients and their limits, its providers and their addresses.

A request is not redirected, and a reply ends in time and within a size. The limits hold
for the requests of this package with any HTTP client that litellm makes, for texts and
for embeddings.
"""

import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache, wraps
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from mesa_memory.core.fault_table import ERROR_BYTES
from mesa_memory.core.requests import token_count
from mesa_memory.core.text import redaction
from mesa_memory.core.text.addresses import host_and_path
from mesa_memory.errors import HostChanged
from mesa_memory.hosts import changed

#: a longer body is no reply of a language model; bytes
BODY_BYTES = 10_000_000
#: the only encoding of a body that is asked for: a few packed bytes may unpack to many
UNPACKED = "identity"
#: of the body as it was sent, not of what is handed on
_OF_THE_SENDING = ("content-encoding", "content-length", "transfer-encoding")

_DECODER = json.JSONDecoder()
#: the HTTP state, body and headers of an error
type Refused = tuple[int, bytes, Mapping[str, str]]


@dataclass
class _Bounds:
    size: int
    until: float
    refused: list[Refused] = field(default_factory=list)


_bounds: ContextVar[_Bounds | None] = ContextVar("bounds", default=None)


@contextmanager
def bounded(
    size: int = BODY_BYTES, seconds: float = float("inf")
) -> Iterator[list[Refused]]:
    """Bounds the replies to the requests made inside, and gives the last one if refused.

    Args:
        size: longest body, bytes.
        seconds: until a reply must be whole.
    """
    bounds = _Bounds(size, time.monotonic() + seconds)
    token = _bounds.set(bounds)
    try:
        yield bounds.refused
    finally:
        _bounds.reset(token)


def limit_client(client: httpx.Client | httpx.AsyncClient) -> None:
    """Limits an HTTP client from now on; again does nothing."""
    present: dict[str, list[Any]] = client.event_hooks
    waits = isinstance(client, httpx.AsyncClient)
    asked: Any = _async_asked if waits else _asked
    answered: Any = _async_answered if waits else _answered
    if answered not in present["response"]:
        client.event_hooks = {
            "request": [*present["request"], asked],
            "response": [answered, *present["response"]],
        }


def _asked(request: httpx.Request) -> None:
    if bounds := _bounds.get():
        bounds.refused.clear()
        request.headers["accept-encoding"] = UNPACKED


async def _async_asked(request: httpx.Request) -> None:
    _asked(request)


def _answered(response: httpx.Response) -> None:
    if not (bounds := _bounds.get()):
        return
    body, stream = _body_of(response, bounds), response.stream
    assert isinstance(stream, httpx.SyncByteStream)
    if not body.refusal:
        for part in stream:
            if not _goes_on(response, body, part, bounds):
                break
    stream.close()
    _end(response, body, bounds)


async def _async_answered(response: httpx.Response) -> None:
    if not (bounds := _bounds.get()):
        return
    body, stream = _body_of(response, bounds), response.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    if not body.refusal:
        async for part in stream:
            if not _goes_on(response, body, part, bounds):
                break
    await stream.aclose()
    _end(response, body, bounds)


def _body_of(response: httpx.Response, bounds: _Bounds) -> "Body":
    """The body of a response; a redirect's has a refusal and is not read.

    Headers of a request may hold a key, its body what agents remember.
    """
    named = response.headers.get
    packing, kind = named("content-encoding", ""), named("content-type", "")
    body = Body(response.status_code, packing, kind, bounds.size)
    if response.has_redirect_location:
        target = response.url.join(response.headers["location"])
        body.refusal, body.status = redirected(f"{target}"), 400
    return body


def _goes_on(
    response: httpx.Response, body: "Body", part: bytes, bounds: _Bounds
) -> bool:
    """Adds a part; False if the rest need not be read.

    Raises:
        httpx.ReadTimeout: if the reply takes too long.
    """
    if time.monotonic() > bounds.until:
        raise httpx.ReadTimeout(
            "the reply did not end in time", request=response.request
        )
    return body.add(part)


def _end(response: httpx.Response, body: "Body", bounds: _Bounds | None) -> None:
    """Replaces a response's body by its read bytes, or by a refusal."""
    content, headers = _with_true_counts(body.content), response.headers
    if body.refusal:
        error = {"message": refusal(body.refusal), "type": "refused"}
        content = json.dumps({"error": error}).encode()
        response.status_code = body.status
        headers["content-type"] = "application/json"
        headers.pop("location", None)
    for name in _OF_THE_SENDING:
        headers.pop(name, None)
    response.stream = httpx.ByteStream(content)
    if bounds and response.is_error:
        bounds.refused.append((response.status_code, content, headers))


class Body:
    """A reply's body that is put together while it arrives, within bounds.

    Only the beginning of an error is read.

    Args:
        status: of HTTP.
        packing: the reply's ``content-encoding``.
        kind: its ``content-type``.
        size: longest body, bytes.

    Attributes:
        refusal: the reason why this is not a reply; empty while it may be one.
        status: the HTTP state with which a refusal is reported.
    """

    status = 502

    def __init__(
        self, status: int, packing: str, kind: str, size: int = BODY_BYTES
    ) -> None:
        self._is_error, self.refusal = status >= 400, ""
        self._size = ERROR_BYTES if self._is_error else size
        self._parts = bytearray()
        if packing.strip().lower() not in ("", UNPACKED):
            self.refusal = f"its reply is packed in a way not asked for, {packing[:40]}"
        if 200 <= status < 300 and kind.startswith("text/html"):
            self.refusal = "its reply is an HTML page"

    def add(self, part: bytes) -> bool:
        """False if the rest need not be read."""
        room = self._size - len(self._parts)
        self._parts += part[:room]
        if self._is_error:
            return len(part) < room
        if len(part) > room:
            self.refusal = f"its reply has more than {self._size} bytes"
        return not self.refusal

    @property
    def content(self) -> bytes:
        """The bytes read."""
        return bytes(self._parts)


_USAGE = re.compile(rb'"usage(?:Metadata)?"\s*:\s*(?=\{)')


def _with_true_counts(body: bytes) -> bytes:
    """A reply without counts that cannot be true: litellm gives up the reply for one."""
    for found in reversed([*_USAGE.finditer(body)]):
        text = body[found.end() :].decode("utf-8", "replace")
        try:
            usage, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        true = _true_counts(usage)
        if true != usage:
            after = text[end:].encode()
            body = body[: found.end()] + json.dumps(true).encode() + after
    return body


def _true_counts(usage: Any) -> Any:
    """A usage without the numbers of tokens that are not numbers of tokens."""
    if not isinstance(usage, dict):
        return usage
    kept = {name: _true_counts(value) for name, value in usage.items()}
    return {
        name: value
        for name, value in kept.items()
        if isinstance(value, dict)
        or not name.lower().endswith(("tokens", "tokencount"))
        or token_count(value) is not None
    }


def redirected(target: str) -> str:
    """The reason for refusing a redirect."""
    place = f"{urlsplit(target).scheme}://{host_and_path(target)}"
    return f"it redirects to {place}; give that address as api_base if it is right"


def refusal(reason: str) -> str:
    """The message about a server whose reply is refused."""
    return f"the server was refused: {reason}"


#: reached without any proxy, as a proxy cannot know this machine's own servers
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def bypass_proxy_for_localhost() -> None:
    """Adds this machine's own names to ``no_proxy``, which HTTP clients read."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = [host.strip() for host in known.split(",") if host.strip()]
    if "*" not in hosts:
        hosts += [host for host in LOOPBACK_HOSTS if host not in hosts]
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(hosts)


def proxy_of(address: SplitResult) -> str | None:
    """The proxy that the environment names for an address; None if it names no proxy.

    As HTTP clients do, it reads ``http_proxy``, ``https_proxy``, ``all_proxy`` and
    ``no_proxy``, in lower or upper case.
    """
    names = _proxy_variables(tuple(os.environ))
    proxies = _proxies(names, tuple(map(os.environ.get, names)))
    if not address.netloc or proxies.keys() <= {"no"}:
        return None
    found = proxies.get(address.scheme) or proxies.get("all")
    if not found or proxy_bypass(address.netloc.rpartition("@")[2]):
        return None
    return found if "://" in found else f"http://{found}"


@lru_cache(1)
def _proxy_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    known = ("_proxy", "request_method")  # see getproxies_environment
    return tuple(name for name in names if name.lower().endswith(known))


@lru_cache(1)
def _proxies(names: tuple[str, ...], values: tuple[str | None, ...]) -> dict[str, str]:
    """The proxies that these variables name."""
    return getproxies()


#: (place in litellm, class, method that makes a client)
_MAKERS = (
    ("llms.custom_httpx.http_handler", "AsyncHTTPHandler", "create_client"),
    ("llms.custom_httpx.http_handler", "HTTPHandler", "create_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_async_http_client"),
    ("llms.openai.common_utils", "BaseOpenAILLM", "_get_sync_http_client"),
)
#: what a user's code may have set in litellm, so that requests must go through it
_HOOKS = (
    *("callbacks", "input_callback", "success_callback", "failure_callback"),
    *("service_callback", "_async_input_callback", "_async_success_callback"),
    *("_async_failure_callback", "pre_call_rules", "post_call_rules", "cache"),
    *("client_session", "aclient_session", "model_alias_map", "headers", "proxy_auth"),
    *("use_litellm_proxy", "network_mock", "fallbacks", "model_fallbacks"),
    *("max_budget", "secret_manager_client", "force_ipv4", "modify_params"),
    *("ssl_certificate", "route_all_chat_openai_to_responses"),
)
#: provider -> variables of its address, of its key, and its usual address
_PLACES = {
    "openai": (
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1",
    ),
    "openrouter": (
        ("OPENROUTER_API_BASE",),
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        "https://openrouter.ai/api/v1",
    ),
    "ollama": (("OLLAMA_API_BASE",), ("OLLAMA_API_KEY",), "http://localhost:11434"),
}
_SAME = {"custom_openai": "openai", "ollama_chat": "ollama"}


@dataclass(frozen=True)
class Address:
    """The address to which litellm sends the requests for a model.

    Attributes:
        provider: its name.
        model: the name that the server knows.
        base: address; None if none is known.
        key: None if none is known.
    """

    provider: str
    model: str
    base: str | None
    key: str | None = field(repr=False)


def address_of(model: str, api_base: str | None, api_key: str | None) -> Address:
    """The address, bare name and key of a model, as litellm finds them.

    Raises:
        Exception: litellm's own, if it does not know such a name.
    """
    import litellm

    name, provider, key, base = litellm.get_llm_provider(
        model, api_base=api_base, api_key=api_key
    )
    known = _SAME.get(provider, provider)
    bases, keys, usual = _PLACES.get(known, ((), (), None))
    key = api_key or key or litellm.api_key or vars(litellm).get(f"{known}_key")
    if known == "ollama":
        base = litellm.api_base or api_base
    return Address(
        provider,
        name,
        base or litellm.api_base or _variable(bases) or usual,
        key or _variable(keys),
    )


def _variable(names: tuple[str, ...]) -> str | None:
    found = (os.environ.get(name) for name in names)
    return next((value for value in found if value), None)


def speaks_openai(provider: str) -> bool:
    """True if litellm says that the provider's servers speak the OpenAI protocol."""
    import litellm

    return provider in litellm.openai_compatible_providers


def hooks() -> list[str]:
    """The hooks that a user's code has set in litellm, which direct requests bypass."""
    import litellm

    value = vars(litellm).get
    found = [n for n in _HOOKS if value(n)] if any(map(value, _HOOKS)) else []
    if litellm.acompletion is not _acompletion():
        found.append("acompletion")
    if os.environ.get("USE_LITELLM_PROXY"):
        found.append("USE_LITELLM_PROXY")
    return found


def missing_keys(model: str) -> list[str]:
    """The variables of the environment that the model's provider needs and lacks."""
    import litellm

    missing: list[str] = litellm.validate_environment(model)["missing_keys"]
    return missing


def is_custom(provider: str) -> bool:
    """True if a user's own code answers for the provider."""
    import litellm

    return any(item["provider"] == provider for item in litellm.custom_provider_map)


def no_key(provider: str, model: str) -> Exception:
    """Litellm's error for a provider without a key."""
    import litellm

    return litellm.AuthenticationError(
        f"no API key is known for {provider}: set its variable in the environment, or "
        "give options={'api_key': …}",
        provider,
        model,
    )


def not_sendable(said: str, provider: str, model: str) -> Exception:
    """Litellm's error for a request that cannot be sent as it is."""
    import litellm

    return litellm.BadRequestError(said, model, provider)


def tls() -> Any:
    """The TLS context that litellm uses; False checks no certificate."""
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return get_ssl_configuration()


def finish_reason(choice: Any) -> Any:
    """The provider's own word for the end of a choice, as far as litellm kept it."""
    kept = getattr(choice, "provider_specific_fields", None)
    native = kept.get("native_finish_reason") if isinstance(kept, dict) else None
    return native or getattr(choice, "finish_reason", None)


def response_of(answer: dict[str, Any], model: str) -> Any:
    """A server's answer as the object that ``litellm.completion`` gives."""
    import litellm

    try:
        convert = litellm.utils.convert_to_model_response_object
    except AttributeError:
        raise _changed("utils.convert_to_model_response_object") from None
    response = litellm.ModelResponse(model=model, usage=litellm.Usage())
    counted = {name: value for name, value in answer.items() if value is not None}
    return convert(response_object=counted, model_response_object=response)


@cache
def _acompletion() -> Any:
    """The function of litellm's own, in whose place a user's code may put another."""
    import litellm

    return litellm.acompletion


def be_quiet() -> None:
    """Keeps litellm from printing advice of its own, and looks at how it is now."""
    import litellm

    litellm.suppress_debug_info = True
    _acompletion()
    for name in ("LiteLLM", "asyncio"):
        logging.getLogger(name).addFilter(_matters)


def _matters(record: logging.LogRecord) -> bool:
    """False for messages about litellm's worker for logs, unless something is logged.

    The process has one worker. It moves to each event loop that uses litellm, such as the
    user's and the one in the background, and leaves its tasks behind.
    """
    said = record.getMessage()
    of_worker = "LoggingWorker" in said or "Logging.async_" in said
    return not of_worker or bool(hooks())


@cache
def prepare() -> None:
    """Makes litellm ready: quiet, with limits, without secrets in its log, no local proxy."""
    be_quiet()
    redaction.guard_others()
    bypass_proxy_for_localhost()
    limit_clients()


@cache
def limit_clients() -> None:
    """Limits the HTTP clients that litellm makes from now on; see ``bounded``.

    litellm hands over a client of one's own for some providers only, so the methods that
    make its clients are wrapped.

    Raises:
        HostChanged: if litellm makes its clients in another way.
    """
    for owner, name in _makers():
        made = vars(owner)[name]
        make = _limited(getattr(owner, name))
        setattr(
            owner, name, staticmethod(make) if isinstance(made, staticmethod) else make
        )


def response_cost(response: Any) -> float | None:
    """US dollars as litellm computed them; None or 0 if it does not know a price."""
    return getattr(response, "_hidden_params", {}).get("response_cost")


def add_provider(name: str, handler: Any, own_errors: type) -> None:
    """Adds a provider of one's own; again does nothing.

    Args:
        name: as in ``name/model``.
        handler: gives the ``CustomLLM`` that answers; called once.
        own_errors: litellm hands errors on that are instances of it, as they are.

    Raises:
        HostChanged: if litellm takes no providers any more.
    """
    import litellm

    for needed in ("custom_provider_map", "LITELLM_EXCEPTION_TYPES"):
        if not hasattr(litellm, needed):
            raise _changed(needed)
    be_quiet()  # some versions print advice about names that are none of theirs
    if all(item["provider"] != name for item in litellm.custom_provider_map):
        entry: Any = {"provider": name, "custom_handler": handler()}
        litellm.custom_provider_map.append(entry)
        # Any other error litellm would call a failed connection, and Mesa-LLM would ask
        # again without end.
        handed_on: Any = [*litellm.LITELLM_EXCEPTION_TYPES, own_errors]
        litellm.LITELLM_EXCEPTION_TYPES = handed_on


def _makers() -> Iterator[tuple[Any, str]]:
    import litellm.llms.custom_httpx.http_handler
    import litellm.llms.openai.common_utils  # noqa: F401 - both are looked up below

    for place, kind, name in _MAKERS:
        owner = getattr(sys.modules[f"litellm.{place}"], kind, None)
        if not hasattr(owner, name):
            raise _changed(f"{kind}.{name}")
        yield owner, name


def _changed(name: str) -> HostChanged:
    advice = "Use a supported version: pip install 'litellm>=1.98'."
    return changed("litellm", f"it has no {name}", advice)


def _limited(make: Any) -> Any:
    """Makes clients as ``make`` does, with limits."""

    @wraps(make)
    def making(*args: Any, **given: Any) -> Any:
        client = make(*args, **given)
        if client is not None:
            limit_client(client)
        return client

    return making
