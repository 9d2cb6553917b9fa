"""The key that tells OpenAI which prompts begin alike."""

import pytest

from mesa_memory.llm import LLMRequest
from mesa_memory.llm.providers import prompt_caching
from tests.support.client import ask, client, question
from tests.support.openai_server import OpenAIServer


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
