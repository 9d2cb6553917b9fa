"""The direct way: for whom it is taken, where it leads, and what it costs nobody."""

import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys

import litellm
import mesa
import pytest

from mesa_memory import LLMRejected, configure
from mesa_memory.hosts.litellm import address_of
from mesa_memory.llm import LLMSettings
from mesa_memory.llm import client as ways
from mesa_memory.llm.client import ProviderClient
from mesa_memory.llm.direct import destination, obstacle
from mesa_memory.runtime.reasoning import ChatRequest
from mesa_memory.tasks.consolidate import Summary
from tests.support.client import ask, client, question
from tests.support.openai_server import Behaviour, OpenAIServer, always
from tests.support.server_process import ROOT

KEY = "sk-planted-direct-0123456789"


def way_of(llm, request):
    return ask(llm, request).route.client


def chat(server, model="openai/test", **given):
    """A request of an agent that decides."""
    asked = ({"role": "user", "content": "Where to?"},)
    return ChatRequest("reasoning", 1, 1, "", "", None, model=model,
                       api_base=server.base, chat=asked, given=given)  # fmt: skip


# -- who takes it ----------------------------------------------------------------------

SPEAKING = ["openai", "custom_openai", "hosted_vllm", "ollama", "ollama_chat"]
SPEAKING += ["lm_studio", "deepseek", "groq", "openrouter", "together_ai"]


@pytest.mark.parametrize("provider", SPEAKING)
def test_servers_that_speak_the_protocol_are_asked_without_litellm(
    provider, server, monkeypatch
):
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
    monkeypatch.setenv("TOGETHERAI_API_KEY", KEY)
    reply = ask(client(), question(server, f"{provider}/some/model"))
    assert reply.route.client == "direct"
    (received,) = server.log
    assert received.model == "some/model"
    assert reply.model == f"{provider}/some/model"


@pytest.mark.parametrize("provider", ["anthropic", "gemini", "mistral", "nowhere"])
def test_other_providers_are_asked_with_litellm(provider):
    assert destination(f"{provider}/some-model", None, None)[0]


def test_an_option_that_only_litellm_knows_takes_litellm(server):
    assert way_of(client(options={"caching": False}), question(server)) == "litellm"


@pytest.mark.parametrize(
    "name", ["callbacks", "success_callback", "input_callback", "pre_call_rules"]
)
def test_what_a_user_has_hooked_into_litellm_is_called(name, monkeypatch):
    monkeypatch.setattr(litellm, name, [lambda *args, **given: True])
    assert obstacle({}) == f"litellm.{name} is set"


def test_a_function_in_the_place_of_litellms_is_called(server, monkeypatch):
    asked, real = [], litellm.acompletion

    async def counted(**given):
        asked.append(given["model"])
        return await real(**given)

    monkeypatch.setattr(litellm, "acompletion", counted)
    ask(client(), question(server))
    assert asked == ["openai/test"]


@pytest.mark.parametrize(("seconds", "times"), [(60.0, 1), (0.0, 3)])
def test_the_way_to_a_model_is_looked_up_again_after_a_while(
    seconds, times, server, monkeypatch
):
    found, llm = [], client()

    def noted(*given):
        found.append(given)
        return destination(*given)

    monkeypatch.setattr(ways, "destination", noted)
    monkeypatch.setattr(ways, "ROUTE_S", seconds)
    for _ in range(3):
        ask(llm, question(server))
    assert len(found) == times


def test_a_users_own_provider_is_asked_with_litellm(monkeypatch):
    entry = {"provider": "hosted_vllm", "custom_handler": litellm.CustomLLM()}
    monkeypatch.setattr(litellm, "custom_provider_map", [entry])
    assert destination("hosted_vllm/x", "http://127.0.0.1:1/v1", None)[0]


def test_a_way_that_does_not_exist_is_refused_with_the_choices():
    with pytest.raises(ValueError, match=r"'auto', 'direct', 'litellm'.*got 'fast'"):
        configure(mesa.Model(rng=1), client="fast")


def test_the_lean_way_is_refused_typed_where_there_is_none(server):
    llm = client(client="direct")
    with pytest.raises(LLMRejected, match=r"anthropic speaks .* client='litellm'"):
        ask(llm, question(server, "anthropic/claude-3-5-haiku-latest"))
    assert server.requests == 0


# -- where it leads --------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_ollama_is_asked_at_its_openai_address(provider, end, server):
    host = server.base.removesuffix("/v1")
    assert ask(client(), question(host + end, f"{provider}/llama3")).attempts == 1
    assert "authorization" not in server.log[0].headers


def test_keys_and_addresses_are_found_where_litellm_finds_them(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-1")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base)
    ask(client(), question(None))
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.base)
    ask(client(), question(None, "hosted_vllm/m"))
    monkeypatch.setattr(litellm, "api_key", "sk-of-litellm-itself-2")
    ask(client(), question(None))
    ask(client(options={"api_key": "sk-of-the-options-3"}), question(None))
    sent = [received.headers["authorization"] for received in server.log]
    assert sent == [
        "Bearer sk-of-the-environment-1",
        "Bearer fake-api-key",
        "Bearer sk-of-litellm-itself-2",
        "Bearer sk-of-the-options-3",
    ]


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("openai/gpt-4o-mini", "https://api.openai.com/v1"),
        ("openrouter/meta/llama", "https://openrouter.ai/api/v1"),
        ("ollama/llama3", "http://localhost:11434"),
        ("groq/llama3", "https://api.groq.com/openai/v1"),
    ],
)
def test_usual_addresses_are_known(model, base):
    assert address_of(model, None, None).base == base


@pytest.mark.parametrize("provider", ["hosted_vllm", "lm_studio"])
def test_a_missing_address_is_refused_at_once(provider, elsewhere):
    with pytest.raises(LLMRejected, match="no address is known"):
        ask(client(client="direct"), question(None, f"{provider}/some-model"))
    assert elsewhere == []


def test_headers_and_a_body_of_ones_own_are_sent(server):
    options = {"extra_headers": {"X-Project": "town"}, "extra_body": {"top_k": 5}}
    options |= {"drop_params": True, "timeout": 9}
    ask(client(options=options), question(server))
    (received,) = server.log
    assert received.headers["x-project"] == "town"
    assert received.body["top_k"] == 5
    assert not received.body.keys() & {"drop_params", "timeout", "extra_body"}


def test_a_class_of_replies_among_the_options_is_sent_as_its_schema(server):
    for way in ("direct", "litellm"):
        ask(client(client=way, options={"response_format": Summary}), chat(server))
        sent = server.log[-1].body["response_format"]
        assert sent["json_schema"]["name"] == "Summary"
        assert "summary" in sent["json_schema"]["schema"]["properties"]


def test_ollama_is_told_not_to_think_in_its_own_words(server):
    request = chat(server, "ollama_chat/m", think=False, drop_params=True)
    assert way_of(client(), request) == "direct"
    assert server.log[0].body["reasoning_effort"] == "none"
    assert "think" not in server.log[0].body


def test_a_proxy_of_the_environment_is_asked_for_other_hosts(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with OpenAIServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.base.removesuffix("/v1"))
        ask(client(), question("http://model.example/v1"))
        assert proxy.requests == 1


def test_a_proxy_of_socks_takes_litellm(monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    assert "SOCKS" in destination("openai/test", "http://model.example/v1", None)[0]
    assert destination("openai/test", "http://127.0.0.1:1/v1", None)[0] == ""


# -- what comes back -------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [b'{"error": "no room"}', b'{"detail": "no room"}', b'{"message": "no room"}',
     b"no room", b'{"error": {"message": "no room"}}'],
)  # fmt: skip
def test_what_a_server_says_is_told_in_any_form(body):
    failing = Behaviour("reply", code=400, body=body)
    told = pytest.raises(LLMRejected, match=r"\(HTTP 400\): no room\. ")
    with OpenAIServer(behave=always(failing)) as server, told:
        ask(client(), question(server, schema=None))


# -- what it leaves behind -------------------------------------------------------------


def test_a_connection_is_used_again_in_each_event_loop(server):
    llm = ProviderClient(LLMSettings())

    async def twice():
        await llm.acomplete(question(server))
        await llm.acomplete(question(server))

    for _ in range(2):
        asyncio.run(twice())
    assert server.requests == 4
    assert server.total_connections == 2


def asked_in_child(base, pipe):
    llm = ProviderClient(LLMSettings())
    pipe.send(asyncio.run(llm.acomplete(question(base))).text)


def test_a_forked_child_has_connections_of_its_own(server, capfd):
    llm = client()
    ask(llm, question(server))
    here, there = multiprocessing.Pipe()
    child = os.fork()
    if child == 0:  # as a forking executor's worker
        try:
            del llm
            gc.collect()
            asked_in_child(server.base, there)
        finally:
            os._exit(0)
    assert here.poll(60)
    assert "Summary of" in here.recv()
    os.waitpid(child, 0)
    ask(llm, question(server))
    assert server.total_connections == 2
    assert "Unclosed" not in "".join(capfd.readouterr())


PROGRAM = """
import os, sys
os.environ["OPENAI_API_KEY"] = "test"
import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_memory import LongTermMemory, Services, configure

model = mesa.Model(rng=1)
agent = LLMAgent(model, CoTReasoning, "openai/test", api_base=sys.argv[1])
agent.memory = LongTermMemory(agent)
agent.memory.add_to_memory("message", {"message": "hi", "sender": 4})
agent.memory.process_step()
"""


@pytest.mark.slow
def test_a_program_ends_with_its_work_done_and_without_a_word(server):
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", PROGRAM, server.base],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert server.requests == 1
    assert "Unclosed" not in run.stderr
