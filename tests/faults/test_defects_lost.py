"""Mesa-LLM's defects D1-D6 and D14-D17: memories that are lost or falsified."""

import asyncio
import threading

from tests.support.models import (
    STEPPED,
    StubLLM,
    citizen,
    each,
    grades,
    live,
    said,
    seen,
    told,
)


class _Held(StubLLM):
    """Answers when it may."""

    def __init__(self):
        super().__init__()
        self.began, self.may = threading.Event(), threading.Event()

    async def agenerate(self, *prompt, **given):
        self.began.set()
        while not self.may.is_set():
            await asyncio.sleep(0.001)
        return await super().agenerate(*prompt, **given)


@each("LongTermMemory")
async def test_d01_events_that_arrive_during_a_consolidation_are_kept(make):
    llm = _Held()
    memory = make(citizen(), llm)
    memory.agent.model.step()
    await memory.aprocess_step(pre_step=True)
    memory.add_to_memory(*seen("dawn"))
    ending = asyncio.create_task(memory.aprocess_step())
    while not llm.began.is_set():
        await asyncio.sleep(0.001)
    await memory.aadd_to_memory(*said("too late?"))
    llm.may.set()
    await ending
    memory.agent.model.step()
    await memory.aprocess_step(pre_step=True)
    await memory.aprocess_step()
    assert "too late?" in told(memory, llm)


@each(*STEPPED)
def test_d05_the_newest_observation_of_a_step_counts(make):
    memory = make(citizen(), StubLLM())
    memory.agent.model.step()
    memory.add_to_memory(*seen("old"))
    memory.process_step(pre_step=True)
    memory.add_to_memory(*seen("new"))
    memory.process_step()
    by_name = {"LongTermMemory": lambda: memory.buffer}
    entry = by_name.get(make.name, lambda: memory.short_term_memory[-1])()
    assert entry.content["observation"] == {"view": "new"}


@each(*STEPPED)
def test_d06_all_plans_of_a_step_are_kept(make):
    llm = StubLLM()
    memory = make(citizen(), llm)
    first, second = ({"content": text} for text in ("go north", "buy bread"))
    live(memory, ("plan", first), ("plan", second))
    assert "go north" in told(memory, llm)
    assert "buy bread" in told(memory, llm)


@each("EpisodicMemory")
def test_d15_an_important_event_outlives_many_unimportant_ones(make):
    llm = StubLLM(answer=grades(lambda text: 5 if "treasure" in text else 1))
    memory = make(citizen(), llm, max_capacity=50)
    live(memory, seen("a treasure under the oak"))
    for number in range(59):
        live(memory, seen(f"rain {number}"))
    assert "treasure" in str([entry.content for entry in memory.memory_entries])
    assert len(memory.memory_entries) == 50


@each(*STEPPED)
def test_d16_the_history_does_not_forget_with_the_window(make):
    memory = make(citizen(), StubLLM())
    for number in range(30):
        live(memory, said(f"word-{number}."))
    history = memory.get_communication_history()
    assert [n for n in range(30) if f"word-{n}." not in history] == []


@each("EpisodicMemory")
def test_d17_a_field_named_importance_stays_the_users_own(make):
    memory = make(citizen(), StubLLM(answer=grades(lambda _: 3)))
    live(memory, ("observation", {"importance": "mine"}))
    entry = next(iter(memory.memory_entries))
    assert entry.content["observation"]["importance"] == "mine"
