"""Addresses of model servers, and names of attributes that hold an address."""

import re
from functools import lru_cache
from itertools import pairwise
from urllib.parse import urlsplit

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.text.redaction import name_words

logger = logger_of(__name__)

#: people copy these with an address, or put it between them
_AROUND = " \t\r\n\xa0\u200b\ufeff'\"`<>"
#: the ends of an address that its clients add themselves
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|embeddings)/*$")
#: an attribute with such a word in its name holds an address
_WORDS = frozenset(
    {"url", "urls", "uri", "uris", "endpoint", "endpoints", "host", "hosts", "hostname"}
    | {"server", "servers", "proxy", "proxies", "dsn", "webhook", "domain", "baseurl"}
    | {"gateway", "upstream", "apibase", "address", "addresses"}
)
_PAIRS = frozenset({("api", "base"), ("base", "path"), ("api", "root")})


def is_address_name(name: str) -> bool:
    """True for a name such as ``api_base``, whose value says where requests are sent."""
    words = name_words(name)
    return bool(_WORDS & set(words) or _PAIRS & set(pairwise(words)))


def host_and_path(address: str) -> str:
    """Host, port and path, without a password or a key that may stand in an address."""
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2] + parts.path


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
