"""Secrets, and how they are kept out of everything that is written or shown.

A secret is known by its place (an argument, variable or field with a name such as
``api_key``, the password in an address) or by its value, once it was met in such a
place. What is known by value is taken out of every text: errors, logs, stored rows.
"""

import json
import logging
import os
import re
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

#: what stands in the place of a secret
REDACTED = "[secret]"
_WORDS = frozenset(
    {"secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase"}
    | {"token", "dsn", "auth", "authorization", "credential", "credentials"}
    | {"bearer", "cookie", "apikey", "apikeys", "passcode"}
)
_PAIRS = frozenset(
    (first, last)
    for first in ("api", "access", "private", "signing", "master", "subscription")
    for last in ("key", "keys")
)
#: between the words of a name, and before each capital of camelCase
_BETWEEN = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
#: the password in an address: scheme://user:password@host
_PASSWORD = re.compile(r"(?<=://)([^\s/:@\"'?#]*):([^\s/@\"']+)@")
#: a secret that is given by name: password=…, "api_key": …
_GIVEN = re.compile(
    r"\b((?:password|passwd|pwd|api_?key|access_token|client_secret)[\"']?\s*[=:]\s*[\"']?)"
    r"([^\s\"'&;,)\]}…]{6,})",
    re.IGNORECASE,
)
#: names of variables whose values are, or may become, addresses
_ADDRESS_NAME = re.compile(
    r"(?:url|uri|base|host|proxy|endpoint|server)$", re.IGNORECASE
)
#: without one of these, without case, nothing is given by name
_NAMED = ("passw", "pwd", "key", "access_token", "_secret")
#: loggers of the packages that talk to providers
_TALKERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "httpx", "openai")
_SCHEMES = ("bearer ", "basic ", "token ")
#: shorter values, and words such as "none-needed", are found in texts by accident
_LONG, _SHORT, _WORD = 12, 6, 20

_known: set[str] = set()


def name_words(name: str) -> list[str]:
    """The words of a name such as ``api_key`` or ``dbPassword``, in lower case."""
    return [word.lower() for word in _BETWEEN.split(name) if word]


@lru_cache(4096)
def secret_name(name: str) -> bool:
    """True for the name of something secret, such as ``api_key`` or ``dbPassword``."""
    words = name_words(name)
    return bool(_WORDS & set(words)) or bool(_PAIRS & set(pairwise(words)))


def learn(*values: object) -> None:
    """From now on these values are secret; texts that others may say by accident are not."""
    for value in values:
        if isinstance(value, str):
            _known.update(_parts(value))


def learn_named(values: Mapping[Any, Any]) -> None:
    """Learns the values under names of secrets in a mapping, at any depth."""
    for name, value in values.items():
        if secret_name(str(name)):
            learn(*_texts(value))
        elif isinstance(value, Mapping):
            learn_named(value)
        learn(*_passwords(value))


def learn_keys(package: Any) -> None:
    """Learns the keys that stand in a package itself, such as ``litellm.api_key``."""
    learn(*(value for name, value in vars(package).items() if name.endswith("_key")))


def scrub(text: str) -> str:
    """The text without any known secret, and without passwords in addresses."""
    for secret in secrets():
        if secret in text:
            text = text.replace(secret, REDACTED)
    if "://" in text:
        text = _PASSWORD.sub(rf"\1:{REDACTED}@", text)
    given = any(map(text.casefold().__contains__, _NAMED))
    return _GIVEN.sub(_unless_telling_nothing, text) if given else text


def _unless_telling_nothing(found: re.Match[str]) -> str:
    return found[1] + REDACTED if _telling(found[2]) else found[0]


def scrub_json(text: bytes) -> bytes:
    """JSON text without any known secret; it stays JSON."""
    for secret in secrets():
        if secret.isalnum() and secret.encode() not in text:
            continue  # it looks the same in any JSON
        for form in {json.dumps(secret), json.dumps(secret, ensure_ascii=False)}:
            raw = form[1:-1].encode("utf-8", "surrogatepass")
            if raw in text:
                text = text.replace(raw, REDACTED.encode())
    return text


def scrub_data(value: Any) -> Any:
    """Plain data without any known secret, in keys and values."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub_data(key): scrub_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([scrub_data(item) for item in value])
    return value


def scrub_reply(reply: Any) -> Any:
    """A language model's reply without known secrets, in its text and raw response."""
    if isinstance(reply.text, str) and (clean := scrub(reply.text)) != reply.text:
        reply = replace(reply, text=clean)
    for choice in getattr(reply.raw, "choices", None) or ():
        message = getattr(choice, "message", None)
        parts = [message, *(getattr(message, "tool_calls", None) or ())]
        parts += [getattr(part, "function", None) for part in parts[1:]]
        for part in parts:
            for name in ("content", "reasoning_content", "arguments"):
                said = getattr(part, name, None)
                if isinstance(said, str) and holds_secret(said):
                    setattr(part, name, scrub(said))
    return reply


def hide(value: Any, name: str = "") -> Any:
    """Plain data for a reader: no known secret, and nothing under a secret's name."""
    if isinstance(value, str):
        return REDACTED if value and secret_name(name) else scrub(value)
    if isinstance(value, dict):
        return {
            key: hide(item, name if secret_name(name) else str(key))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [hide(item, name) for item in value]
    return value


def holds_secret(text: str) -> bool:
    """True if a text has a known secret in it, or an address with a password."""
    return scrub(text) != text


def cause(error: BaseException) -> BaseException | None:
    """The error, to raise another one ``from``; None if its traceback has a secret."""
    told = "".join(traceback.format_exception(error))
    return None if holds_secret(told) else error


def secrets() -> tuple[str, ...]:
    """Every secret known by its value, the longest first."""
    telling = _telling_variables(tuple(os.environ))
    values = tuple((name, os.environ.get(name, "")) for name in telling)
    return _secrets(len(_known), values)


@lru_cache(1)
def _telling_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    """The variables of the environment that have a secret, or an address."""
    return tuple(
        name
        for name in names
        if secret_name(name)
        or _ADDRESS_NAME.search(name)
        or "://" in os.environ.get(name, "")
    )


@lru_cache(1)
def _secrets(known: int, variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    found = set(_known)
    for name, value in variables:
        if secret_name(name) and not value.startswith(("/", "~", ".")):  # no path
            found |= _parts(value)
        elif "://" in value:
            found.update(part for part in _passwords(value) if _telling(part))
    return tuple(sorted(found, key=lambda secret: (-len(secret), secret)))


def logger(name: str) -> logging.Logger:
    """A logger that removes secrets from messages and tracebacks."""
    found = logging.getLogger(name)
    if not any(isinstance(each, _Filter) for each in found.filters):
        found.addFilter(_Filter())
    return found


def guard_others() -> None:
    """Takes secrets out of the logs of packages that talk to providers."""
    for name in _TALKERS:
        logger(name)


class _Filter(logging.Filter):
    """Takes secrets out of a record before any handler sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if holds_secret(said):
            record.msg, record.args = scrub(said), None
        if record.exc_info and record.exc_info[1] is not None:
            told = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
            if holds_secret(told):
                record.exc_info, record.exc_text = None, scrub(told)
        return True


def _parts(value: str) -> set[str]:
    """The parts of a secret's value that are unlike ordinary words."""
    found = {value.strip(), *_passwords(value)}
    for scheme in _SCHEMES:
        if value.lower().startswith(scheme):
            found = {value[len(scheme) :].strip()}
    return {part for part in found if _telling(part)}


def _telling(value: str) -> bool:
    if len(value) < _SHORT or any(c.isspace() for c in value):
        return False  # "the mill is sold" may be a secret in a town, but is no key
    if any(c.isdigit() for c in value) and any(c.isalpha() for c in value):
        return True
    word = value.isalpha() and value in (value.lower(), value.capitalize())
    return len(value) >= (_WORD if word else _LONG)


def _passwords(value: object) -> list[str]:
    if not isinstance(value, str) or "://" not in value:
        return []
    return [found.group(2) for found in _PASSWORD.finditer(value)]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []
