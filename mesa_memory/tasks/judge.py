"""Decides if a new statement is about the same thing as a known fact.

The model is asked only if the names do not tell. Code decides which value is newer: a
model that is asked for it is often wrong (arXiv 2606.01435).
"""

from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from mesa_memory.core.text.replies import Unusable
from mesa_memory.tasks.base import Inputs, Task, numbered
from mesa_memory.tasks.by_number import ListReply
from mesa_memory.tasks.offline.attributes import covers

#: a new fact, another value of a known one, its end, or nothing new
ADD, UPDATE, DELETE, NONE = "ADD", "UPDATE", "DELETE", "NONE"


class Decision(BaseModel):
    """The operation for a new statement."""

    statement: int = Field(1, description="Number of the new statement")
    operation: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    fact: int | None = Field(None, description="Number of the known fact it is about")

    @field_validator("operation", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        """Accepts ``noop`` and any case, which models also send."""
        said = value.strip().upper() if isinstance(value, str) else value
        return NONE if said in ("NOOP", "NO-OP", "NO_OP") else said


class Decisions(ListReply):
    """The operation for each new statement."""

    decisions: list[Decision]


def prompt(inputs: Inputs) -> str:
    """Asks for each new statement which known fact it is about, if any."""
    new, known = inputs["new"], inputs["known"]
    rows = numbered([*(each["line"] for each in new), *(f["line"] for f in known)])
    count = len(new)
    choices = [
        f"Statement {number} may be about fact "
        + " or ".join(str(count + place + 1) for place in each["may_be"])
        + "."
        for number, each in enumerate(new, 1)
    ]
    question = (
        "Which is it for each statement? UPDATE: another value of the same thing as the "
        "fact. DELETE: it says that the fact does not hold any more. NONE: it says the "
        "same as the fact. ADD: it is about something else. Do not judge which of two is "
        'newer or true. Reply with JSON only: {"decisions": [{"statement": 1, '
        f'"operation": "UPDATE", "fact": {count + 1}}}]}}'
    )
    listed = ["New statements:", *rows[:count], "Known facts:", *rows[count:]]
    return "\n".join([*listed, "", *choices, question])


def check(reply: Decisions, inputs: Inputs) -> list[tuple[str, int | None]]:
    """For each statement, in order, the operation and the place of its fact from 0.

    Raises:
        Unusable: for a statement without a decision, or a decision that names an
            unrelated fact.
    """
    new = inputs["new"]
    by_number = {each.statement: each for each in reply.decisions}
    found: list[tuple[str, int | None]] = []
    for number, each in enumerate(new, 1):
        decision = by_number.get(number)
        if decision is None:
            raise Unusable(f"the decision on statement {number} is missing")
        if decision.operation == ADD:
            found.append((ADD, None))
            continue
        place = None if decision.fact is None else decision.fact - len(new) - 1
        if place not in each["may_be"]:
            numbers = [len(new) + choice + 1 for choice in each["may_be"]]
            raise Unusable(
                f"{decision.operation} of statement {number} must name a fact of "
                f"{numbers}, got {decision.fact}"
            )
        found.append((decision.operation, place))
    return found


def offline(inputs: Inputs) -> dict[str, Any]:
    """By the names of the attributes alone: equal values say nothing about them."""
    decisions: list[dict[str, Any]] = []
    for number, each in enumerate(inputs["new"], 1):
        decision: dict[str, Any] = {"statement": number, "operation": ADD}
        for place in each["may_be"]:
            known = inputs["known"][place]
            if not covers(known["attribute"], each["attribute"]):
                continue
            same = known["value"].casefold() == each["value"].casefold()
            operation = UPDATE if not same else NONE if each["holds"] else DELETE
            fact = len(inputs["new"]) + place + 1
            decision |= {"operation": operation, "fact": fact}
            if same:
                break
        decisions.append(decision)
    return {"decisions": decisions}


#: inputs: ``known`` facts and ``new`` statements, each with ``line``, ``attribute``,
#: ``value`` and ``holds``; of a new one ``may_be`` has the places of the known facts
#: that it may be about
JUDGE = Task(
    "judge",
    Decisions,
    system=(
        "You tell whether a new statement is about the same thing as a fact that one "
        "agent in a simulation knows already."
    ),
    prompt=prompt,
    check=check,
    offline=offline,
)
