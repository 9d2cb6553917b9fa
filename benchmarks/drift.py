"""What a running summary still says of what it was told: 50 planted facts, 20 summaries.

    python -m benchmarks.drift [--model NAME …] [--refresh-every N …] [--python PATH] [--json]

An agent hears 50 facts, each of a name, a thing and a number, in 20 steps, among small
talk; its ``LongTermMemory`` summarises each step. A fact can be answered if one sentence
of the summary has all three. Shown is the share of all facts after the 19th and the 20th
summary, and the mean, over the 20 summaries, of the share of those told by then: without
going back to the events, and with every 10th or 5th summary made from them anew.

Models: ``offline``; ``forgetful``, which loses each sentence with a chance of one in
twenty whenever it writes a summary again, and has no other fault; and ``small``,
SmolLM2-135M-Instruct (dependency group ``local``; ``--python`` is an interpreter that has
it).
"""

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.small_model import NAME, SmallModel
from benchmarks.tables import show
from mesa_memory import LongTermMemory, MesaMemoryError, Services, configure
from mesa_memory.llm import LLMRequest, Reply

KINDS = ("offline", "forgetful", "small")
FACTS, STEPS = 50, 20
NAMES = [
    "Anna",
    "Boris",
    "Clara",
    "David",
    "Elena",
    "Felix",
    "Greta",
    "Henry",
    "Irma",
    "Jonas",
]
THINGS = ["goats", "coins", "bottles", "letters", "chairs"]
TALK = (
    "Good morning, it rains again.",
    "How are you today?",
    "I slept well, thank you.",
    "The soup was good.",
)
REFRESHES = (None, 10, 5)
#: of the small model: what it is asked with
SETTINGS: dict[str, Any] = {
    "concurrency": 1, "temperature": 0.0, "seed": 1, "max_tokens": 700,
    "timeout": 300, "deadline": 900, "attempts": 2, "execution": "blocking",
}  # fmt: skip
#: longest summary of the small model; it cannot write a long one
SMALL_CHARS = 1600


class Forgetful:
    """Writes the old summary and the new lines, and loses some sentences of both."""

    instant = True
    chance = 0.05

    def __init__(self) -> None:
        self._random = random.Random(7)

    def complete(self, request: LLMRequest) -> Reply:
        """The summary, with the newest sentences that fit."""
        inputs = request.inputs
        old = [text for text in inputs["summary"].split(" • ") if text]
        new = [line.partition(" says: ")[2] for _, line in inputs["lines"]]
        kept, room = [], inputs["max_chars"]
        for text in reversed(list(dict.fromkeys([*old, *new]))):
            room -= len(text) + 3
            if room > 0 and self._random.random() >= self.chance:
                kept.append(text)
        said = json.dumps({"summary": " • ".join(reversed(kept))})
        tokens = sum(len(m["content"]) for m in request.messages()) // 4
        return Reply(said, "forgetful", tokens, len(said) // 4, cost=0.0)


def facts() -> list[tuple[str, str, str]]:
    """Name, thing and number of each fact."""
    pairs = [(name, thing) for thing in THINGS for name in NAMES]
    return [
        (name, thing, str(13 + 7 * number))
        for number, (name, thing) in enumerate(pairs[:FACTS])
    ]


def answerable(summary: str, fact: tuple[str, str, str]) -> bool:
    """True if a sentence of the summary has all parts of the fact."""
    sentences = re.split(r"[.!?;•\n]", summary)
    return any(
        all(re.search(rf"\b{part}\b", s, re.IGNORECASE) for part in fact)
        for s in sentences
    )


def lived(services: dict[str, Any], memory: dict[str, Any]) -> dict[str, Any]:
    """The figures of one agent's life.

    Args:
        services: for ``configure``.
        memory: for ``LongTermMemory``.
    """
    model = mesa.Model(rng=1)
    configure(model, **services)
    agent = LLMAgent(model, CoTReasoning, "openai/none")
    chars = memory.pop("summary_chars", None)
    held = agent.memory = LongTermMemory(agent, **memory)
    if chars:
        held.summary_chars = chars
    planted, shares, ended = facts(), [], "yes"
    for step in range(STEPS):
        model.step()
        told = planted[: (step + 1) * FACTS // STEPS]
        for name, thing, number in told[step * FACTS // STEPS :]:
            hear(held, f"{name} has {number} {thing}.")
        for place in range(3):
            hear(held, TALK[(step + place) % len(TALK)])
        try:
            held.process_step()
            Services.of(model).flush()
        except MesaMemoryError as error:
            ended = f"step {step + 1}: {type(error).__name__}"
            print(error, file=sys.stderr)
            break
        found = [answerable(held.long_term_memory, fact) for fact in planted]
        shares.append((sum(found) / FACTS, sum(found) / len(told)))
    used = Services.of(model).ledger.total
    after = dict(enumerate((share for share, _ in shares), 1))
    return {
        "ended": ended,
        "after 19": after.get(19, float("nan")),
        "after 20": after.get(20, float("nan")),
        "mean": sum(share for _, share in shares) / max(1, len(shares)),
        "calls": used.calls,
        "prompt tokens": used.prompt_tokens,
    }


def hear(memory: LongTermMemory, text: str) -> None:
    """Somebody says it."""
    memory.add_to_memory("message", {"message": text, "sender": 9})


@contextmanager
def asked(
    name: str, python: str, api_base: str | None
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What a model needs: for ``configure``, and for the memory."""
    if name != "small":
        yield {"llm": "offline" if name == "offline" else Forgetful()}, {}
        return
    whom = {"llm_model": f"openai/{NAME}", "summary_chars": SMALL_CHARS}
    if api_base:
        yield SETTINGS, whom | {"api_base": api_base}
        return
    with SmallModel(python) as server:
        yield SETTINGS, whom | {"api_base": server.base}


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", choices=KINDS)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--api-base", help="of a server of the small model that runs")
    parser.add_argument(
        "--refresh-every", action="append", type=int, help="in the place of the usual"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    for name in given.model or ("offline", "forgetful"):
        for every in given.refresh_every or REFRESHES:
            with asked(name, given.python, given.api_base) as (services, memory):
                row = lived(services, memory | {"refresh_every": every})
            rows.append({"model": name, "refresh_every": every or "never"} | row)
    if given.json:
        print(json.dumps(rows))
    else:
        show("Facts that a summary still tells", rows)


if __name__ == "__main__":
    main()
