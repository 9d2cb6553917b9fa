"""Tests of the local OpenAI server that other tests and benchmarks rely on."""

import json
import signal
import socket
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    ServerProcess,
    always,
    sequence,
)
from tests.support.waiting import HUNG, until


def client_of(server, **options):
    """Returns a client that no proxy setting can lead astray."""
    return httpx.Client(
        base_url=server.base, trust_env=False, **({"timeout": HUNG} | options)
    )


def ask(client, prompt="hello", system="Be brief."):
    """Posts one chat request."""
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": prompt},
    ]
    body = {"model": "some-model", "messages": messages}
    return client.post("/chat/completions", json=body)


def content_of(response):
    """Returns the text of a chat reply."""
    return response.json()["choices"][0]["message"]["content"]


def test_normal_reply_and_log():
    with OpenAIServer() as server, client_of(server) as client:
        client.headers["Authorization"] = "Bearer key"
        reply = ask(client, "x" * 40).json()
        assert reply["id"] == "chatcmpl-0"
        assert reply["object"] == "chat.completion"
        assert reply["model"] == "some-model"
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert reply["choices"][0]["message"]["content"] == "ok"
        usage = {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12}
        assert reply["usage"] == usage
        (received,) = server.log
        assert (received.number, received.model) == (0, "some-model")
        assert (received.system, received.prompt) == ("Be brief.", "x" * 40)
        assert received.messages == received.body["messages"]
        assert received.headers["authorization"] == "Bearer key"
        assert received.time <= time.monotonic()
        server.clear()
        assert server.log == []
        assert server.stats()["requests"] == server.total_connections == 0
        assert server.open_connections == server.max_connections == 1


def test_message_parts_and_other_paths():
    with OpenAIServer() as server, client_of(server) as client:
        parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
        messages = [{"role": "user", "content": parts}, {"role": "assistant"}]
        root = server.base.removesuffix("/v1")
        body = {"model": "m", "messages": messages}
        assert client.post(f"{root}/chat/completions", json=body).status_code == 200
        assert server.log[0].prompt == "one two"
        body["stream"] = True
        assert client.post("/chat/completions", json=body).status_code == 400
        assert client.post("/chat/completions", content=b"{").status_code == 400
        assert client.get("/models").status_code == 404
        assert client.get("/chat/completions").status_code == 404


def test_default_answers():
    with OpenAIServer() as server, client_of(server) as client:
        prompt = "Give grades.\n1. first\n12. second\nnot counted"
        grades = [1 + zlib.crc32(line) % 5 for line in (b"first", b"second")]
        assert json.loads(content_of(ask(client, prompt))) == {"grades": grades}
        reply = json.loads(content_of(ask(client, system="Rate the sentiment.")))
        assert reply["sentiment"] == 0.2
        reply = json.loads(content_of(ask(client, "a\nb" * 99, "Write a summary.")))
        assert reply["summary"] == "Summary of: " + ("a b" * 99)[-160:]


def test_own_answer_latency_and_large_prompt():
    def answer(received):
        return f"{len(received.prompt)}"

    server = OpenAIServer(answer=answer, latency=0.1)
    with server, client_of(server) as client:
        start = time.monotonic()
        assert content_of(ask(client, "y" * 3_000_000)) == "3000000"
        assert time.monotonic() - start >= 0.1


def test_status():
    behave = sequence(
        Behaviour.status(429, "slow down", retry_after=3, code_name="rate_limit"),
        None,
        Behaviour.status(503),
    )
    with OpenAIServer(behave=behave) as server, client_of(server) as client:
        response = ask(client)
        assert response.status_code == 429
        assert response.headers["Retry-After"] == "3"
        error = {"message": "slow down", "type": "requests", "code": "rate_limit"}
        assert response.json() == {"error": error}
        assert content_of(ask(client)) == "ok"
        response = ask(client)
        assert response.status_code == 503
        assert "Retry-After" not in response.headers
        assert content_of(ask(client)) == "ok"
        assert server.total_connections == 1


def test_text_raw_and_slow():
    behave = sequence(
        Behaviour.text(None),
        Behaviour.text("cut", finish_reason="length"),
        Behaviour.raw(b"{not json"),
        Behaviour.raw(b"<html>", content_type="text/html"),
        Behaviour.slow(0.1),
    )
    with OpenAIServer(behave=behave) as server, client_of(server) as client:
        assert content_of(ask(client)) is None
        choice = ask(client).json()["choices"][0]
        assert choice["message"]["content"] == "cut"
        assert choice["finish_reason"] == "length"
        response = ask(client)
        assert (response.status_code, response.content) == (200, b"{not json")
        assert response.headers["Content-Type"] == "application/json"
        assert ask(client).headers["Content-Type"] == "text/html"
        start = time.monotonic()
        assert content_of(ask(client)) == "ok"
        assert time.monotonic() - start >= 0.1


def test_drops():
    behave = sequence(Behaviour.drop_before(), Behaviour.drop_inside())
    with OpenAIServer(behave=behave) as server, client_of(server) as client:
        with pytest.raises(httpx.RemoteProtocolError, match="without sending"):
            ask(client)
        with pytest.raises(httpx.RemoteProtocolError, match="received 17 bytes"):
            ask(client)
        assert content_of(ask(client)) == "ok"
        until(lambda: server.open_connections == 1)
        assert server.total_connections == 3
        assert len(server.log) == 3


def test_silent_ends_with_the_server():
    with OpenAIServer(behave=always(Behaviour.silent())) as server:
        impatient = client_of(server, timeout=0.2)
        with impatient, pytest.raises(httpx.ReadTimeout):
            ask(impatient)
        until(lambda: server.total_connections and not server.open_connections)
        waiting = threading.Thread(target=ask_in_vain, args=[server])
        waiting.start()
        until(lambda: "in vain" in [received.prompt for received in server.log])
        assert server.in_flight_max == 1
    # The request would have gone on for an hour, and who waits for it for ten minutes.
    assert server.open_connections == 0
    waiting.join(timeout=HUNG)
    assert not waiting.is_alive()


def ask_in_vain(server):
    """Waits for a reply until the server goes away."""
    with client_of(server, timeout=600) as client, pytest.raises(httpx.TransportError):
        ask(client, "in vain")


def test_idle_connections_count():
    with OpenAIServer() as server:
        address = ("127.0.0.1", int(server.base.split(":")[2].removesuffix("/v1")))
        with client_of(server) as client:
            for _ in range(5):
                ask(client)
            assert server.open_connections == server.total_connections == 1
            with socket.create_connection(address):
                until(lambda: server.open_connections == 2)
            until(lambda: server.open_connections == 1)
        until(lambda: server.open_connections == 0)
        assert server.max_connections == server.total_connections == 2
        assert server.in_flight_max == 1


def test_parallel_requests_count():
    with OpenAIServer(together=8) as server, client_of(server) as client:
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _: ask(client), range(8)))
        assert {content_of(reply) for reply in replies} == {"ok"}
        assert server.in_flight_max == server.max_connections == 8
        assert sorted(received.number for received in server.log) == list(range(8))


def test_process_counts_and_leaves_out_who_asks():
    with ServerProcess(latency=0.01) as server, client_of(server) as client:
        assert server.stats()["total_connections"] == 0
        assert content_of(ask(client, "x" * 11)) == content_of(ask(client)) == "ok"
        expected = {"requests": 2, "in_flight_max": 1}
        expected |= {"prompt_chars": 34, "prompt_tokens": 8}
        connections = ("open_connections", "max_connections", "total_connections")
        expected |= dict.fromkeys(connections, 1)
        assert server.stats() == expected
        server.reset()
        cleared = dict.fromkeys(expected, 0)
        cleared |= {"open_connections": 1, "max_connections": 1}
        assert server.stats() == cleared
        assert client.get(server.base.replace("/v1", "/_log")).json() == []


def test_asking_for_counts_hides_no_chat_connection():
    with OpenAIServer() as server, client_of(server) as client:
        stats = server.base.replace("/v1", "/_stats")
        assert client.get(stats).json()["open_connections"] == 0
        assert server.total_connections == server.max_connections == 0
        ask(client)
        counts = client.get(stats).json()
        assert counts["open_connections"] == counts["total_connections"] == 1
        assert counts["max_connections"] == 1


def test_process_ends_on_a_signal():
    with ServerProcess() as server:
        server._process.send_signal(signal.SIGTERM)
        assert server._process.wait(timeout=HUNG) == 0
