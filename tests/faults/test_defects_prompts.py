"""Mesa-LLM's defects D26-D31 and D34-D36: prompts, what they cost, and grades."""

import re
from contextlib import suppress

from mesa_memory import MemoryStalled
from tests.support.models import (
    Citizen,
    StubLLM,
    Town,
    citizen,
    each,
    grades,
    live,
    said,
    seen,
)

THREES = grades(lambda _: 3)


@each("LongTermMemory", "EpisodicMemory")
def test_d26_prompts_hold_no_console_markup(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(), llm)
    for text in ("a wolf", "a sheep"):
        live(memory, seen(text))
    assert "a wolf" in llm.asked
    assert re.findall(r"\[/?(?:bold|blue|cyan)", memory.get_prompt_ready()) == []
    assert re.findall(r"\[/?(?:bold|blue|cyan)", llm.asked) == []


@each("EpisodicMemory")
def test_d26_recalled_events_are_dated_and_in_the_order_they_happened(make):
    llm = StubLLM(answer=grades(lambda text: 5 if "third" in text else 2))
    memory = make(citizen(), llm)
    for text in ("first", "second", "third"):
        live(memory, seen(text))
    prompt = memory.get_prompt_ready()
    parts = ["Step 1:", "first", "Step 2:", "second", "Step 3:", "third"]
    places = [prompt.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


@each("EpisodicMemory")
def test_d27_what_the_grader_knows_already_stands_under_one_heading(make):
    llm = StubLLM(answer=THREES)
    options = {"grade_context": 5} if make.package == "ours" else {}
    memory = make(citizen(), llm, **options)
    for text in ("alpha", "beta", "gamma", "delta"):
        live(memory, seen(text))
    prompt = llm.answered[-1]
    headings = [
        match.start()
        for match in re.finditer("previous memory entries|already remembers", prompt)
    ]
    assert len(headings) == 1
    assert headings[0] < prompt.index("alpha")


@each("EpisodicMemory")
def test_d29_a_step_of_an_agent_costs_at_most_one_grading_request(make):
    town, llm = Town(), StubLLM(answer=THREES)
    agents = [Citizen(town, vision=-1) for _ in range(4)]
    for agent in agents:
        make(agent, llm)

    def step(agent):
        agent.generate_obs()
        agent.memory.add_to_memory("plan", {"content": f"plan of {agent.unique_id}"})
        agent.send_message(f"news of {agent.unique_id}", agents)

    for _ in range(3):
        town.step()
        for agent in agents:
            agent.doing = step
            agent.step()
    for agent in agents:
        agent.memory.get_prompt_ready()
    assert 0 < len(llm.answered) <= 3 * 4


@each("STLTMemory", "LongTermMemory")
def test_d29_steps_in_which_nothing_happens_cost_nothing(make):
    llm = StubLLM()
    memory = make(citizen(), llm)
    for _ in range(30):
        live(memory)
    memory.get_prompt_ready()
    assert llm.answered == []


@each("STLTMemory", "LongTermMemory")
def test_d30_a_summariser_that_does_not_shorten_cannot_fill_the_prompt(make):
    memory = make(citizen(), StubLLM(answer=lambda prompt: prompt))
    with suppress(MemoryStalled):  # after ten failing steps, ours says so
        for number in range(60):
            live(memory, seen(f"{number} " + "y" * 100))
    with suppress(MemoryStalled):
        memory.get_prompt_ready()
    assert len(memory.long_term_memory) <= 5_000


@each("EpisodicMemory")
def test_d34_the_grader_is_told_the_agents_task(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(step_prompt="Find water."), llm)
    live(memory, seen("a well"))
    memory.get_prompt_ready()
    assert "Find water." in llm.asked


def _recalled(memory):
    memory.get_prompt_ready()
    best = memory.retrieve_top_k_entries(10)
    return [entry.content["observation"]["view"] for entry in best]


def _order_of_recall(make, decay):
    llm = StubLLM(answer=grades(lambda text: 3 if "oak" in text else 1))
    memory = make(citizen(), llm, recency_decay=decay)
    live(memory, seen("an oak"))
    memory.agent.model.steps = 300
    live(memory, seen("rain"))
    return _recalled(memory)


@each("EpisodicMemory")
def test_d35_the_decay_decides_how_long_a_memory_lasts(make):
    assert _order_of_recall(make, 0.9999) == ["an oak", "rain"]
    assert _order_of_recall(make, 0.99) == ["rain", "an oak"]


@each("EpisodicMemory")
def test_d35_one_step_of_age_weighs_less_than_a_grade(make):
    rated = {"grave": 5, "fresh": 4, "trifle": 3}

    def rate(text):
        return next(grade for name, grade in rated.items() if name in text)

    memory = make(citizen(), StubLLM(answer=grades(rate)))
    live(memory, seen("grave"))
    live(
        memory, ("observation", {"view": "fresh"}), ("observation", {"view": "trifle"})
    )
    assert _recalled(memory) == ["grave", "fresh", "trifle"]


@each("EpisodicMemory")
async def test_d36_hearing_something_does_not_block_the_event_loop(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(), llm)
    for number in range(5):
        memory.add_to_memory(*said(f"news {number}"))
    assert not llm.answered, "it waited for the model"
