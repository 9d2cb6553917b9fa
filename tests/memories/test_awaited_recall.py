"""With an embedder over the network, a run in an event loop recalls what any other does."""

import mesa_memory  # noqa: F401, I001 - first, as README says

import asyncio
import sqlite3
from functools import partial

import mesa
import numpy as np
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.parallel_stepping import step_agents_parallel_sync
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, Services, configure, register_policy
from mesa_memory.embedders.litellm import LiteLLMEmbedder
from tests.support.embeddings import EmbeddingsServer, refused
from tests.support.models import hear
from tests.support.single import memory_of, settle

DAYS = 5
NEWS = (
    "The mill burns at night.", "A bridge is mended.", "Bread is cheap today.",
    "A wolf was seen now.", "The well is dry.", "Somebody plays the violin.",
)  # fmt: skip
BY_WORDS = "by words alone: the query was not embedded"


@pytest.fixture
def server():
    with EmbeddingsServer() as server:
        yield server


class Settler(LLMAgent):
    """Sees something, thinks by Mesa-LLM's own reasoning, and remembers a question."""

    def look(self):
        return {"seen": self.internal_state[0], "day": f"step {self.model.steps}"}

    def step(self):
        self.memory.add_to_memory("observation", self.look())
        self.reasoning.plan(prompt="Live well.", obs=self.generate_obs())
        self.model.shown[self.unique_id].append(self.memory.get_prompt_ready())
        self.keep(self.memory.recall("What is on fire?", k=4))

    def keep(self, found):
        parts = [(r.record.id, r.rank, round(r.score, 6), r.parts) for r in found]
        self.model.recalled[self.unique_id].append(parts)


class Awaiting(Settler):
    """The same with Mesa-LLM's asynchronous methods."""

    async def astep(self):
        await self.memory.aadd_to_memory("observation", self.look())
        obs = await self.agenerate_obs()
        await self.reasoning.aplan(prompt="Live well.", obs=obs)
        self.model.shown[self.unique_id].append(self.memory.get_prompt_ready())
        self.keep(await self.memory.arecall("What is on fire?", k=4))


# Observations name the class of those in sight.
Awaiting.__name__ = "Settler"


class Colony(mesa.Model):
    def __init__(self, kind, base, n=4, reasoning=CoTReasoning, record=None, rng=None):
        super().__init__(rng=rng)
        embedder = LiteLLMEmbedder(
            "openai/test", api_base=base, dim=8, attempts=1, backoff=0.0
        )
        configure(self, llm="offline", embedder=embedder, record=record)
        self.shown, self.recalled = {}, {}
        mute = register_policy("mute", lambda turn: "")
        memory = partial(EpisodicMemory, considered_entries=3)
        for agent in settle(self, memory, n, kind, mute, reasoning, vision=-1):
            self.shown[agent.unique_id], self.recalled[agent.unique_id] = [], []

    def morning(self):
        for agent in self.agents:
            news = NEWS[(agent.unique_id + 2 * self.steps) % len(NEWS)]
            agent.internal_state = [news]

    def step(self):
        self.morning()
        if hasattr(type(self.agents[0]), "parallel"):
            step_agents_parallel_sync(list(self.agents))
        elif type(self.agents[0]).astep is not LLMAgent.astep:
            asyncio.run(self.together())
        else:
            self.agents.do("step")
        for agent in self.agents:  # the evening, when everybody speaks
            friend = self.agents[(agent.unique_id + self.steps) % len(self.agents)]
            agent.send_message(f"I saw: {agent.internal_state}", [friend])

    async def together(self):
        await asyncio.gather(*(agent.astep() for agent in self.agents))


def lived(kind, base, days=DAYS, **given):
    colony = Colony(kind, base, rng=1, **given)
    for _ in range(days):
        colony.step()
    Services.of(colony).flush()
    return colony


def recorded(path):
    """Records, recalls and prompts, without what only says when they were written."""
    with sqlite3.connect(path) as file:
        records = "select id, step, content, importance from records order by id"
        recalls = (
            "select agent, step, purpose, query, scoring, candidates from recalls "
            "order by agent, step, purpose, query, scoring, candidates"
        )
        prompts = "select agent, step, section, text from prompts order by 1, 2, 3, 4"
        return [file.execute(rows).fetchall() for rows in (records, recalls, prompts)]


def remembered(colony):
    return {
        agent.unique_id: [
            (r.id, repr(r.content), r.importance)
            for r in agent.memory.current_records()
        ]
        for agent in colony.agents
    }


def test_a_run_in_an_event_loop_recalls_shows_and_records_the_same(server, tmp_path):
    runs = []
    for kind in (Settler, Awaiting):
        file = tmp_path / f"{len(runs)}.sqlite"
        colony = lived(kind, server.base, record=str(file))
        Services.of(colony).recorder.close()
        runs.append((colony, recorded(file)))
    (one, its), (other, theirs) = runs
    assert one.recalled == other.recalled
    assert one.shown == other.shown
    assert remembered(one) == remembered(other)
    assert its == theirs
    assert all(len(rows) > DAYS for rows in its)
    assert any(part["dense"] for found in one.recalled[1] for *_, part in found)


class Hearing(LLMAgent):
    """Is told something while it waits for what it sees."""

    async def astep(self):
        await asyncio.gather(self.look(), self.be_told())

    async def look(self):
        seen = {"seen": NEWS[self.model.steps % len(NEWS)]}
        await self.memory.aadd_to_memory("observation", seen)
        self.model.shown[self.unique_id].append(self.memory.get_prompt_ready())

    async def be_told(self):
        await asyncio.sleep(0)
        message = {"message": "A wolf is at the well.", "sender": 7}
        self.memory.add_to_memory("message", message)


def test_what_is_said_while_an_observation_is_embedded_counts_too(server, caplog):
    colony = lived(Hearing, server.base, n=1)
    asked = [text for body in server.bodies for text in body["input"]]
    assert f"seen: {NEWS[1]}" in " ".join(asked)
    for day in range(1, DAYS + 1):
        both = [t for t in asked if NEWS[day % 6] in t and "wolf is at the well" in t]
        assert both, day
    assert len(colony.shown[1]) == DAYS
    assert not caplog.records


class Sudden(LLMAgent):
    """Adds without awaiting, inside its own astep."""

    async def astep(self):
        seen = {"seen": NEWS[(self.unique_id + self.model.steps) % len(NEWS)]}
        self.memory.add_to_memory("observation", seen)
        self.model.shown[self.unique_id].append(self.memory.get_prompt_ready())


def test_what_nobody_awaited_is_embedded_all_the_same(server, tmp_path):
    file = tmp_path / "run.sqlite"
    colony = lived(Sudden, server.base, record=str(file))
    Services.of(colony).recorder.close()
    _, recalls, _ = recorded(file)
    assert recalls and not any(BY_WORDS in scoring for *_, scoring, _ in recalls)


def test_a_query_in_an_event_loop_is_embedded_and_awaited_if_asked_so(server, caplog):
    colony = lived(Settler, server.base)
    agent = colony.agents[0]
    outside = agent.memory.recall("Is there music?", k=3)

    async def both():
        inside = agent.memory.recall("Is there any music?", k=3)
        return inside, await agent.memory.arecall("Is there music?", k=3)

    inside, awaited = asyncio.run(both())
    assert [r.parts for r in awaited] == [r.parts for r in outside]
    assert any(r.parts["dense"] for r in inside)
    assert not caplog.records


def test_what_many_see_at_the_same_moment_is_embedded_together(server):
    lived(Awaiting, server.base, n=20, days=3)
    texts = [text for body in server.bodies for text in body["input"]]
    assert len(texts) >= 3 * 20
    assert len(server.bodies) < len(texts) / 2


def test_an_outage_is_not_waited_for_again_in_the_loop_and_is_told(tmp_path):
    def down(number, body, rows):
        return (
            refused(503) if any("unicorn" in text for text in body["input"]) else None
        )

    class Watching(LLMAgent):
        async def astep(self):
            seen = "a unicorn" if self.model.steps == 3 else NEWS[self.model.steps]
            await self.memory.aadd_to_memory("observation", {"seen": seen})
            before = len(self.model.server.bodies)
            self.memory.get_prompt_ready()
            assert len(self.model.server.bodies) == before
            await self.memory.arecall(k=2)
            self.model.tables.append(self.memory.explain(k=2))

    with EmbeddingsServer(misbehave=down) as server:
        colony = Colony(Watching, server.base, n=1, rng=1)
        colony.server, colony.tables = server, []
        for _ in range(3):
            colony.step()
        told = [BY_WORDS in table.caption for table in colony.tables]
        assert told[1:] == [False, True]


class Looping:
    """An embedder whose client needs an event loop of its own."""

    name, dim = "remote:looping", 8

    def embed(self, texts):
        return asyncio.run(self._embed(texts))

    async def _embed(self, texts):
        rows = [[1 + text.count(c) for c in "abcdefgh"] for text in texts]
        return np.array(rows, dtype=np.float32)


def test_an_embedder_with_a_loop_of_its_own_is_asked_in_a_thread_without_one():
    memory = memory_of(EpisodicMemory, embedder=Looping(), execution="deferred")
    hear(memory, (2, "The mill burns."))

    async def ask():
        return memory.recall("fire"), await memory.arecall("fire")

    here, awaited = asyncio.run(ask())
    assert here == awaited == memory.recall("fire")
    assert here[0].parts["dense"] > 0
