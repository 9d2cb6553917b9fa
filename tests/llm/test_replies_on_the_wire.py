"""What a server may do to a request: redirect it elsewhere, answer without end."""

import asyncio
import gzip
import json

import litellm
import mesa
import pytest
from aiohttp import web

from mesa_memory import (
    LLMRejected,
    LLMUnavailable,
    LongTermMemory,
    MemoryStalled,
    configure,
)
from mesa_memory.embedders.litellm import LiteLLMEmbedder
from mesa_memory.errors import EmbedderError
from tests.support.behaviours import Received
from tests.support.embeddings import EmbeddingsServer, answered, refused
from tests.support.openai_server import Behaviour, OpenAIServer, always, completion
from tests.support.single import settle
from tests.support.ways import way  # noqa: F401 - each test on both

BLANKS = b" " * 100_000_000
PACKED = gzip.compress(BLANKS, 1)
TOO_LONG, NOT_ASKED_FOR = "more than 10000000 bytes", "a way not asked for"


def remember(server, **settings):
    model = mesa.Model(rng=1)
    configure(model, execution="blocking", **settings)
    (agent,) = settle(model, LongTermMemory, name="openai/test", api_base=server.base)
    agent.memory.add_to_memory("message", {"message": "the dam broke", "sender": 4})
    agent.memory.process_step()
    return agent.memory


@pytest.mark.parametrize("code", [301, 302, 307, 308])
@pytest.mark.parametrize(
    ("path", "told"),
    [("", "/chat"), ("https://ann:secret@example.org/v1", "//example.org/v1/chat")],
)
def test_a_redirect_is_refused_with_its_target_without_secrets(
    server, code, path, told
):
    where = (("Location", f"{path}/chat/completions?key=secret"),)
    server.behave = always(Behaviour("reply", code=code, headers=where))
    with pytest.raises(LLMRejected, match=f"redirects to .*{told}") as refused:
        remember(server)
    assert server.requests == 1 and "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("body", "packing", "says"),
    [(BLANKS, "", TOO_LONG), (PACKED, "gzip", NOT_ASKED_FOR)],
    ids=["plain", "packed"],
)
def test_a_reply_of_a_hundred_megabytes_ends_typed(server, body, packing, says):
    headers = (("Content-Encoding", packing),) if packing else ()
    server.behave = always(Behaviour("reply", body=body, headers=headers))
    with pytest.raises(MemoryStalled, match=says):
        remember(server, attempts=1, on_failure="raise")


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

    says = NOT_ASKED_FOR if packing == "gzip" else TOO_LONG
    stalled = pytest.raises(EmbedderError, match=says)
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


def _answer(server, **changed):
    """The response to an agent's own request, and what its ledger counted."""
    body = json.loads(completion(_received(server), "the bridge"))
    server.behave = always(Behaviour.raw(json.dumps(body | changed).encode()))
    model = mesa.Model(rng=1)
    services = configure(model, attempts=1)
    (agent,) = settle(model, LongTermMemory, name="openai/mine", api_base=server.base)
    return agent.llm.generate("Which way?"), services.ledger.total


def _received(server):
    return Received(0, {"model": "mine", "messages": []}, {})


NOT_COUNTED = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize("usage", [None, {}, NOT_COUNTED], ids=str)
def test_tokens_that_a_server_does_not_count_are_zeros_for_the_caller(server, usage):
    response, total = _answer(server, usage=usage)
    assert response.choices[0].message.content == "the bridge"
    counted = response.usage
    assert (counted.prompt_tokens, counted.completion_tokens) == (0, 0)
    assert (total.calls, total.cost) == (1, None)


@pytest.mark.parametrize("named", ["gpt-4o", "gpt-4o-mini", "openai/gpt-4o"])
def test_an_own_model_costs_nothing_by_the_name_that_its_server_says(server, named):
    counted = {"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990}
    _, total = _answer(server, model=named, usage=counted)
    assert (total.prompt_tokens, total.cost) == (900, None)


@pytest.mark.parametrize("choices", [None, [], [{}], [{"message": None}]], ids=str)
def test_a_reply_without_a_message_ends_typed(server, choices):
    with pytest.raises(LLMUnavailable, match="gave no answer in 1 attempt"):
        _answer(server, choices=choices)
