"""Recall of questions in Chinese, Japanese and Korean, on a small set written by hand.

Each of 20 statements of a language has a question in other words where the language
allows it. One agent remembers the statements of its language and is asked each question.

    python -m benchmarks.recall.east_asian
"""

import tomllib
from pathlib import Path

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, configure, register_policy

FILE = Path(__file__).with_suffix(".toml")


def places(pairs: list[list[str]]) -> list[int]:
    """For each question, the place at which its statement is recalled, from 1."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline", execution="blocking")
    quiet = register_policy("quiet", lambda turn: "Nothing to do.")
    agent = LLMAgent(model, CoTReasoning, quiet)
    agent.memory = memory = EpisodicMemory(agent)
    for said, _ in pairs:
        memory.add_to_memory("message", {"message": said, "sender": 2})
        memory.process_step()
        model.step()
    found = []
    for said, question in pairs:
        ranked = memory.recall(question, k=len(pairs))
        texts = [each.record.content["message"] for each in ranked]
        found.append(texts.index(said) + 1 if said in texts else len(pairs) + 1)
    return found


def main() -> None:
    """Prints how many statements are recalled first, and among the first five."""
    for name, text in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        pairs = [line.split("|") for line in text.strip().splitlines()]
        found = places(pairs)
        first, five = sum(p == 1 for p in found), sum(p <= 5 for p in found)
        print(f"{name}: {len(pairs)} questions, first {first}, among five {five}")


if __name__ == "__main__":
    main()
