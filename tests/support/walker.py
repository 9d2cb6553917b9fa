"""A model of one agent with three events and one prompt a step, and the time of its steps.

As a program it measures for ``benchmarks.step``: one line of JSON, the arguments of
``seconds``, is answered with one line, and nothing is needed of this project but
``mesa_memory``. So another checkout's interpreter can run it, too.
"""

import gc
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from mesa_llm.memory.st_memory import ShortTermMemory as TheirShortTerm
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import configure, register_policy

#: steps before one is measured
WARM_UP_STEPS = 6


class Walker(LLMAgent):
    """Sees somebody, hears something, walks, and reads its memory."""

    def step(self) -> None:
        """Three events, one prompt."""
        add, now = self.memory.add_to_memory, self.model.steps
        sight = {"local_state": {"Agent 3": "met"}, "self_state": {"mood": "calm"}}
        add("observation", sight)
        text = f"The bridge is broken {now}, take the detour by the mill."
        said = {"message": text, "sender": 2, "recipients": [self.unique_id]}
        add("message", said)
        deed = {"name": "move_one_step", "response": "moved north"}
        add("action", {"tool_calls": [deed]})
        self.memory.get_prompt_ready()


class Walk(mesa.Model):
    """A walker's model, after its first steps.

    Args:
        memory: makes the walker's memory.
        record: file of the recording.
    """

    def __init__(self, memory: Callable[[Any], Any], record: str | None = None) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", execution="blocking", record=record)
        name = register_policy("walker", lambda turn: "ok")
        self.walker = Walker(self, CoTReasoning, name)
        self.walker.memory = memory(self.walker)
        for _ in range(WARM_UP_STEPS):
            self.step()

    def step(self) -> None:
        """The walker's step."""
        self.agents.do("step")


class _Instant:
    """Mesa-LLM's llm object, which answers at once."""

    system_prompt = ""

    def generate(self, *_: Any, **__: Any) -> Any:
        """A grade; as good as any summary."""
        message = SimpleNamespace(content='{"grade": 3}')
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


def _asking(cls: type) -> Callable[[Any], Any]:
    """Makes a memory of Mesa-LLM whose requests are answered at once."""

    def make(agent: Any) -> Any:
        memory = cls(agent, llm_model="openai/test", display=False)
        memory.llm = _Instant()
        return memory

    return make


#: Mesa-LLM's memories, by the names of ours
PEERS: dict[str, Callable[[Any], Any]] = {
    "ShortTermMemory": lambda agent: TheirShortTerm(agent, display=False),
    "STLTMemory": _asking(TheirSTLT),
    "EpisodicMemory": _asking(TheirEpisodic),
}


def seconds(
    memory: str, steps: int, peer: bool = False, recorded: bool = False
) -> float:
    """Processor time of one agent-step, of all threads.

    Args:
        memory: the name of one of our classes.
        steps: over which it is measured.
        peer: measure Mesa-LLM's class of this name.
        recorded: record the run, and write its rows.
    """
    make = PEERS[memory] if peer else getattr(mesa_memory, memory)
    with tempfile.TemporaryDirectory() as folder:
        model = Walk(make, str(Path(folder) / "run.sqlite") if recorded else None)
        services = mesa_memory.Services.of(model)
        services.flush()
        gc.collect()
        started = time.process_time()
        for _ in range(steps):
            model.step()
        services.flush()
        taken = time.process_time() - started
        if recorded:
            services.recorder.close()
    return taken / steps


def main() -> None:
    """Measures for a parent process, until it has no more to ask."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # that a recorded run needs its memory again
    for line in sys.stdin:
        print(json.dumps(seconds(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
