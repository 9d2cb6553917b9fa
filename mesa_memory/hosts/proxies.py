"""Requests to servers on this machine, and HTTP proxies."""

import os
from functools import lru_cache
from urllib.parse import SplitResult
from urllib.request import getproxies, proxy_bypass

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
