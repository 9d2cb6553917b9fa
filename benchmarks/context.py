"""How long a prompt gets as a story goes on, in 50 steps.

    python -m benchmarks.context [--plot FILE.png] [--json]

Tokens are those of gpt-4o's tokenizer. Each step has three messages of about 100 words.
What a model would write is written by rule, for Mesa-LLM's memories too.
"""

import os
import random
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # nobody is asked

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.episodic_memory import EpisodicMemory
from mesa_llm.memory.lt_memory import LongTermMemory
from mesa_llm.memory.st_lt_memory import STLTMemory
from mesa_llm.memory.st_memory import ShortTermMemory
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import options, show
from mesa_memory import LayeredMemory, configure
from mesa_memory.llm.tokens import count_tokens

MODEL = "openai/gpt-4o"
STEPS = 50
#: steps in the short story that a long one is compared with
SHORT = 5
#: a long story's prompt may have so many times the tokens of a short one's
LIMIT = 1.2
PLACES = ("mill", "river", "market", "tower", "bridge", "inn", "forest", "harbour")
DEEDS = ("repaired", "sold", "lost", "found", "painted", "guarded", "borrowed")


class Writer:
    """Takes the place of the language model of one of Mesa-LLM's memories."""

    system_prompt = ""

    def generate(self, prompt: Any = None, *_: Any, **__: Any) -> Any:
        """A summary of 60 words, or a grade."""
        graded = "grade" in str(prompt)
        text = '{"grade": 3}' if graded else "So it went on. " * 15
        message = SimpleNamespace(content=text, role="assistant", tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    async def agenerate(self, prompt: Any = None, *_: Any, **__: Any) -> Any:
        """``generate``."""
        return self.generate(prompt)


def theirs(cls: Any, **given: Any) -> Callable[[Any], Any]:
    """Makes one of Mesa-LLM's memories."""

    def make(agent: Any) -> Any:
        memory = cls(agent, display=False, **given)
        if cls is not ShortTermMemory:
            memory.llm = Writer()
        return memory

    return make


MEMORIES: dict[str, Callable[[Any], Any]] = {
    "Mesa-LLM ShortTermMemory": theirs(ShortTermMemory),
    "Mesa-LLM STLTMemory": theirs(STLTMemory, llm_model=MODEL),
    "Mesa-LLM LongTermMemory": theirs(LongTermMemory, llm_model=MODEL),
    "Mesa-LLM EpisodicMemory": theirs(EpisodicMemory, llm_model=MODEL),
    "story_engine": LayeredMemory.story_engine,
    "session": LayeredMemory.session,
}


def news(dice: random.Random) -> str:
    """Something that happened, told in about 100 words."""
    said: list[str] = []
    while len(said) < 100:
        deed, place = dice.choice(DEEDS), dice.choice(PLACES)
        count, left = dice.randrange(2, 90), dice.randrange(2, 90)
        said += f"Near the {place} I {deed} {count} things and kept {left}.".split()
    return " ".join(said)


def curve(make: Callable[[Any], Any], steps: int = STEPS) -> list[int]:
    """Tokens of the prompt after each step."""
    model, dice, sizes = mesa.Model(rng=1), random.Random(3), []
    configure(model, llm="offline")
    agent = LLMAgent(model, CoTReasoning, MODEL)
    agent.memory = make(agent)
    for _ in range(steps):
        model.step()
        agent.memory.process_step(pre_step=True)
        for sender in (7, 8, 9):
            said = {"message": news(dice), "sender": sender}
            agent.memory.add_to_memory("message", said)
        agent.memory.process_step()
        # All that a memory puts into a prompt of Mesa-LLM's ReAct.
        parts = (
            agent.memory.get_prompt_ready(),
            agent.memory.get_communication_history(),
        )
        sizes.append(count_tokens("\n".join(parts), MODEL))
    return sizes


def plot(curves: dict[str, list[int]], file: str) -> None:
    """A line for each memory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.subplots()
    styles = ("--", "-.", ":", (0, (7, 1.5)))
    for number, (name, sizes) in enumerate(curves.items()):
        own = not name.startswith("Mesa-LLM")
        style = "-" if own else styles[number % len(styles)]
        axes.plot(
            range(1, len(sizes) + 1), sizes, ls=style, lw=3 if own else 1.8, label=name
        )
    axes.set(
        xlabel="Step", ylabel="Tokens of the prompt", ylim=(0, None), xlim=(1, None)
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=160)


def main() -> None:
    """Prints the table; ends with 1 where a story's prompt grows too long."""
    given = options(__doc__, plot="")
    curves = {name: curve(make) for name, make in MEMORIES.items()}
    rows = [
        {"memory": name}
        | {f"step_{step}": sizes[step - 1] for step in (1, SHORT, 10, 25, STEPS)}
        | {"times": sizes[-1] / sizes[SHORT - 1]}
        for name, sizes in curves.items()
    ]
    show("Tokens of the prompt", rows, as_json=given.json)
    if given.plot:
        plot(curves, given.plot)
    story = curves["story_engine"]
    sys.exit(story[-1] > LIMIT * story[SHORT - 1] or max(story) > 2000)


if __name__ == "__main__":
    main()
