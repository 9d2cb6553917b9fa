"""Requests to servers on this machine, and HTTP proxies."""

import os

#: reached without any proxy, as a proxy cannot know this machine's own servers
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def reach_loopback_directly() -> None:
    """Adds this machine's own names to ``no_proxy``, which HTTP clients read."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = [host.strip() for host in known.split(",") if host.strip()]
    if "*" not in hosts:
        hosts += [host for host in LOOPBACK if host not in hosts]
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(hosts)
