"""What of Mesa-LLM is private, and replaced by its users."""

import subprocess
import sys
from types import SimpleNamespace

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.module_llm import ModuleLLM
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ShortTermMemory,
    STLTMemory,
    add_memory_tools,
    arrange_prompts,
    register_policy,
)
from mesa_memory.errors import HostChanged
from tests.support.openai_server import OpenAIServer


def agent_of(model, llm_model):
    agent = LLMAgent(model, CoTReasoning, llm_model, step_prompt="Go.")
    agent.memory = ShortTermMemory(agent)
    return agent


def test_a_class_of_llm_objects_changed_later_is_asked_for_agents_made_before(
    monkeypatch,
):
    model, asked = mesa.Model(rng=1), []
    with OpenAIServer() as server:

        def agent():
            base = {"api_base": server.base}
            made = LLMAgent(model, CoTReasoning, "openai/later", **base)
            made.memory = STLTMemory(made, 1, 1)
            return made

        def live(made):
            for _ in range(3):
                model.step()
                made.memory.add_to_memory("action", {"did": "something"})
                made.memory.process_step()
            return made.memory.long_term_memory

        def replaced(self, prompt, **given):
            asked.append(prompt)
            return SimpleNamespace(
                choices=[SimpleNamespace(message=SimpleNamespace(content="Mine."))]
            )

        before, after = agent(), agent()
        assert live(before) != "Mine."
        count = server.requests
        monkeypatch.setattr(ModuleLLM, "generate", replaced)
        assert live(after) == "Mine."
        assert count == server.requests > 0
        assert asked


def test_a_mesa_llm_without_the_messages_it_made_is_an_error(monkeypatch):
    agent = agent_of(mesa.Model(rng=1), register_policy("gone", lambda turn: "fine"))
    monkeypatch.delattr(ModuleLLM, "_build_messages")
    with pytest.raises(HostChanged, match=r"mesa-llm 0\.3\.2.*_build_messages"):
        arrange_prompts(agent)


def test_a_mesa_llm_that_cannot_be_imported_says_which_versions_go_together():
    """Mesa 4 has no ``mesa.space``, which Mesa-LLM 0.3.2 imports."""
    code = (
        "import sys; sys.modules['mesa.space'] = None\n"
        "from mesa_memory.errors import HostChanged\n"
        "try:\n    from mesa_memory import ShortTermMemory\n"
        "except HostChanged as error:\n    print(error)\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600, check=True)
    assert "mesa-llm 0.3.2" in done.stdout
    assert "pip install 'mesa>=3.5.1,<4'" in done.stdout


@pytest.mark.parametrize("name", ["attr", "yarl"])
@pytest.mark.parametrize("imports", ["", "from mesa_memory import ShortTermMemory\n"])
def test_a_file_with_the_name_of_a_module_is_told_to_be_renamed(
    tmp_path, name, imports
):
    """Mesa-LLM imports litellm, and this aiohttp, and this ``attr`` and ``yarl``."""
    (tmp_path / f"{name}.py").write_text(f"{imports}raise ImportError('not this one')")
    (tmp_path / "start.py").write_text("from mesa_memory import ShortTermMemory\n")
    run = [sys.executable, str(tmp_path / "start.py")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=600)
    (told,) = [
        n for n in done.stderr.splitlines() if n.startswith("mesa_memory.errors")
    ]
    assert "rename the file" in told and "mesa>=" not in told
    assert f"{name}.py" in done.stderr


def test_an_unknown_argument_of_generate_is_sent_with_one_warning(caplog):
    with OpenAIServer() as server:
        base = {"api_base": server.base}
        agent = LLMAgent(mesa.Model(rng=1), CoTReasoning, "openai/x", **base)
        arrange_prompts(agent)
        for text in ("Go.", "Stop."):
            agent.llm.generate(prompt=text, patience=3)
        bodies = [received.body for received in server.log]
    assert [body["patience"] for body in bodies] == [3, 3]
    assert all("tools" not in body and "tool_choice" not in body for body in bodies)
    assert caplog.text.count("generate() was called with patience") == 1


def test_an_agent_without_tools_cannot_be_offered_any():
    model = register_policy("bare", lambda turn: "fine")
    memory = agent_of(mesa.Model(rng=1), model).memory
    with pytest.raises(HostChanged, match=r"lack a manager of tools.*pip install"):
        add_memory_tools(SimpleNamespace(memory=memory))
