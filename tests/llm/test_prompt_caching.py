"""What a provider is told about caching: marks for Anthropic, a key for OpenAI."""

import pytest
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning

from mesa_memory.llm import LLMRequest
from mesa_memory.llm.providers import prompt_caching
from tests.support.client import ask, client, question
from tests.support.openai_server import OpenAIServer
from tests.support.planners import Village


def request(agent=7, purpose="grade"):
    return LLMRequest(purpose, agent, 3, "Be brief.", "What?", None)


def test_the_key_is_an_agents_and_tells_nobody_its_name():
    key = prompt_caching.cache_key(request("Ann Smith"))
    assert key == prompt_caching.cache_key(request("Ann Smith"))
    assert "Ann" not in key and "Smith" not in key
    others = [
        request("Bob"),
        request("Ann Smith", "consolidate"),
        request(7),
        request("7"),
    ]
    keys = {prompt_caching.cache_key(r) for r in others}
    assert len(keys | {key}) == 5
    assert all(len(k) <= 64 for k in keys), "OpenAI's limit"


@pytest.mark.parametrize(
    ("model", "base", "takes"),
    [
        ("openai/gpt-5-mini", None, True),
        ("openai/gpt-5-mini", "https://api.openai.com/v1", True),
        ("openai/llama", "http://localhost:8000/v1", False),
        ("ollama/llama3", None, False),
        ("anthropic/claude-sonnet-4-5", None, False),
    ],
)
def test_only_openai_itself_gets_a_key(model, base, takes):
    assert prompt_caching.takes_key(model, base) == takes


@pytest.mark.parametrize("way", ["direct", "litellm"])
def test_openai_is_sent_the_key_and_another_server_is_not(way, monkeypatch):
    with OpenAIServer() as server:
        asked = question(server)
        ask(client(client=way), asked)
        monkeypatch.setattr(prompt_caching, "OPENAI_HOSTS", ("127.0.0.1",))
        ask(client(client=way), asked)
        keys = [received.body.get("prompt_cache_key") for received in server.log]
    assert keys == [None, prompt_caching.cache_key(asked)]


@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning])
def test_marks_stand_where_nothing_changes_and_where_it_only_grows(reasoning):
    village = Village("stlt", reasoning).lived(5)
    before, after = village.of_agent()[-2:]
    told = []
    for asked in (before, after):
        messages = prompt_caching.marked(asked.messages(), asked.edges)
        parts = [
            p for m in messages if isinstance(m["content"], list) for p in m["content"]
        ]
        assert sum("cache_control" in part for part in parts) == 2
        assert all(part["text"].strip() for part in parts)
        joined = [
            m["content"]
            if isinstance(m["content"], str)
            else "".join(part["text"] for part in m["content"])
            for m in messages
        ]
        assert joined == [m["content"] for m in asked.messages()]
        told.append(messages)
    assert told[0][0]["content"][0] == told[1][0]["content"][0]


def test_of_very_many_steps_only_the_newest_are_cut():
    messages = [{"role": "user", "content": "x" * 500}]
    (message,) = prompt_caching.marked(messages, [(0, n) for n in range(1, 400)])
    marks = ["cache_control" in part for part in message["content"]]
    assert sum(marks) == 2 and marks[0]
    assert len(marks) <= prompt_caching.MAX_CUTS + 2


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("anthropic/claude-sonnet-4-5", True),
        ("bedrock/anthropic.claude-3-haiku", True),
        ("openrouter/anthropic/claude-sonnet-4.5", True),
        ("openai/gpt-5-mini", False),
    ],
)
def test_anthropics_models_are_marked_whoever_serves_them(model, takes):
    assert prompt_caching.takes_marks(model) == takes
