"""No test may reach anything but this machine."""

import socket
from collections.abc import Iterator

import pytest

LOCAL = ("127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "localhost", None)


def guards(asked: list[str]) -> tuple:
    """``connect`` and ``getaddrinfo`` that refuse all other hosts, and note them."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def check(host):
        host = host.decode() if isinstance(host, bytes) else host
        if host not in LOCAL:
            asked.append(host)
            raise OSError(f"a test tried to reach {host}")

    def guarded_connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(address[0])
        return connect(self, address)

    def guarded_look_up(host, *args, **kwargs):
        check(host)
        return look_up(host, *args, **kwargs)

    return guarded_connect, guarded_look_up


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch) -> Iterator[list[str]]:
    """Refuses all other hosts; gives those that were asked for."""
    asked: list[str] = []
    connect, look_up = guards(asked)
    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield asked
