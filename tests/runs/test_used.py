"""Retrieved, but was it used? Which recalled lines the reply of an agent's reasoning used."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning

from mesa_memory import arrange_prompts, configure, open_run, register_policy, resume
from mesa_memory.llm import ToolCall
from mesa_memory.memories.registry import find
from mesa_memory.retrieval.overlap import used
from tests.support.playing import ended, play

NEWS = (
    "The mill by the river burns since noon.",
    "Fish is cheap at the harbour.",
    "My sister sings in the choir.",
)


def think(turn):
    """Plans by what it remembers of the mill; says it with a tool."""
    if turn.fields:
        return {"reasoning": "The river mill burns!", "action": "warn all"}
    if turn.tools:
        said = {
            "message": "Somebody sings in a choir",
            "listener_agents_unique_ids": [1],
        }
        return [ToolCall("speak_to", said)]
    return "The mill at the river burns, so I fetch water."


class Hamlet(mesa.Model):
    """An agent who has heard the news and then plans what to do."""

    def __init__(self, record=None, kind="episodic", routed=True, replay=None):
        super().__init__(rng=1)
        configure(self, llm="offline", record=record, replay=replay)
        name = register_policy("thinker", think)
        self.ann = LLMAgent(self, self.reasoning, name, step_prompt="Act.", vision=0)
        own = {"grade_together": 1} if kind == "episodic" else {}
        self.ann.memory = find(kind)(self.ann, **own)
        if routed:
            arrange_prompts(self.ann)

    reasoning = CoTReasoning

    def step(self):
        self.ann.memory.process_step(pre_step=True)
        if self.steps == 1:
            for text in NEWS:
                self.ann.memory.add_to_memory("message", {"message": text, "sender": 9})
        else:
            plan = self.ann.reasoning.plan(obs=self.ann.generate_obs())
            self.ann.apply_plan(plan)
        self.ann.memory.process_step()


class Reacting(Hamlet):
    """The same with ReAct."""

    reasoning = ReActReasoning


def told(file, step=2):
    with open_run(file) as run:
        rows = run.recalls(1, step, as_records=True)
    return {
        row["text"].partition("says: ")[2]: row["used"]
        for row in rows
        if row["purpose"] == "prompt"
    }


@pytest.mark.parametrize("model", [Hamlet, Reacting])
@pytest.mark.parametrize("kind", ["episodic", "generative_agent"])
def test_the_record_says_what_of_it_the_reply_used(model, kind, tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(model(file, kind), 2)
    found = told(file)
    assert found[NEWS[0]] is True, "the plan speaks of it"
    assert found[NEWS[1]] is False
    assert found[NEWS[2]] is True, "it stands in the argument of a tool"
    with open_run(file) as run:
        whole = run.recalls(as_records=True)
    assert {row["used"] for row in whole} >= {True, False}


def test_of_an_agent_that_reasons_elsewhere_nobody_knows(tmp_path):
    file = str(tmp_path / "run.sqlite")
    hamlet = Hamlet(file, routed=False)
    hamlet.step()
    hamlet.ann.memory.get_prompt_ready()
    ended(hamlet)
    assert set(told(file, 1).values()) == {None}


def test_a_resumed_and_a_replayed_run_say_the_same(tmp_path):
    whole, part, again = (
        str(tmp_path / f"{n}.sqlite") for n in ("whole", "part", "again")
    )
    play(Hamlet(whole), 4)
    play(Hamlet(part), 2)
    play(resume(Hamlet, part), 2)
    play(Hamlet(again, replay=whole), 4)
    found = []
    for file in (whole, part, again):
        with open_run(file) as run:
            found.append([row["used"] for row in run.recalls(1, as_records=True)])
    assert found[0] == found[1] == found[2]


LINES = (
    "Jonas to you: I owe you three hundred crowns; you get it on day 5.",
    "You to Jonas: Day 5, then. I need it for my rent, so please don't forget.",
    "Ines to you: The meeting is moved to day 5, at ten.",
    "Jon to you: I locked the fuel store last night.",
    "Tove to you: The gauge of the fuel store shows 180 litres.",
    "Jon to you: The ice plant wants a night watchman.",
)


@pytest.mark.parametrize(
    "answer, told",
    [
        ("I won't sail: you owe me three hundred, and I need it for my rent.", {0, 1}),
        (
            "Your ice plant wants a watchman; as for me, I come to the meeting at ten.",
            {2, 5},
        ),
        (
            "You locked the store, you say; my gauge shows 180 litres; where is the rest?",
            {3, 4},
        ),
        ("No, I would rather stay with the boat for a while.", set()),
        ("", set()),
    ],
)
def test_an_answer_made_of_several_lines_uses_each_of_them(answer, told):
    """Each is short beside the answer, and the answer has but a part of its words."""
    assert {
        place for place, is_used in enumerate(used(LINES, answer)) if is_used
    } == told
