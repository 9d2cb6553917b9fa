"""Both ways to a provider: what is sent, and what is taken from a reply."""

import json
import os
import time

import litellm
import pytest

from mesa_memory import LLMRejected, LLMUnavailable
from mesa_memory.embedders.litellm import LiteLLMEmbedder
from mesa_memory.hosts.litellm import bypass_proxy_for_localhost
from mesa_memory.tasks.impress import Impression
from tests.support import ways
from tests.support.client import ask, ask_all, client, question
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    Received,
    always,
    completion,
    sequence,
)

way = ways.way  # each test on both

PRICED = "openai/gpt-4o-mini"


# -- what is sent --------------------------------------------------------------------


def test_only_the_question_is_sent_by_default(server):
    ask(client(), question(server, schema=None))
    (received,) = server.log
    assert received.body == {
        "model": "test",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Write a summary."},
        ],
    }


def test_an_option_wins_over_a_setting(server):
    llm = client(temperature=0.9, options={"temperature": 0.1, "timeout": 50})
    ask(llm, question(server))
    assert server.log[0].body["temperature"] == 0.1


@pytest.mark.parametrize("model", ["openai/test", PRICED])
def test_a_schema_is_sent_strict_and_with_its_ranges_written_out(server, model):
    ask(client(), question(server, model, schema=Impression))
    form = server.log[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    schema = form["json_schema"]["schema"]
    assert schema["required"] == ["text", "sentiment", "familiarity"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["sentiment"]["enum"] == [n / 10 for n in range(-10, 11)]


def test_text_that_utf8_cannot_carry_is_sent_readably(server):
    ask(client(), question(server, prompt="half a \ud83d face: \U0001f600"))
    assert server.log[0].prompt == "half a \ufffd face: \U0001f600"


# -- what comes back -------------------------------------------------------------------


def test_a_reply_says_what_it_took():
    with OpenAIServer(latency=0.1) as server:
        began = time.monotonic()
        reply = ask(client(), question(server, prompt=f"summary {'x' * 392}"))
        took = time.monotonic() - began
    assert json.loads(reply.text).keys() == {"summary"}
    assert reply.model == "openai/test"
    assert reply.prompt_tokens == (400 + len("Be brief.")) // 4
    assert reply.completion_tokens == len(reply.text) // 4
    assert (reply.attempts, reply.finish) == (1, "stop")
    assert 0.1 <= reply.latency <= took


def test_an_unknown_price_is_none_and_a_known_one_is_worked_out(server):
    assert ask(client(), question(server)).cost is None
    reply = ask(client(), question(server, PRICED))
    listed = litellm.model_cost["gpt-4o-mini"]
    cost = (
        reply.prompt_tokens * listed["input_cost_per_token"]
        + reply.completion_tokens * listed["output_cost_per_token"]
    )
    assert reply.cost == pytest.approx(cost)
    assert reply.cost > 0


# -- fallbacks -----------------------------------------------------------------------


def by_model(**behaviours):
    return lambda received: behaviours.get(received.model)


@pytest.mark.parametrize("code", [401, 404, 500, 429])
def test_the_next_model_answers_for_one_that_cannot(code):
    behave = by_model(first=Behaviour.status(code), second=Behaviour.status(503))
    with OpenAIServer(behave=behave) as server:
        llm = client(attempts=2, fallbacks=("openai/second", "openai/third"))
        reply = ask(llm, question(server, "openai/first"))
        asked = [received.model for received in server.log]
    assert reply.model == "openai/third"
    tries = 1 if code in (401, 404) else 2
    assert asked == ["first"] * tries + ["second"] * 2 + ["third"]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (401, 500, LLMUnavailable),
        (500, 401, LLMUnavailable),
        (401, 404, LLMRejected),
        (500, 503, LLMUnavailable),
    ],
)
def test_a_failure_of_all_models_passes_if_one_may_answer_later(first, second, error):
    behave = by_model(first=Behaviour.status(first), second=Behaviour.status(second))
    with OpenAIServer(behave=behave) as server, pytest.raises(error):
        ask(client(fallbacks=("openai/second",)), question(server, "openai/first"))


def test_another_providers_fallback_is_not_sent_to_this_ones_address(
    monkeypatch, elsewhere
):
    monkeypatch.setenv("MISTRAL_API_KEY", "test")
    other = ("mistral/small",)
    with OpenAIServer(behave=always(Behaviour.status(401))) as server:
        with pytest.raises(LLMUnavailable):
            patient = client(attempts=1, fallbacks=other)
            ask(patient, question(server))
        assert [received.model for received in server.log] == ["test"]
    assert all("mistral" in host for host in elsewhere)
    assert elsewhere


# -- the surroundings ------------------------------------------------------------------


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch, server):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    bypass_proxy_for_localhost()
    assert ask(client(attempts=1), question(server)).attempts == 1


def test_hosts_that_need_no_proxy_stay_so(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "unused.example")
    monkeypatch.setenv("no_proxy", "lab.example, ::1")
    bypass_proxy_for_localhost()
    assert os.environ["no_proxy"] == "lab.example,::1,localhost,127.0.0.1"


def test_nothing_is_printed_and_nobody_else_is_asked(capfd, server, elsewhere):
    server.behave = sequence(*[Behaviour.status(code) for code in (500, 429, 401)])
    for model in ("openai/test", "nowhere/model", "openai/test"):
        ask_all(client(attempts=2), [question(server, model)])
    printed = "".join(capfd.readouterr())
    assert "Give Feedback" not in printed
    assert "Provider List" not in printed
    assert printed == ""
    assert elsewhere == []


# -- which way -------------------------------------------------------------------------


def test_a_reply_says_which_way_it_came_and_in_which_form(server, way):
    reply = ask(client(), question(server))
    assert (reply.route.client, reply.route.form) == (way, "json_schema")
    assert ask(client(), question(server, schema=None)).route.form == "plain"


WRONG_COUNTS = [2**63, 10**400, -5, 1.5, True, "12", [3], None]


def test_a_reply_with_a_wrong_usage_is_used_and_its_tokens_are_unknown(server, way):
    for count in WRONG_COUNTS:
        body = json.loads(completion(received_like(), '{"summary": "Ann is well."}'))
        details = {"cached_tokens": count}
        body["usage"] = dict.fromkeys(body["usage"], count)
        body["usage"] |= {"prompt_tokens_details": details}
        server.behave = always(Behaviour.raw(json.dumps(body).encode()))
        reply = ask(client(attempts=1), question(server))
        assert "Ann is well" in reply.text
        assert (reply.prompt_tokens, reply.completion_tokens) == (None, None)
        assert reply.cached_tokens is None


def test_an_empty_reply_has_the_tokens_that_were_counted(server, way):
    for said in (None, ""):
        body = json.loads(completion(received_like(), ""))
        body["choices"][0]["message"]["content"] = said
        body["usage"] = {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}
        server.behave = always(Behaviour.raw(json.dumps(body).encode()))
        reply = ask(client(attempts=1), question(server))
        assert reply.text == said
        assert (reply.prompt_tokens, reply.completion_tokens) == (9, 0)


def received_like():
    return Received(1, {"model": "m", "messages": []}, {})


@pytest.mark.parametrize("finish", ["length", "abort"])
def test_an_end_is_told_as_its_server_tells_it_on_both_ways(server, way, finish):
    server.behave = always(Behaviour.text('{"summary": "Ann is we"}', finish))
    assert ask(client(), question(server)).finish == finish


@pytest.mark.parametrize("finish", ["content_filter", "SAFETY", "refusal", "sensitive"])
def test_a_filter_is_told_in_one_word_on_both_ways(server, way, finish):
    server.behave = always(Behaviour.text("", finish))
    assert ask(client(), question(server)).finish == "content_filter"


# -- addresses -------------------------------------------------------------------------

NO_ADDRESS = [
    *(
        "localhost:8080/v1",
        "127.0.0.1:9/v1",
        "htp://localhost:9/v1",
        "http:/localhost/v1",
    ),
    *("http//localhost/v1", "http://", "http:///v1", "http://local host:8080/v1"),
    *("http://localhost:80a/v1", "http://localhost:99999/v1", "ftp://localhost/v1"),
    *("http://[::1/v1", "my server"),
]


def test_what_is_not_an_address_is_told_at_once():
    for base in NO_ADDRESS:
        with pytest.raises(LLMRejected, match="is not a web address") as info:
            ask(client(), question(base))
        assert (info.value.agent, info.value.purpose) == (7, "consolidate")
        with pytest.raises(ValueError, match="is not a web address"):
            client(options={"api_base": base})
        with pytest.raises(ValueError, match="is not a web address"):
            LiteLLMEmbedder("openai/e", api_base=base)


ENDS = [
    "/chat/completions",
    "/chat/completions/",
    "/completions",
    "/",
    " ",
    "\n",
    "\u200b",
]


@pytest.mark.parametrize("end", ENDS)
def test_an_address_is_put_right_with_one_line(server, way, end, caplog):
    base = f" {server.base}{end}"
    for llm in (client(), client(options={"api_base": base})):
        reply = ask(llm, question(base))
        assert (reply.attempts, reply.route.client) == (1, way)
    assert caplog.text.count("is used as") == 1


def test_an_address_in_the_environment_is_checked_too(way, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8080/v1")
    monkeypatch.setenv("OPENAI_API_BASE", "localhost:8080/v1")
    with pytest.raises(LLMRejected):
        ask(client(attempts=1), question(None))
