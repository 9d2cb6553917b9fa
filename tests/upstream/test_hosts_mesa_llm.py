"""Mesa-LLM as it is on the package index, and as its next version will be."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.module_llm import ModuleLLM
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ShortTermMemory, STLTMemory, arrange_prompts, register_policy
from mesa_memory.errors import HostChanged
from tests.support import environments
from tests.support.openai_server import OpenAIServer

HERE = Path(__file__).parents[1]


#: what warns of Mesa-LLM's former names is an error, what SQLAlchemy warns of is not
STRICT = ("-W", "error::DeprecationWarning")
STRICT += ("-W", "ignore::sqlalchemy.exc.SADeprecationWarning")


@pytest.mark.timeout(900)
def test_all_holds_with_the_coming_version_of_mesa_llm():
    file = HERE / "upstream" / "with_coming_mesa_llm.py"
    path = (HERE / "support" / "coming", environments.ROOT)
    assert environments.run_pytest(sys.executable, *STRICT, file, path=path) == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_holds_with_a_checkout_of_mesa_llm_and_its_examples(tmp_path):
    if "MESA_LLM_NEXT" not in os.environ:
        pytest.skip("MESA_LLM_NEXT names no checkout of Mesa-LLM's main branch")
    package = Path(os.environ["MESA_LLM_NEXT"], "mesa_llm").resolve()
    (tmp_path / "mesa_llm").symlink_to(package)  # without the tests beside it
    files = [
        HERE / "upstream" / f"with_coming_{n}.py" for n in ("mesa_llm", "examples")
    ]
    path = (tmp_path, environments.ROOT)
    assert environments.run_pytest(sys.executable, *STRICT, *files, path=path) == ""


def agent_of(model, llm_model):
    agent = LLMAgent(model, CoTReasoning, llm_model, step_prompt="Go.")
    agent.memory = ShortTermMemory(agent)
    return agent


def test_an_own_method_named_act_is_left_alone():
    class Actor(LLMAgent):
        def act(self):
            return "bowed"

    actor = Actor(mesa.Model(rng=1), CoTReasoning, register_policy("act", str))
    arrange_prompts(actor)
    assert actor.act() == "bowed"
    assert "act" not in vars(actor)


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
