"""Addresses: what names a place in a network, or where to find such a name.

A file from somebody else must not say where requests, and the keys in them, are sent.
"""

import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import urlsplit

from mesa_memory.core.text.redaction import logger as logger_of

logger = logger_of(__name__)

#: people copy these with an address, or put it between them
_AROUND = " \t\r\n\xa0\u200b\ufeff'\"`<>"
#: the ends of an address that its clients add themselves
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|embeddings)/*$")
_BETWEEN = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
#: an argument with such a word in its name holds an address, if it holds a text
_WORDS = frozenset(
    {"url", "urls", "uri", "uris", "endpoint", "endpoints", "host", "hosts", "hostname"}
    | {"server", "servers", "proxy", "proxies", "dsn", "webhook", "domain", "baseurl"}
    | {"gateway", "upstream", "apibase", "address", "addresses"}
)
_PAIRS = frozenset({("api", "base"), ("base", "path"), ("api", "root")})
#: what a provider's client puts into the name of a host
_PARTS = frozenset({"region", "location", "zone", "account", "resource", "instance"})
_PARTS |= {"subdomain", "tenant", "workspace"}
_BREAKS_OUT = re.compile(r"[/\\?#@:\s]")
_NUMBERS = r"\d{1,3}(?:\.\d{1,3}){3}"
_HOST = rf"(?:localhost|{_NUMBERS}|(?:[a-z0-9_-]+\.)+[a-z]{{2,}})"
_TEXTS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[a-z][a-z0-9+.-]*:/?/",  # a scheme
        r"^\s*(?:postgres|postgresql|mysql|sqlite|file|unix)[+\w]*:",
        r"^\s*(?://|\\\\)",  # //host, \\host
        rf"(?:^|[\s/@=,:'\"(]){_HOST}:\d+",  # host:port
        rf"(?:^|[\s/@=,:'\"(])(?:localhost|{_NUMBERS})(?:[\s/?#,'\")]|$)",
        r"(?:^|[\s/@=,:'\"(])(?:[a-z0-9_-]+\.)+[a-z]{2,}[/?#\\]",  # host and path
        r"\[[0-9a-f:.]*:[0-9a-f:.]*\]",  # [::1]
        r"\bos\.environ\b|\$\{?[A-Za-z_]\w*|%[A-Za-z_]\w*%",  # a variable's value
        r"(?:^|\s)(?:host|hostaddr|server)\s*=\s*\S",  # a DSN of keywords
    )
]


def is_address(text: str, name: str = "") -> bool:
    """True for a text that is an address, or has one in it.

    Args:
        text: any.
        name: of what holds it; under some, such as ``api_base``, any text is one.
    """
    words = [word.lower() for word in _BETWEEN.split(name) if word]
    if _WORDS & set(words) or _PAIRS & set(pairwise(words)):
        return bool(text)
    if _PARTS & set(words) and _BREAKS_OUT.search(text):
        return True
    return any(pattern.search(text) for pattern in _TEXTS)


@lru_cache
def server_address(api_base: object) -> str:
    """The address of a model server, put right where that is safe.

    Spaces and quotes around it, and an endpoint such as ``/chat/completions`` at its end,
    are left out; one line in the log says so.

    Raises:
        ValueError: if it is not a web address.
    """
    given = str(api_base)
    base = _ENDPOINT.sub("", given.strip(_AROUND).rstrip("/"))
    try:
        parts = urlsplit(base)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is not one
        fits = False
    if not fits or re.search(r"\s", base):
        raise ValueError(
            f"api_base {given!r} is not a web address: give scheme, host and path, such "
            "as 'http://localhost:8080/v1'"
        )
    if base != given.rstrip("/"):
        logger.warning("api_base %r is used as %r", given, base)
    return base
