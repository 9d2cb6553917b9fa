"""Both ways to a provider that fails: attempts, waits and deadlines."""

import json
import time
from email.utils import formatdate
from types import SimpleNamespace

import pytest

from mesa_memory import LLMRejected, LLMUnavailable
from mesa_memory.hosts.provider_faults import StateError
from mesa_memory.llm import errors as provider_errors
from mesa_memory.llm.client import ProviderClient, RequestAttempts
from tests.support import ways
from tests.support.client import ask, ask_all, client, question
from tests.support.openai_server import Behaviour, OpenAIServer, always, sequence
from tests.support.single import table

way = ways.way  # each test on both

NO_CHOICES = b'{"id": "1", "object": "chat.completion", "created": 0, "choices": []}'
ANSWERED = {
    "429": Behaviour.status(429, "slow down"),
    "408": Behaviour.status(408, "timed out"),
    "409": Behaviour.status(409, "conflict"),
    "500": Behaviour.status(500, "oops"),
    "503": Behaviour.status(503, "overloaded"),
    "drop before the reply": Behaviour.drop_before(),
    "drop inside the reply": Behaviour.drop_inside(),
    "broken JSON": Behaviour.raw(b"{not json"),
    "no JSON": Behaviour.raw(b"<html>busy</html>", "text/html"),
    "no body": Behaviour.raw(b""),
    "no choices": Behaviour.raw(NO_CHOICES),
}
#: what is given up after the time-out
HANGING = {"silent": Behaviour.silent(), "trickling": Behaviour.trickle(0.1)}
PASSING = ANSWERED | HANGING
LONG = "This model's maximum context length is 10 tokens"
REJECTED = {
    "context": (
        Behaviour.status(400, LONG, code_name="context_length_exceeded"),
        "prompt is too long",
    ),
    "bad request": (Behaviour.status(400, "no such option"), "options given"),
    "401": (Behaviour.status(401, "Incorrect API key provided"), "Check the API key"),
    "404": (Behaviour.status(404, "no model"), "Check the model's name"),
}


def test_a_passing_fault_is_tried_again(server):
    for behaviour in PASSING.values():
        hangs = behaviour in HANGING.values()
        # On a busy machine a good answer, too, may take longer than so short a time-out.
        llm = client(timeout=0.5, attempts=100) if hangs else client()
        server.behave = sequence(behaviour)
        server.clear()
        reply = ask(llm, question(server))
        assert reply.text == '{"summary": "Summary of: Write a summary."}'
        assert reply.attempts >= 2 if hangs else reply.attempts == server.requests == 2


def test_a_lasting_outage_ends_after_the_attempts():
    for behaviour in PASSING.values():
        hangs = behaviour in HANGING.values()
        with OpenAIServer(behave=always(behaviour)) as server:
            with pytest.raises(
                LLMUnavailable, match=r"no answer in 3 attempt\(s\)"
            ) as info:
                ask(client(**{"timeout": 0.2} if hangs else {}), question(server))
            # An attempt may be given up before the server has seen it.
            assert server.requests <= 3 if hangs else server.requests == 3
        error = info.value
        assert (error.agent, error.step, error.purpose) == (7, 3, "consolidate")
        assert error.passing
        assert "openai/test" in str(error)
        assert server.base in str(error)
        assert "Traceback" not in str(error)


def test_a_refused_request_is_not_sent_again():
    for behaviour, advice in REJECTED.values():
        with OpenAIServer(behave=always(behaviour)) as server:
            with pytest.raises(LLMRejected, match=advice) as info:
                ask(client(), question(server))
            assert server.requests == 1
        assert not info.value.passing
        assert "refuses the request" in str(info.value)
        assert (info.value.agent, info.value.step) == (7, 3)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("nowhere/model", "Check the API key, the model's name"),
        ("no-provider", "Check the API key, the model's name"),
        (None, "names no model"),
    ],
)
def test_an_unknown_model_is_refused_at_once(model, text, elsewhere):
    with pytest.raises(LLMRejected, match=text):
        ask(client(), question(None, model))
    assert elsewhere == []


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "openai"])
def test_a_missing_key_is_refused_at_once(provider, monkeypatch, elsewhere):
    monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    with pytest.raises(LLMRejected, match="Check the API key"):
        ask(client(), question(None, f"{provider}/some-model"))
    assert elsewhere == []


# -- waits between attempts ----------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """The waits between attempts; none of them takes any time."""
    waited = []

    async def wait(attempts, seconds):
        waited.append(seconds)
        attempts.time_left -= seconds

    monkeypatch.setattr(RequestAttempts, "wait", wait)
    # As no time passes, the pause would not be over after its wait.
    monkeypatch.setattr(ProviderClient, "_pause_left", lambda *_: 0.0)
    return waited


def waits_of(seed, server, waits, **settings):
    waits.clear()
    given = {"attempts": 5, "backoff": 1.0, "deadline": 60.0} | settings
    with pytest.raises(LLMUnavailable):
        ask(client(seed, **given), question(server))
    return list(waits)


def test_waits_double_with_a_jitter_that_the_seed_decides(server, waits):
    server.behave = always(Behaviour.status(500))
    first = waits_of(1, server, waits)
    assert first == waits_of(1, server, waits)
    assert first != waits_of(2, server, waits)
    for number, seconds in enumerate(first):
        assert 0.5 * 2**number <= seconds <= 1.5 * 2**number
    assert len(first) == 4


def test_a_providers_wait_is_kept_to(server, waits):
    server.behave = always(Behaviour.status(429, retry_after=7))
    assert waits_of(1, server, waits, backoff=0.01) == [7, 7, 7, 7]


def test_no_attempt_begins_that_the_deadline_would_not_let_wait(server, waits):
    server.behave = always(Behaviour.status(500))
    given = {"attempts": 9, "backoff": 400}
    kept_to = waits_of(1, server, waits, deadline=1000, **given)
    assert server.requests == len(kept_to) + 1
    without = waits_of(1, server, waits, deadline=1e9, **given)
    assert len(without) == 8
    assert kept_to == without[: len(kept_to)]
    assert sum(kept_to) < 1000 < sum(without[: len(kept_to) + 1]) + 100


def test_a_retry_after_beyond_the_deadline_ends_the_request_at_once(server):
    server.behave = always(Behaviour.status(429, retry_after=3600))
    with pytest.raises(LLMUnavailable, match="asks to wait 3600 s"):
        ask(client(), question(server))
    assert server.requests == 1


def test_retry_after_is_read_in_every_form():
    cases = [
        ({"retry-after": "5"}, 5),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": formatdate(time.time() + 50_000, usegmt=True)}, 50_000),
        ({"retry-after": formatdate(time.time() - 100, usegmt=True)}, 0),
        ({"retry-after": "soon"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "inf"}, 0),
        ({"retry-after": "1e12"}, 0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 0),
        ({"retry-after": "Mon, 01 Jan 99999 00:00:00 GMT"}, 0),
        ({}, 0),
    ]
    for headers, seconds in cases:
        expected = pytest.approx(seconds, abs=seconds / 10)
        error = SimpleNamespace(response=SimpleNamespace(headers=headers))
        assert provider_errors.retry_after(error) == expected
        error = SimpleNamespace(response=None, litellm_response_headers=headers)
        assert provider_errors.retry_after(error) == expected


def test_a_wait_in_words_is_read_in_every_form():
    for said, seconds in table("refusing_words")["waits"]:
        error = StateError(429, json.dumps({"error": {"message": said}}))
        assert provider_errors.retry_after(error) == pytest.approx(seconds)


# -- one's own turn ------------------------------------------------------------------


def test_waiting_for_ones_turn_does_not_count_against_the_deadline():
    with OpenAIServer(latency=0.2) as server:  # 2.4 s in all
        llm = client(concurrency=1, deadline=2)
        replies = ask_all(llm, [question(server)] * 12)
    assert [reply.attempts for reply in replies] == [1] * 12


def test_requests_that_wait_behind_a_hanging_server_end_in_time():
    with OpenAIServer(behave=always(Behaviour.silent())) as server:
        llm = client(concurrency=1, deadline=0.5)
        errors = ask_all(llm, [question(server)] * 20)
        # Who waits its turn gives up with the first, and does not hang in its place.
        assert server.requests < 5
    assert {type(error) for error in errors} == {LLMUnavailable}
