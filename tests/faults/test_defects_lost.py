"""Mesa-LLM's defects D1-D17: memories that are lost or falsified, also by steps that fail."""

import asyncio
import re
import threading
from contextlib import suppress

from mesa_llm import step_agents_parallel_sync

from tests.support.models import (
    STEPPED,
    Citizen,
    StubLLM,
    Town,
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


# -- steps that fail, overlap or do not happen ----------------------------------------


@each(*STEPPED)
def test_d07_a_step_that_raises_loses_nothing(make):
    llm, agent = StubLLM(), citizen()
    memory = make(agent, llm)

    def fail(agent):
        raise ZeroDivisionError

    memory.add_to_memory(*said("help me"))
    for doing in (fail, seen, seen):
        agent.doing = doing
        agent.model.step()
        with suppress(ZeroDivisionError):
            agent.step()
    assert "help me" in told(memory, llm)
    assert "Step None" not in told(memory, llm)


@each(*STEPPED)
def test_d08_plans_made_outside_the_agents_step_are_remembered(make):
    llm, agent = StubLLM(), citizen()
    memory = make(agent, llm)
    agent.llm = StubLLM(answer=lambda _: f"plan-{agent.model.steps}.")
    for _ in range(10):
        agent.model.step()
        agent.reasoning.plan(prompt="What now?")
    assert "plan-9." in told(memory, llm)
    assert "No recent memory" not in memory.get_prompt_ready()


@each("ShortTermMemory", "STLTMemory")
def test_d09_an_agent_that_never_steps_has_a_history(make):
    memory = make(citizen(), StubLLM())
    _send_1000(memory)
    assert "word 999 " in memory.get_communication_history()


@each(*STEPPED)
def test_d09_the_first_step_of_an_agent_that_never_stepped_has_a_prompt_of_bounded_size(
    make,
):
    llm = StubLLM()
    memory = make(citizen(), llm)
    _send_1000(memory)
    live(memory)
    texts = [memory.get_prompt_ready(), *llm.answered]
    assert max(map(len, texts)) < 35_000


def _send_1000(memory):
    for number in range(1000):
        if number % 10 == 0:
            memory.agent.model.step()
        memory.add_to_memory(*said(f"word {number} {'x' * 40}"))


class _Parent(Citizen):
    def step(self):
        self.memory.add_to_memory(*said("in the middle"))


class _Child(_Parent):
    def step(self):
        super().step()
        self.memory.add_to_memory(*said("at the end"))


@each(*STEPPED)
def test_d10_a_step_that_calls_its_parents_step_loses_nothing(make):
    llm, agent = StubLLM(), _Child(Town())
    memory = make(agent, llm)
    memory.add_to_memory(*said("before"))
    for _ in range(2):
        agent.model.step()
        agent.step()
    for part in ("before", "in the middle", "at the end"):
        assert part in told(memory, llm)
    assert "Step None" not in told(memory, llm)


class _Walker(Citizen):
    async def astep(self):
        await self.doing(self)


@each(*STEPPED)
def test_d11_a_step_cancelled_by_another_agents_error_loses_nothing(make):
    async def fail(agent):
        raise ZeroDivisionError

    async def rest(agent):
        await asyncio.sleep(0)

    async def wait(agent):
        await asyncio.Event().wait()

    llm, town = StubLLM(), Town()
    culprit, other = _Walker(town), _Walker(town)
    make(culprit, llm)
    memory = make(other, llm)
    memory.add_to_memory(*said("wait for me"))
    for culprit.doing, other.doing in ((fail, wait), (rest, rest)):
        town.step()
        with suppress(ZeroDivisionError):
            step_agents_parallel_sync([culprit, other])
    assert "wait for me" in told(memory, llm)
    assert "Step None" not in told(memory, llm)


class _Overheard(Town):
    """Another thread speaks up whenever the stepping one looks at the clock."""

    speak = None

    @property
    def steps(self):
        if self.speak and threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=self.speak)
            other.start()
            other.join(timeout=600)
        return self._steps

    @steps.setter
    def steps(self, steps):
        self._steps = steps


@each("ShortTermMemory", "STLTMemory")
def test_d12_events_that_another_thread_adds_while_a_step_ends_arrive(make):
    town = _Overheard()
    memory = make(Citizen(town), StubLLM())
    spoken = []

    def speak():
        spoken.append(f"word-{len(spoken)}.")
        memory.add_to_memory(*said(spoken[-1]))

    town.speak = speak
    live(memory, seen("dawn"))
    town.speak = None
    live(memory)
    live(memory)
    assert spoken != []
    assert [word for word in spoken if word not in memory.get_prompt_ready()] == []


@each("STLTMemory")
async def test_d13_overlapping_consolidations_lose_no_batch(make):
    def repeat(prompt):
        return " ".join(sorted(set(re.findall(r"sight-\d", prompt))))

    llm = StubLLM(answer=repeat, turns=50)
    memory = make(citizen(), llm, short_term_capacity=1, consolidation_capacity=1)
    endings = []
    for number in range(1, 5):
        memory.agent.model.step()
        await memory.aprocess_step(pre_step=True)
        memory.add_to_memory(*seen(f"sight-{number}"))
        endings.append(asyncio.create_task(memory.aprocess_step()))
        await asyncio.sleep(0)
    await asyncio.gather(*endings)
    assert memory.format_long_term() == "sight-1 sight-2"
