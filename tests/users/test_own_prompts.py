"""A researcher exchanges words of the prompts: one heading, or the wording as a factor."""

import mesa
import pytest

from mesa_memory import configure, open_run
from mesa_memory.experiments import Study
from mesa_memory.memories.registry import find
from tests.support.openai_server import OpenAIServer
from tests.support.single import settle
from tests.support.street import Neighbour, Street
from tests.support.study_results import run

BEFORE, AFTER = "Short term memory", "What I have just lived through"
MEMORIES = ("stlt", "long_term", "episodic", "unimatrix")


class Digger(Neighbour):
    """Asks its model with its memory in the question, too."""

    def step(self):
        super().step()
        self.memory.add_to_memory("action", {"done": f"dug {self.model.steps}"})
        self.llm.generate(f"What do you do?\n{self.memory.get_prompt_ready()}")


def sent(memory, prompts):
    """All messages of three days, as a server received them."""
    with OpenAIServer() as server:
        model = mesa.Model(rng=1)
        configure(model, prompts=prompts, execution="blocking")
        settle(model, find(memory), 2, Digger, "openai/local", api_base=server.base)
        for _ in range(3):
            model.step()
            model.agents.do("step")
        return [str(received.messages) for received in server.log]


def own(folder, file, text):
    folder.mkdir()
    (folder / f"{file}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("memory", MEMORIES)
def test_one_heading_changes_exactly_that_in_all_requests(tmp_path, memory):
    folder = own(tmp_path / "words", "memory", f"## heading short_term\n\n{AFTER}\n")
    plain, changed = sent(memory, None), sent(memory, folder)
    assert any(BEFORE in text for text in plain)
    assert changed == [text.replace(BEFORE, AFTER) for text in plain]


def test_the_wording_is_a_factor_of_a_study(tmp_path):
    system = "## system\n\nSum up what one agent in a simulation has lived through.\n"
    folder = own(tmp_path / "brief", "consolidate", system)
    file = tmp_path / "study.sqlite"
    factors = {"prompts": [None, str(folder)], "memory": "long_term"}
    study = Study(Street, factors, seeds=range(2), steps=3, store=file)
    run(study)
    told = {}
    for row in study.results().runs.itertuples():
        files = open_run(file, row.run).prompt_files(as_records=True)
        text = next(each["text"] for each in files if each["name"] == "consolidate")
        told.setdefault(row.prompts, set()).add(text)
    brief = {text for texts in told.values() for text in texts if "Sum up what" in text}
    assert len(told) == 2 and len(brief) == 1
