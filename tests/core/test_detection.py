"""The language of an agent's prompts, where it is to be detected."""

from types import SimpleNamespace

import pytest

from mesa_memory.core.wording import Wordings
from tests.support.single import table

TOLD = table("spoken")["prompts"]


@pytest.mark.parametrize("language", TOLD)
def test_the_language_of_the_prompts_is_found(language):
    agent = SimpleNamespace(system_prompt=TOLD[language])
    assert Wordings("auto").of_agent(agent).language == language


def test_without_much_to_go_by_it_is_english_and_an_own_language_comes_first():
    agent = SimpleNamespace(system_prompt=None, step_prompt="Go.")
    assert Wordings("auto").of_agent(agent).language == "en"
    agent.language = "pt"
    assert Wordings("auto").of_agent(agent).language == "pt"
    assert Wordings("zh").of_agent(agent).language == "pt"
    agent.language, agent.system_prompt = "auto", TOLD["es"]
    assert Wordings("zh").of_agent(agent).language == "es"
