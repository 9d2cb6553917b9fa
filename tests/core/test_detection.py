"""The language of an agent's prompts, where it is to be detected."""

from types import SimpleNamespace

import pytest

from mesa_memory.core.text.detection import wording_for
from mesa_memory.core.wording import Wordings
from tests.support.single import table

TOLD = table("spoken")["prompts"]


@pytest.mark.parametrize("language", TOLD)
def test_the_language_of_the_prompts_is_found(language):
    agent = SimpleNamespace(system_prompt=TOLD[language])
    assert wording_for(agent, Wordings("auto")).language == language


def test_without_much_to_go_by_it_is_english_and_an_own_language_comes_first():
    agent = SimpleNamespace(system_prompt=None, step_prompt="Go.")
    assert wording_for(agent, Wordings("auto")).language == "en"
    agent.language = "pt"
    assert wording_for(agent, Wordings("auto")).language == "pt"
    assert wording_for(agent, Wordings("zh")).language == "pt"
    agent.language, agent.system_prompt = "auto", TOLD["es"]
    assert wording_for(agent, Wordings("zh")).language == "es"
