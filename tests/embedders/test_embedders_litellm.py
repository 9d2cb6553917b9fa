"""Remote embeddings: batches, order, retries and answers that are wrong."""

import time

import numpy as np
import pytest

from mesa_memory.embedders.litellm import LiteLLMEmbedder
from mesa_memory.errors import EmbedderError
from tests.support.embeddings import EmbeddingsServer, answered, refused, vector_of

MODEL = "openai/test-embedding"
TEXTS = [f"text {n}" for n in range(7)]


def remote(server, **settings):
    quick = {"timeout": 60, "attempts": 3, "backoff": 0.01}
    return LiteLLMEmbedder(MODEL, api_base=server.base, **(quick | settings))


def expected(texts):
    rows = np.stack([vector_of(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def once(response):
    """The first request is answered so, all others normally."""
    return lambda number, body, rows: response() if number == 1 else None


def test_texts_go_in_batches_and_vectors_come_back_in_order():
    with EmbeddingsServer() as server:
        mine = remote(server, batch=3)
        vectors = mine.embed(TEXTS)
        assert server.batches == [3, 3, 1]
        assert mine.dim == 8
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
        assert len(server.bodies) == 3  # the length was learned from the answers


def test_an_answer_in_another_order_is_sorted_by_its_numbers():
    def shuffled(number, body, rows):
        return answered(rows[::-1])

    with EmbeddingsServer(shuffled) as server:
        np.testing.assert_allclose(
            remote(server).embed(TEXTS), expected(TEXTS), atol=1e-6
        )


def test_blank_texts_are_not_sent():
    with EmbeddingsServer() as server:
        vectors = remote(server).embed(["", "a", " "])
        assert not vectors[[0, 2]].any()
        assert vectors[1].any()
        assert server.batches == [1]


def test_the_length_is_asked_for_when_no_answer_has_told_it():
    with EmbeddingsServer() as server:
        mine = remote(server)
        assert mine.dim == 8
        assert mine.embed([""]).shape == (1, 8)
        assert mine.embed([]).shape == (0, 8)
        assert server.batches == [1]
        assert remote(server, dim=8).embed([]).shape == (0, 8)
        assert len(server.bodies) == 1, "a given length costs no request"


def test_a_passing_fault_is_tried_again():
    for status in [408, 409, 429, 500, 502, 503]:
        with EmbeddingsServer(once(lambda: refused(status))) as server:
            assert remote(server).embed(TEXTS).shape == (7, 8)
            assert len(server.bodies) == 2


def test_a_fault_that_stays_is_a_passing_error_after_the_last_attempt():
    with EmbeddingsServer(lambda *_: refused(503)) as server:
        with pytest.raises(EmbedderError, match=r"3 attempt\(s\)") as raised:
            remote(server).embed(TEXTS)
        assert raised.value.passing
        assert len(server.bodies) == 3


def test_a_refusal_is_not_tried_again():
    for status in [400, 401, 403, 404, 413, 422]:
        with EmbeddingsServer(lambda *_: refused(status)) as server:
            with pytest.raises(EmbedderError, match="refuses to embed") as raised:
                remote(server).embed(TEXTS)
            assert not raised.value.passing
            assert len(server.bodies) == 1


def test_a_server_that_is_not_there_is_a_passing_error():
    with EmbeddingsServer() as server:
        mine = remote(server, attempts=2)
    with pytest.raises(EmbedderError, match=r"2 attempt\(s\)") as raised:
        mine.embed(TEXTS)
    assert raised.value.passing


def test_a_provider_that_asks_for_a_short_wait_gets_it_and_a_long_one_not():
    wait = {"Retry-After": "1"}
    with EmbeddingsServer(once(lambda: refused(429, wait))) as server:
        began = time.monotonic()
        assert remote(server).embed(TEXTS).shape == (7, 8)
        assert time.monotonic() - began >= 1
        assert len(server.bodies) == 2
    with EmbeddingsServer(lambda *_: refused(429, {"Retry-After": "3600"})) as server:
        with pytest.raises(EmbedderError) as raised:
            remote(server).embed(TEXTS)
        assert raised.value.passing
        assert len(server.bodies) == 1


def one_less(number, body, rows):
    return answered(rows[:-1])


def poisoned(number, body, rows):
    rows[2]["embedding"] = [float("nan")] * 8
    return answered(rows)


@pytest.mark.parametrize(
    ("misbehave", "given", "told"),
    [
        (one_less, {}, r"6 vectors .* for 7 texts"),
        (None, {"dim": 16}, r"\(7, 8\) where \(7, 16\)"),
        (poisoned, {}, "NaN"),
    ],
)
def test_vectors_that_do_not_fit_are_an_error(misbehave, given, told):
    with (
        EmbeddingsServer(misbehave) as server,
        pytest.raises(EmbedderError, match=told),
    ):
        remote(server, **given).embed(TEXTS)


def test_the_name_tells_servers_apart_and_holds_no_password():
    mine = LiteLLMEmbedder(MODEL, api_base="http://me:secret@host:1/v1/?key=secret")
    assert mine.name == "litellm:openai/test-embedding@host:1/v1"
    assert LiteLLMEmbedder(MODEL).name == "litellm:openai/test-embedding"


@pytest.mark.parametrize("name", ["batch", "timeout", "attempts", "dim"])
def test_limits_of_zero_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be above 0, got 0"):
        LiteLLMEmbedder(MODEL, **{name: 0})
