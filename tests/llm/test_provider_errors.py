"""Errors of seventeen providers, and the action that each leads to, on both ways."""

import json
import logging
from pathlib import Path

import litellm
import pytest

from mesa_memory import LLMRejected, LLMUnavailable
from mesa_memory.core import fault_table
from mesa_memory.core.text.replies import BAD_OUTPUT
from mesa_memory.errors import ContentFiltered, LLMError, PromptTooLong
from mesa_memory.hosts.provider_faults import outcome
from tests.support import ways
from tests.support.client import ask, client, question
from tests.support.openai_server import Behaviour, OpenAIServer, always

way = ways.way  # each test on both

ROWS = json.loads(
    (Path(__file__).parents[1] / "data" / "provider_errors.json").read_text()
)
PROVIDERS = {
    *("OpenAI", "Azure", "Anthropic", "Gemini", "Mistral", "Groq", "xAI", "DeepSeek"),
    *("DashScope", "Bedrock", "OpenRouter", "Ollama", "vLLM", "llama.cpp", "LM Studio"),
    *("TGI", "SGLang"),
}
#: they speak protocols of their own
OTHER_PROTOCOLS = {
    "Anthropic": ("anthropic", litellm.llms.anthropic.common_utils.AnthropicError),
    "Gemini": ("gemini", litellm.llms.vertex_ai.common_utils.VertexAIError),
    "Bedrock": ("bedrock", litellm.llms.bedrock.common_utils.BedrockError),
}
DOES = {
    "told": fault_table.REFUSED,
    "waited": fault_table.BUSY,
    "split": fault_table.TOO_LONG,
    "event": fault_table.FILTERED,
    "again": fault_table.BAD_OUTPUT,
}
RAISES = {
    "told": LLMRejected,
    "waited": LLMUnavailable,
    "split": PromptTooLong,
    "event": ContentFiltered,
}
#: a server may repeat the prompt, or the model's words, beside its message
WORDS = "Carl was stabbed behind the old mill"
KEY = "sk-planted-0123456789abcdef"


def named(row):
    return f"{row['provider']}, {row['kind']}"


def behaviour(row, **more):
    body = row["body"]
    body = {**body, **more} if isinstance(body, dict) else body
    headers = tuple(row.get("headers", {}).items())
    data = json.dumps(body).encode()
    return Behaviour("reply", code=row["status"], body=data, headers=headers)


def spoken_here():
    return [row for row in ROWS if row["provider"] not in OTHER_PROTOCOLS]


def answered(server, row, **more):
    """The reply or the error that a request comes to."""
    server.behave = always(behaviour(row, **more))
    server.clear()
    try:
        return ask(client(attempts=2, backoff=0.001), question(server))
    except LLMError as error:
        return error


def test_the_table_has_each_provider_and_decides_each_of_its_errors():
    assert {row["provider"].partition(" (")[0] for row in ROWS} == PROVIDERS
    wrong = []
    for row in ROWS:
        body, status = row["body"], row["status"]
        status = body["error"]["code"] if status == 200 else status
        found = fault_table.outcome(fault_table.read(status, json.dumps(body)))
        if found != DOES[row["does"]]:
            wrong.append((named(row), found))
    assert not wrong


def test_both_ways_to_a_model_do_what_the_table_says(way):
    wrong = []
    with OpenAIServer() as server:
        for row in spoken_here():
            found, does = answered(server, row), row["does"]
            if does == "again":
                right = getattr(found, "finish", None) in (BAD_OUTPUT, "length")
            else:
                right = type(found) is RAISES[does] and found.passing == (
                    does == "waited"
                )
            # One that is waited for is sent again; a form of the request may be refused.
            sent = {"waited": 2, "told": server.requests}.get(does, 1)
            if not right or server.requests != sent:
                wrong.append((named(row), type(found).__name__, server.requests))
    assert not wrong


def test_errors_in_the_words_of_litellm_come_to_the_same():
    wrong = []
    for row in ROWS:
        if row["provider"] not in OTHER_PROTOCOLS:
            continue
        name, kind = OTHER_PROTOCOLS[row["provider"]]
        original = kind(
            status_code=row["status"], message=json.dumps(row["body"]), headers={}
        )
        try:
            litellm.exception_type(f"{name}/m", original, name)
        except Exception as error:
            if outcome(error) != DOES[row["does"]]:
                wrong.append((named(row), outcome(error), f"{error}"[:200]))
    assert not wrong


def test_no_error_repeats_a_key_or_the_words_of_an_agent(way, monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG, "mesa_memory")
    echo = {"input": WORDS, "messages": [WORDS], "failed_generation": WORDS, "key": KEY}
    told = []
    with OpenAIServer() as server:
        for row in spoken_here():
            found = answered(server, row, **echo)
            if isinstance(found, LLMError):
                told.append(str(found))
        server.behave = always(Behaviour.status(401, f"Incorrect API key: {KEY}"))
        with pytest.raises(LLMError, match=r"\[secret\]") as refused:
            ask(client(), question(server))
    told.append(str(refused.value))
    assert len(told) > 80
    said = "\n".join(told) + caplog.text
    assert WORDS not in said
    assert KEY not in said
