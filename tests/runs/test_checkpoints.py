"""A checkpoint that is asked for between two steps holds what the agents remember then."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import Services, checkpoint, configure, fork, register_policy, resume
from mesa_memory.interventions import edit, erase, exchange, implant
from mesa_memory.memories.registry import OUR_MEMORIES
from mesa_memory.viz.live.by_hand import forked
from tests.support.lives import Town as GrowingTown
from tests.support.playing import held, recorded


class Town(mesa.Model):
    """Two people, who see the day; nothing in it takes time."""

    def __init__(self, kind="stlt", record=None, within=False, rng=1):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        self.within = within
        quiet = register_policy("quiet", lambda turn: "Nothing.")
        for _ in range(2):
            agent = LLMAgent(self, CoTReasoning, quiet)
            agent.memory = OUR_MEMORIES[kind](agent)

    def step(self):
        for agent in self.agents:
            agent.memory.add_to_memory("observation", {"text": f"day {self.steps}"})
            agent.memory.process_step()
        if self.within:
            checkpoint(self)


def said(model):
    one, two = model.agents
    one.send_message(f"The bridge broke on day {model.steps}!", [two])


def implanted(model):
    implant(next(iter(model.agents)), "message", {"message": "Flee!", "sender": 9})


def erased(model):
    agent = next(iter(model.agents))
    erase(agent, agent.memory.current_records()[-1])


def edited(model):
    agent = next(iter(model.agents))
    old = agent.memory.current_records()[-1]
    texts = dict.fromkeys(("text", "message", "value"), "edited")
    edit(agent, old, {name: texts.get(name, v) for name, v in old.content.items()})


def exchanged(model):
    exchange(*model.agents)


def facts_read(model):
    for agent in model.agents:
        if hasattr(agent.memory, "from_markdown"):
            agent.memory.from_markdown("## Bob\n\n- home: the mill\n")
    said(model)


CHANGES = [said, implanted, erased, edited, exchanged, facts_read]
#: each memory with two of them
PAIRS = [
    (kind, CHANGES[(number + place) % len(CHANGES)])
    for number, kind in enumerate(OUR_MEMORIES)
    for place in (0, 3)
]


@pytest.mark.parametrize(("kind", "change"), PAIRS)
def test_each_quick_step_is_kept_with_what_has_changed_since(kind, change, tmp_path):
    file = tmp_path / "run.sqlite"
    model = Town(kind, file)
    then = {}
    for step in range(1, 5):
        model.step()
        change(model)
        assert checkpoint(model) == (1, step)
        then[step] = held(model)
        assert checkpoint(model) == (1, step)
    Services.of(model).recorder.close()
    for step in (1, 3):
        other = fork(Town, file, step, run=1)
        assert held(other) == then[step] == recorded(file, 1, step)
        Services.of(other).recorder.close()
    again = resume(Town, file, 2, run=1)
    assert held(again) == then[2] == recorded(file, 1, 2)


def test_a_model_that_was_told_something_after_a_quick_step_can_be_forked(tmp_path):
    model = Town(record=tmp_path / "run.sqlite")
    for _ in range(3):
        model.step()
        said(model)
        assert held(forked(model)) == held(model)


def test_within_a_step_the_error_says_what_to_do(tmp_path):
    model = Town(record=tmp_path / "run.sqlite", within=True)
    with pytest.raises(ValueError, match="finished step"):
        model.step()
    model = Town(record=tmp_path / "run.sqlite")
    model.step()
    model.within = True
    with pytest.raises(ValueError, match="between two steps"):
        for _ in range(100):  # few of which rest long enough for a checkpoint
            model.step()


def test_an_agent_that_came_in_the_middle_of_a_run_has_its_own_id_in_a_fork(tmp_path):
    file = tmp_path / "run.sqlite"
    town = GrowingTown("stlt", "blocking", record=file)
    for day in range(8):
        town.step()
        if day == 2:
            town.newcomer()
    late = max(agent.unique_id for agent in town.agents)
    Services.of(town).recorder.close()
    again = fork(GrowingTown, file, trust=True)
    memory = next(a for a in again.agents if a.unique_id == late).memory
    assert {record.agent for record in memory.held_records()} == {late}
    for _ in range(4):
        again.step()
    checkpoint(again)  # a summary that was taken up is that of its agent
