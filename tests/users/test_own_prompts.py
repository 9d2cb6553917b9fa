"""A researcher exchanges words of the prompts: one heading, or the wording as a factor."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    LayeredMemory,
    LongTermMemory,
    STLTMemory,
    configure,
    open_run,
)
from mesa_memory.experiments import Study
from tests.support.openai_server import OpenAIServer
from tests.support.study_results import run

BEFORE, AFTER = "Short term memory", "What I have just lived through"
MEMORIES = [STLTMemory, LongTermMemory, EpisodicMemory, LayeredMemory.unimatrix]


class Neighbour(LLMAgent):
    def step(self):
        self.memory.add_to_memory("action", {"done": f"dug {self.model.steps}"})
        self.send_message("The well is dry.", [self.model.agents[0]])
        self.llm.generate(f"What do you do?\n{self.memory.get_prompt_ready()}")


class Street(mesa.Model):
    def __init__(self, prompts=None, base=None, memory=LongTermMemory, rng=1):
        super().__init__(rng=rng)
        services = {} if base else {"llm": "offline"}
        configure(self, prompts=prompts, execution="blocking", **services)
        for _ in range(2):
            agent = Neighbour(self, CoTReasoning, "openai/local", api_base=base)
            agent.memory = memory(agent)

    def step(self):
        self.agents.do("step")


class Reader(LLMAgent):
    def step(self):
        self.memory.add_to_memory("action", {"done": f"dug {self.model.steps}"})


class Silent(mesa.Model):
    def __init__(self, prompts=None, rng=1):
        super().__init__(rng=rng)
        configure(self, llm="offline", prompts=prompts)
        agent = Reader(self, CoTReasoning, "openai/local")
        agent.memory = LongTermMemory(agent)

    def step(self):
        self.agents.do("step")


def sent(memory, prompts):
    """All messages of three days, as a server received them."""
    with OpenAIServer() as server:
        street = Street(prompts, server.base, memory)
        for _ in range(3):
            street.step()
        return [str(received.messages) for received in server.log]


def own(folder, text):
    folder.mkdir()
    (folder / "memory.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.__qualname__)
def test_one_heading_changes_exactly_that_in_all_requests(tmp_path, memory):
    folder = own(tmp_path / "words", f"## heading short_term\n\n{AFTER}\n")
    plain, changed = sent(memory, None), sent(memory, folder)
    assert any(BEFORE in text for text in plain)
    assert changed == [text.replace(BEFORE, AFTER) for text in plain]


def test_the_wording_is_a_factor_of_a_study(tmp_path):
    system = "## system\n\nSum up what one agent in a simulation has lived through.\n"
    folder = tmp_path / "brief"
    folder.mkdir()
    (folder / "consolidate.md").write_text(system, encoding="utf-8")
    file = tmp_path / "study.sqlite"
    study = Study(
        Silent, {"prompts": [None, str(folder)]}, seeds=range(2), steps=3, store=file
    )
    run(study)
    told = {}
    for row in study.results().runs.itertuples():
        files = open_run(file, row.run).prompt_files(as_records=True)
        text = next(each["text"] for each in files if each["name"] == "consolidate")
        told.setdefault(row.prompts, set()).add(text)
    brief = {text for texts in told.values() for text in texts if "Sum up what" in text}
    assert len(told) == 2 and len(brief) == 1
