"""The keeper finishes what a worker has asked that is gone, and asks nobody twice."""

import asyncio
import itertools
import json
import os
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mesa_memory.core.recorder import Asked
from mesa_memory.hosts.litellm import tls
from mesa_memory.llm import keeper, kept
from mesa_memory.llm.frames import framed, heard
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.openai_server import Behaviour, OpenAIServer

QUICK = 0.3


@pytest.fixture
def server():
    with OpenAIServer(latency=QUICK) as server:
        yield server


@pytest.fixture
async def keeping(tmp_path):
    keeping = keeper.Keeper()
    listening = await asyncio.start_unix_server(keeping.serve, tmp_path / "socket")
    keeping.place = tmp_path / "socket"
    yield keeping
    listening.close()


class Worker:
    """One end of a line."""

    def __init__(self, reader, writer, base):
        self.reader, self.writer, self.base = reader, writer, base
        self.numbers = itertools.count()

    def ask(self, key="a", prompt="hello", after=0.0, stored=0):
        body = {"model": "test", "messages": [{"role": "user", "content": prompt}]}
        number = next(self.numbers)
        head = {
            "say": "ask",
            "number": number,
            "run": "1",
            "key": key,
            "after": after,
            "stored": stored,
            "method": "POST",
            "url": f"{self.base}/chat/completions",
            "timeout": 30.0,
            "most": 10**6,
            "headers": [["Content-Type", "application/json"]],
            "proxy": None,
            "tls": True,
        }
        self.writer.write(framed(head, json.dumps(body).encode()))
        return number

    def say(self, what, **more):
        self.writer.write(framed({"say": what, **more}))

    async def answer(self):
        head, body = await heard(self.reader)
        return head.get("status"), body

    async def dies(self):
        self.writer.close()
        await self.writer.wait_closed()


@asynccontextmanager
async def worker(keeping, server) -> AsyncIterator[Worker]:
    ends = await asyncio.open_unix_connection(keeping.place)
    found = Worker(*ends, server.base)
    yield found
    await found.dies()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("finished", [False, True])
async def test_who_follows_a_dead_worker_gets_the_answer_to_what_it_asked(
    keeping, server, finished
):
    async with worker(keeping, server) as first:
        first.ask()
        await until(lambda: server.requests == 1)
        if finished:
            await first.answer()
    async with worker(keeping, server) as second:
        await until(lambda: len(keeping._lines) == 1)
        second.ask()
        status, body = await second.answer()
        assert status == 200 and json.loads(body)["choices"]
        assert server.requests == 1
        second.ask()  # that answer is given once
        assert await second.answer() != (200, body)
    assert server.requests == 2


async def test_an_answer_is_given_to_nobody_who_asks_otherwise(keeping, server):
    async with worker(keeping, server) as first:
        first.ask()
        await first.answer()
    async with worker(keeping, server) as second:
        for given in ({"key": "b"}, {"prompt": "goodbye"}):
            second.ask(**given)
            await second.answer()
    assert server.requests == 3


async def test_a_worker_that_lives_is_answered_anew_each_time(keeping, server):
    async with worker(keeping, server) as one, worker(keeping, server) as other:
        one.ask(), one.ask(), other.ask()
        for each in (one, one, other):
            assert (await each.answer())[0] == 200
    assert server.requests == 3


async def test_a_second_worker_that_dies_leaves_the_answer_to_a_third(keeping, server):
    for _ in range(3):
        async with worker(keeping, server) as dying:
            dying.ask()
            await until(lambda: server.requests == 1)
    async with worker(keeping, server) as last:
        await until(lambda: len(keeping._lines) == 1)
        last.ask()
        assert (await last.answer())[0] == 200
    assert server.requests == 1


async def test_a_request_that_failed_is_sent_again(keeping, server):
    server.behave = lambda got: Behaviour.status(500) if got.number == 0 else None
    async with worker(keeping, server) as first:
        first.ask()
        await until(lambda: server.requests == 1)
    async with worker(keeping, server) as second:
        await until(lambda: len(keeping._lines) == 1)
        second.ask()
        assert (await second.answer())[0] == 200
    assert server.requests == 2


async def test_what_a_worker_gives_up_is_ended_at_the_provider(keeping, server):
    server.latency = 3600.0
    async with worker(keeping, server) as impatient:
        number = impatient.ask()
        await until(lambda: server.requests == 1)
        impatient.say("cancel", number=number)
        await until(lambda: server.open_connections == 0)
        assert not keeping.holds


async def test_answers_of_ended_steps_and_ended_runs_are_let_go(keeping, server):
    async with worker(keeping, server) as one:
        one.ask(after=1.0)
        await one.answer()
        one.ask(key="b", after=2.0)
        await one.answer()
        assert list(keeping._runs["1"].requests) == ["b"]
        assert keeping.holds
        one.say("forget", run="1")
        await until(lambda: not keeping.holds)


async def test_answers_that_were_in_the_store_are_not_given_once_more(keeping, server):
    async with worker(keeping, server) as first:
        first.ask()
        first.ask()
        await first.answer()
        await first.answer()
    async with worker(keeping, server) as second:
        await until(lambda: len(keeping._lines) == 1)
        second.ask(stored=1)  # of two answers the store had one
        await second.answer()
        assert server.requests == 2
        second.ask()
        await second.answer()
        assert server.requests == 3


def test_a_keeper_trusts_the_servers_that_its_workers_trust():
    trusted = tls()
    name, head, certificates = kept._described(trusted)
    made = keeper._trusting(head, certificates.decode())
    assert kept._described(made) == (name, head, certificates)
    assert made.verify_mode == ssl.CERT_REQUIRED and made.check_hostname


async def test_without_a_keeper_requests_are_sent_all_the_same(monkeypatch, caplog):
    monkeypatch.setattr(kept, "_place", _nowhere)
    keeping, asked = kept.Keeping(), Asked("store", 1, 0.0, "a", 0)
    sent = kept.Sent("POST", "http://127.0.0.1:1/", {}, b"", True, 1.0)
    with keeping.through():
        found = [await keeping.ask(asked, sent) for _ in range(3)]
        assert not keeping.wanted
    assert found == [None] * 3
    assert caplog.text.count("requests are sent without a keeper (no place)") == 1


def _nowhere(store):
    raise OSError("no place")


@pytest.fixture
def short():
    """A folder with a name so short that a socket can be in it; ``tmp_path`` may not be."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
async def test_a_keeper_is_started_once_and_ends_when_nobody_needs_it(
    server, short, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(short))
    lines, url = [kept.Keeping(), kept.Keeping()], f"{server.base}/chat/completions"
    body = b'{"model": "test", "messages": []}'
    for number, keeping in enumerate(lines):
        sent = kept.Sent("POST", url, {}, body, True, 30.0)
        with keeping.through():
            answer = await keeping.ask(Asked("store", 1, 0.0, f"{number}", 0), sent)
        assert answer.status == 200
    (folder,) = short.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    (socket,) = folder.iterdir()
    lines[0].forget("store", 1)
    await asyncio.sleep(0)  # it is said by the event loop
    for keeping in lines:
        for line in keeping._lines.values():
            line._writer.close()
    await until(lambda: not socket.exists())


async def test_a_forked_child_does_not_hold_its_parents_line(keeping, server):
    mine = kept.Keeping()
    place = keeping.place
    with mine.through(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_place", lambda store: place)
        await mine._line("store")
    listen, tell = os.pipe()
    if not (child := os.fork()):
        mine.forked()
        os.read(listen, 1)  # lives until the parent has seen what it wants
        os._exit(0)
    assert len(keeping._lines) == 1
    for line in mine._lines.values():
        line._writer.close()
    await until(lambda: not keeping._lines)
    os.write(tell, b"!")
    os.waitpid(child, 0)
