"""A model whose agents all ask the same in every step, and a server that answers by chance."""

import os
import random
import threading

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import arrange_prompts, configure
from tests.support.openai_server import OpenAIServer

#: how often the server says C
CHANCE = 0.6


class Chooser(LLMAgent):
    """Asks what to do, and notes the answer."""

    def choose(self):
        for _ in range(self.model.asks):
            reply = self.llm.generate("Cooperate or defect? Answer C or D.")
            self.model.choices.append(reply.choices[0].message.content)


class Choice(mesa.Model):
    """Agents that choose.

    Args:
        base: address of the server.
        cache: file of cached answers.
        n: agents.
        asks: requests of each in a step, all the same.
        arm: changes nothing that is asked.
    """

    def __init__(self, base, cache=None, n=2, asks=1, arm="a", rng=None):
        super().__init__(rng=rng)
        configure(self, cache=cache)
        self.asks, self.choices = asks, []
        for _ in range(n):
            arrange_prompts(Chooser(self, CoTReasoning, "openai/test", api_base=base))

    def step(self):
        self.agents.do("choose")


class SeededChoice(Choice):
    """The same for a study that gives the cache itself, and another seed argument."""

    def __init__(self, base, n=2, asks=1, arm="a", seed=None):
        super().__init__(base, n=n, asks=asks, arm=arm, rng=seed)


def choices(model):
    """All answers, in order."""
    return "".join(model.choices)


def chance_server(seed=0):
    """A server that answers C with chance ``CHANCE``, and D else."""
    source, lock = random.Random(seed), threading.Lock()

    def answer(_):
        with lock:
            return "C" if source.random() < CHANCE else "D"

    return OpenAIServer(answer)
