"""An agent answers a researcher's question from its memory."""

from typing import Any

import mesa_memory.tasks.themes as themes
from mesa_memory.tasks.base import Inputs, Task, bulleted


def prompt(inputs: Inputs) -> str:
    """Asks the ``question`` of ``memory`` (its text) and ``recalled`` (lines)."""
    recalled = inputs["recalled"]
    found = ["", "What the question brings to mind:", *bulleted(recalled)]
    return "\n".join(
        [
            "The agent's memory:",
            inputs["memory"].strip(),
            *(found if recalled else ()),
            "",
            f"Question: {inputs['question']}",
            "Answer in plain text, in at most 100 words.",
        ]
    )


def offline(inputs: Inputs) -> Any:
    """The line of the memory that shares the most words with the question."""
    lines = [*inputs["memory"].splitlines(), *inputs["recalled"]]
    return themes.answer(inputs["question"], lines)


#: inputs: ``question``; ``memory``, what the agent is shown of it; ``recalled``, what
#: the question brings to mind
PROBE = Task(
    "probe",
    None,
    system=(
        "You answer a question about one agent in a simulation as that agent, from its "
        "memory alone. Say that you do not know what is not there."
    ),
    prompt=prompt,
    offline=offline,
)
