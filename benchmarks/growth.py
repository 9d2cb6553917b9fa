"""Growth of a run: time, prompts and memory of a step at step 2,000 beside step 300.

    python -m benchmarks.growth [--memory NAME …] [--way plain recorded] [--json]

A village of six, without a language model: pairs talk and part, facts change, travellers
come and go. Of each memory, recorded and not recorded, the processor time of an
agent-step and the characters of a prompt, both in the 200 steps around 300 and before
2,000. An old village and a young one go on in turns, 25 steps each, so that whatever else
the machine does slows both; the ratio is the median of all turns. The time of the
garbage collector is taken out and shown beside it, as a share of all. Megabytes are
those by which the process grows in the first 1,800 steps.
"""

import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import mesa
import psutil
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import options, show
from mesa_memory import Services, close, configure, register_policy
from mesa_memory.layers import Reflection
from mesa_memory.memories.registry import OUR_MEMORIES

#: steps of a run; the windows that are compared, and the blocks in them
STEPS, WINDOW, BLOCK = 2_000, 200, 25
EARLY, LATE = range(201, 201 + WINDOW), range(STEPS - WINDOW + 1, STEPS + 1)
#: most times the time, and the prompt, of the early window
MOST_TIMES = 1.2
WAYS = ("plain", "recorded")
MEMORIES: dict[str, Callable[[Any], Any]] = OUR_MEMORIES | {
    "episodic, reflecting": lambda agent: OUR_MEMORIES["episodic"](
        agent, reflection=Reflection()
    )
}
PLACES = ("mill", "inn", "tower", "castle", "bridge", "harbour", "market")
TRADES = ("fisher", "miller", "baker", "smith", "guard", "weaver")
VILLAGERS = 6
#: steps of a pair's talk and the silence after it, of which they speak in the first
ROUND, SPOKEN = 5, 2
#: steps between two travellers, and those that one stays
ARRIVAL, STAY = 25, 10


class Villager(LLMAgent):
    """Sees, acts, and talks with the partner of the round or with a traveller."""

    def step(self) -> None:
        """One look at the memory, an observation, an action, and perhaps a word."""
        self.memory.process_step(pre_step=True)
        self.model.prompts.append(len(self.memory.get_prompt_ready()))
        now, me = int(self.model.steps), self.unique_id
        partner = self.model.partner_of(self)
        near = f"{type(partner).__name__} {partner.unique_id}"
        sight = {
            "self_state": {"agent_unique_id": me, "day": now},
            "local_state": {near: {"mood": "ok", "place": PLACES[now % 7]}},
        }
        self.memory.add_to_memory("observation", sight)
        if (now + me) % ROUND < SPOKEN:
            self.send_message(self.news(now), [partner])
        went = {"name": "walk", "response": f"went to the {PLACES[(now + me) % 7]}"}
        self.memory.add_to_memory("action", {"tool_calls": [went]})
        self.memory.process_step()

    def news(self, now: int) -> str:
        """A statement that ends an earlier one."""
        whom = f"Villager {(now + self.unique_id) % VILLAGERS + 1}"
        return (
            f"{whom} has moved to the {PLACES[(now * 3) % 7]}.",
            f"{whom} is a {TRADES[now // 7 % 6]}.",
            f"The price of bread is {now % 11 + 2} coins.",
            f"On day {now} the {PLACES[now % 7]} was closed!",
            f"The boat is at the {PLACES[(now * 5) % 7]}.",
        )[(now + self.unique_id) % 5]


class Village(mesa.Model):
    """Villagers who meet in turns, and a traveller every ``ARRIVAL`` steps."""

    def __init__(self, memory: Callable[[Any], Any], record: Path | None) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        self.memory, self.prompts = memory, list[int]()
        self.villagers = [self.comes() for _ in range(VILLAGERS)]
        self.traveller: Villager | None = None

    def comes(self) -> Villager:
        """A new agent, with a memory of its own."""
        agent = Villager(self, CoTReasoning, register_policy("quiet", lambda turn: ""))
        agent.memory = self.memory(agent)
        return agent

    def partner_of(self, agent: Villager) -> Villager:
        """The villager of this round; a traveller talks with one of them, who answers."""
        turn = int(self.steps) // ROUND
        if agent is self.traveller:
            return self.villagers[turn % VILLAGERS]
        place = self.villagers.index(agent)
        if self.traveller is not None and turn % VILLAGERS == place:
            return self.traveller
        # A round robin: one stays, the others move on by one.
        circle = [0, *[(at + turn) % (VILLAGERS - 1) + 1 for at in range(5)]]
        return self.villagers[circle[VILLAGERS - 1 - circle.index(place)]]

    def step(self) -> None:
        """All act; travellers come and go."""
        if self.steps % ARRIVAL == 0:
            self.traveller = self.comes()
        if self.traveller is not None and self.steps % ARRIVAL == STAY:
            self.traveller.remove()
            self.traveller = None
        self.agents.do("step")


class Collections:
    """Seconds of processor time that the garbage collector takes."""

    def __init__(self) -> None:
        self.seconds, self._began = 0.0, 0.0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        """Called by Python before and after each collection."""
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began


def block(model: Village, collected: Collections) -> tuple[float, float]:
    """Milliseconds of an agent-step, over one block; and the collector's share."""
    start, before = time.process_time(), collected.seconds
    for _ in range(BLOCK):
        model.step()
    Services.of(model).flush()
    whole = time.process_time() - start
    cleaned = collected.seconds - before
    return 1000 * (whole - cleaned) / BLOCK / VILLAGERS, cleaned / whole


def measure(name: str, folder: Path | None) -> dict[str, Any]:
    """An old village and a young one, which go on in turns, and their ratios."""
    collected, process, models = Collections(), psutil.Process(), list[Village]()
    megabytes = []
    for steps in (LATE, EARLY):
        before = process.memory_info().rss
        record = None if folder is None else folder / f"{steps[0]}.sqlite"
        models.append(Village(MEMORIES[name], record))
        while models[-1].steps < steps[0] - 1:
            models[-1].step()
        models[-1].prompts.clear()
        megabytes.append((process.memory_info().rss - before) / 1e6)
    gc.callbacks.append(collected)
    turns = range(WINDOW // BLOCK)
    blocks = [[block(model, collected) for model in models] for _ in turns]
    gc.callbacks.remove(collected)
    for model in models if folder else ():
        close(model)
    late, early = (statistics.mean(model.prompts) for model in models)
    return {
        "memory": name + (", recorded" if folder else ""),
        "ms_early": statistics.median(young for _, (young, _) in blocks),
        "ms_late": statistics.median(old for (old, _), _ in blocks),
        "ms_times": statistics.median(old / young for (old, _), (young, _) in blocks),
        "gc_percent_late": 100 * statistics.mean(share for (_, share), _ in blocks),
        "prompt_early": early,
        "prompt_late": late,
        "prompt_times": late / early,
        "mb_late": megabytes[0],
    }


def main() -> None:
    """Prints the table, and fails where a limit is crossed."""
    given = options(__doc__, memory=MEMORIES, way=WAYS)
    rows = []
    for name, way in product(given.memory, given.way):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(name, Path(folder) if way == "recorded" else None))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)  # the next take long
    show(f"Step {STEPS:,} beside step 300", rows, as_json=given.json)
    times = [max(row["ms_times"], row["prompt_times"]) for row in rows]
    assert max(times) <= MOST_TIMES, f"{max(times):.2f} times ({MOST_TIMES})"


if __name__ == "__main__":
    main()
