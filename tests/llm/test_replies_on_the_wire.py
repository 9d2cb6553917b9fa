"""What a server may do to a request: redirect it elsewhere, answer without end."""

import asyncio
import gzip

import litellm
import mesa
import pytest
from aiohttp import web
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import LLMRejected, LongTermMemory, MemoryStalled, configure
from mesa_memory.embedders.litellm import LiteLLMEmbedder
from mesa_memory.errors import EmbedderError
from tests.support.embeddings import EmbeddingsServer, answered, refused
from tests.support.openai_server import Behaviour, OpenAIServer, always, completion
from tests.support.ways import way  # noqa: F401 - each test on both

BLANKS = b" " * 100_000_000
PACKED = gzip.compress(BLANKS, 1)


def remember(server, **settings):
    model = mesa.Model(rng=1)
    configure(model, execution="blocking", **settings)
    agent = LLMAgent(model, CoTReasoning, "openai/test", api_base=server.base)
    agent.memory = LongTermMemory(agent)
    agent.memory.add_to_memory("message", {"message": "the dam broke", "sender": 4})
    agent.memory.process_step()
    return agent.memory


@pytest.mark.parametrize("code", [301, 302, 307, 308])
@pytest.mark.parametrize("path", ["", "https://example.org/v1"])
def test_a_redirect_is_refused_with_its_target(code, path):
    with OpenAIServer() as server:
        where = (("Location", f"{path}/chat/completions?key=secret"),)
        server.behave = always(Behaviour("reply", code=code, headers=where))
        with pytest.raises(LLMRejected, match=f"redirects to .*{path}/chat") as told:
            remember(server)
        assert server.requests == 1 and "secret" not in str(told.value)


def test_a_redirect_is_refused_before_its_body_has_come():
    where = (("Location", "https://example.org/v1/chat/completions"),)
    slow = Behaviour("trickle", seconds=60, code=307, headers=where)
    turned_away = pytest.raises(LLMRejected, match="redirects to")
    with OpenAIServer(behave=always(slow)) as server, turned_away:
        remember(server, timeout=5, attempts=1)


def test_a_password_in_the_target_of_a_redirect_is_not_told():
    with OpenAIServer() as server:
        where = (("Location", "https://ann:secret@example.org/v1/chat/completions"),)
        server.behave = always(Behaviour("reply", code=307, headers=where))
        with pytest.raises(LLMRejected, match="//example") as told:
            remember(server)
        assert "secret" not in str(told.value)


def test_a_reply_of_a_hundred_megabytes_ends_typed():
    endless = always(Behaviour.raw(BLANKS))
    stalled = pytest.raises(MemoryStalled, match="more than 10000000 bytes")
    with OpenAIServer(behave=endless) as server, stalled:
        remember(server, attempts=1, on_failure="raise")


def test_a_normal_reply_is_read_as_before():
    with OpenAIServer() as server:
        assert "Summary of" in remember(server).long_term_memory


@pytest.mark.parametrize("times", [1, 2])
def test_a_few_packed_bytes_do_not_become_a_hundred_megabytes(times):
    packed = PACKED if times == 1 else gzip.compress(PACKED)
    headers = (("Content-Encoding", ", ".join(["gzip"] * times)),)
    bomb = always(Behaviour("reply", body=packed, headers=headers))
    says = "more than 10000000 bytes" if times == 1 else "a way not asked for"
    with OpenAIServer(behave=bomb) as server, pytest.raises(MemoryStalled, match=says):
        remember(server, attempts=1, on_failure="raise")


def test_a_packed_reply_is_read():
    def packed(received):
        whole = gzip.compress(completion(received, '{"summary": "The dam broke."}'))
        return Behaviour("reply", body=whole, headers=(("Content-Encoding", "gzip"),))

    with OpenAIServer(behave=packed) as server:
        assert "The dam broke." in remember(server).long_term_memory


def test_what_is_no_answer_ends_typed_and_becomes_no_memory():
    cases = [
        ("text/html; charset=utf-8", b"<html><body>Please log in</body></html>"),
        ("text/plain", b"the dam broke, says the summary"),
        ("text/event-stream", b"data: the dam broke\n\n" * 1_000_000),
        ("application/octet-stream", bytes(range(256))),
        ("application/json", b'["the dam broke"]'),
        ("application/json", b"null"),
        ("application/json", b'{"choices": [{"message": "the dam broke"}]}'),
    ]
    for kind, body in cases:
        with OpenAIServer(behave=always(Behaviour.raw(body, kind))) as server:
            memory = remember(server, attempts=1)
            assert not memory.long_term_memory
            server.behave = None
            memory.process_step()
            assert "the dam broke" in server.log[-1].prompt


@pytest.mark.parametrize("behaviour", [Behaviour.silent(), Behaviour.trickle(0.05)])
def test_a_reply_that_does_not_end_is_given_up_at_the_deadline(behaviour):
    given_up = pytest.raises(MemoryStalled, match=r"1 attempt\(s\) within 0\.5 s")
    with OpenAIServer(behave=always(behaviour)) as server, given_up:
        remember(server, timeout=3600, deadline=0.5, on_failure="raise")


def remote(server, **settings):
    """An embedder that asks ``server``, and gives up soon."""
    quick = {"timeout": 60, "attempts": 1, "backoff": 0.01}
    return LiteLLMEmbedder("openai/test", api_base=server.base, **(quick | settings))


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_of_texts_is_refused(code):
    where = {"Location": "/v1/embeddings"}
    with EmbeddingsServer(lambda *_: refused(code, where)) as server:
        with pytest.raises(EmbedderError, match=r"redirects to .*/v1/emb") as told:
            remote(server).embed(["the dam broke"])
        assert not told.value.passing
        assert len(server.bodies) == 1


@pytest.mark.parametrize("packing", ["identity", "gzip"])
def test_vectors_of_a_hundred_megabytes_end_typed(packing):
    body = PACKED if packing == "gzip" else BLANKS
    headers = {"Content-Encoding": packing, "Content-Type": "application/json"}

    def endless(*_):
        return web.Response(body=body, headers=headers)

    stalled = pytest.raises(EmbedderError, match="more than 10000000 bytes")
    with EmbeddingsServer(endless) as server, stalled:
        remote(server).embed(["the dam broke"])


def test_vectors_that_trickle_are_given_up_in_time():
    async def drops():
        while True:
            yield b" "
            await asyncio.sleep(0.05)

    with EmbeddingsServer(lambda *_: web.Response(body=drops())) as server:
        with pytest.raises(EmbedderError) as told:
            remote(server, timeout=0.5).embed(["the dam broke"])
        assert told.value.passing


def test_vectors_of_many_texts_may_be_longer_than_a_reply():
    def long(number, body, rows):
        body = answered(rows).body + BLANKS[:11_000_000]
        return web.Response(body=body, content_type="application/json")

    with EmbeddingsServer(long) as server:
        assert remote(server).embed([f"text {n}" for n in range(70)]).shape == (70, 8)


def test_a_program_may_use_litellm_for_long_replies_of_its_own():
    def long(received):
        return Behaviour.raw(completion(received, "x" * 11_000_000))

    with OpenAIServer(behave=long) as server:
        remember(server, attempts=1)
        asked = [{"role": "user", "content": "Write a book."}]
        reply = litellm.completion(
            "openai/test", asked, api_base=server.base, api_key="k", timeout=110
        )
    assert len(reply.choices[0].message.content) == 11_000_000
