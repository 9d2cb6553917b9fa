"""What memories keep with a faultless summariser, and with a very small language model.

    python -m benchmarks.exam [--memory NAME …] [--seeds 5] [--steps 120] [--json]
    python -m benchmarks.exam --model gemma-3-270m --seeds 1 --steps 24
        [--python INTERPRETER]

The faultless summariser tells the events that it is given, and what it told before, word
for word; beyond the longest text that the class accepts, the oldest go first. It states
each message with a name as a fact. So what is lost is lost by the class. Grades, insights
and impressions are those of ``llm="offline"``. A small model answers all requests, and the
questions; its names are those of ``benchmarks.real_model``.
"""

import logging
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from benchmarks.real_model import LESS_REPETITION, SETTINGS
from benchmarks.small_model import SmallModel
from benchmarks.tables import options
from mesa_memory.experiments import Exam
from mesa_memory.experiments.exam.items import KINDS
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.memories.registry import OUR_MEMORIES
from mesa_memory.runs.claims.mentions import is_name, tokens
from mesa_memory.tasks.base import wording_of
from mesa_memory.tasks.consolidate import BULLET, told
from mesa_memory.tasks.offline.remembered import once

FAULTLESS = "faultless"
#: the nine classes but for ``layered``, of which ``generative_agent`` is one
MEMORIES = dict.fromkeys(
    [*list(OUR_MEMORIES)[: list(OUR_MEMORIES).index("layered")], "generative_agent"]
)
#: of a small model: longest reply, and retention intervals in steps
MAX_TOKENS, INTERVALS = 150, (1, 5, 20)
#: longest event in a summary
EVENT_CHARS = 1000


def retold(inputs: Any) -> dict[str, Any]:
    """All that was told before, and the new events, as far as there is room."""
    before = [item for item in inputs.get("summary", "").split(BULLET) if item]
    items = once(before, told(inputs, EVENT_CHARS), wording_of(inputs))
    while len(items) > 1 and len(BULLET.join(items)) > inputs["max_chars"]:
        del items[0]
    return {"summary": BULLET.join(items)}


def stated(inputs: Any) -> dict[str, Any]:
    """Each message as a fact about its speaker; useful if it names something."""
    facts = []
    for number, (speaker, _, text) in enumerate(inputs["said"], 1):
        said = tokens(text)
        useful = any(is_name(said, n) for n in range(len(said)))
        fact = {"attribute": "said", "value": text, "several": True, "useful": useful}
        who = {"subject": speaker or inputs["me"], "speaker": speaker}
        facts.append(fact | who | {"sources": [number]})
    return {"facts": facts}


class Faultless(OfflineLLM):
    """Loses and changes nothing that fits."""

    _answers: ClassVar = {
        **dict.fromkeys(("consolidate", "story", "chapter", "conversation"), retold),
        "extract": stated,
    }

    def __init__(self) -> None:
        """Keeps the answers of the class."""


def main() -> None:
    """Runs the exam from the command line."""
    given = options(
        __doc__,
        memory=MEMORIES,
        model=FAULTLESS,
        seeds=5,
        steps=120,
        kinds=KINDS,
        python=sys.executable,
        processes=1,
        verbose=False,
    )
    if not given.verbose:
        logging.getLogger("mesa_memory").setLevel(logging.ERROR)
    small = given.model != FAULTLESS
    with (
        TemporaryDirectory() as folder,
        SmallModel(given.python, given.model) if small else nullcontext() as server,
    ):
        llm: Any = {FAULTLESS: Faultless()}
        settings: dict[str, Any] = {"kinds": given.kinds}
        if server:
            os.environ |= {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "none"}
            llm = f"openai/{given.model}"
            settings |= SETTINGS | LESS_REPETITION.get(given.model, {})
            settings |= {"max_tokens": MAX_TOKENS, "intervals": INTERVALS}
            del settings["seed"]  # an exam has seeds of its own; the temperature is 0
        exam = Exam(
            given.memory,
            llm=llm,
            seeds=range(given.seeds),
            steps=given.steps,
            ask=small,
            store=Path(folder, "exam.sqlite"),
            **settings,
        )
        one = given.processes == 1
        result = exam.run("serial" if one else given.processes)
    print(f"{given.model}: {given.seeds} seeds x {given.steps} steps")
    print(result, result.losses.round(2).to_string(index=False), sep="\n\n")


if __name__ == "__main__":
    main()
