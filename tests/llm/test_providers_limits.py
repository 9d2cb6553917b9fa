"""Limits on both ways to a provider: connections and concurrency."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mesa_memory import Services
from mesa_memory.llm.client import ProviderClient
from tests.support.client import ask, ask_all, client, question
from tests.support.openai_server import Behaviour, OpenAIServer, sequence
from tests.support.waiting import until
from tests.support.ways import way  # noqa: F401 - each test on both


def test_requests_one_after_the_other_share_a_connection(server):
    llm = client()
    for _ in range(20):
        ask(llm, question(server))
    assert server.requests == 20
    assert server.total_connections == 1


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_more_than_so_many_requests_and_connections_at_once(concurrency):
    with OpenAIServer(latency=0.05, together=concurrency) as server:
        llm = client(concurrency=concurrency)
        ask_all(llm, [question(server)] * 12)
        assert server.requests == 12
        assert server.in_flight_max == concurrency
        assert server.max_connections <= concurrency
        assert server.total_connections <= concurrency


FAULTS = [
    Behaviour.status(500),
    Behaviour.drop_before(),
    Behaviour.drop_inside(),
    Behaviour.raw(b"{"),
]


def test_requests_that_are_given_up_leave_no_connections_behind():
    with OpenAIServer(behave=sequence(*[*FAULTS, Behaviour.silent()] * 4)) as server:
        llm = client(concurrency=3, attempts=100, timeout=0.5)
        replies = ask_all(llm, [question(server)] * 12)
        assert {type(reply).__name__ for reply in replies} == {"Reply"}
        failed = sum(reply.attempts - 1 for reply in replies)
        assert server.total_connections <= 3 + failed
        until(lambda: server.open_connections <= 3)


def test_threads_that_ask_first_share_one_client_and_so_its_limits(monkeypatch):
    made, make = [], ProviderClient.__init__

    def slow(self, *args, **kwargs):
        time.sleep(0.05)
        made.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(ProviderClient, "__init__", slow)
    services = Services()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(services.instant, "openai/test", False) for _ in range(8)]
    assert not any(future.result() for future in asked)
    assert len(made) == 1
