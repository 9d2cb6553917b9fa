"""Decides if a new statement is about the same thing as a known fact.

The model is asked only if the names do not tell. Code decides which value is newer: a
model that is asked for it is often wrong (arXiv 2606.01435).
"""

from typing import Any, Literal

from pydantic import BaseModel, field_validator

from mesa_memory.core.text.replies import Unusable
from mesa_memory.tasks.base import Inputs, ListReply, Task
from mesa_memory.tasks.offline.attributes import covers

#: a new fact, another value of a known one, its end, or nothing new
ADD, UPDATE, DELETE, NONE = "ADD", "UPDATE", "DELETE", "NONE"


class Decision(BaseModel):
    """The operation for a new statement."""

    statement: int = 1
    operation: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    fact: int | None = None

    @field_validator("operation", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        """Accepts ``noop`` and any case, which models also send."""
        said = value.strip().upper() if isinstance(value, str) else value
        return NONE if said in ("NOOP", "NO-OP", "NO_OP") else said


class Decisions(ListReply):
    """The operation for each new statement."""

    decisions: list[Decision]


def values(inputs: Inputs) -> dict[str, Any]:
    """The values of the prompt; numbers go on from statements to known facts."""
    new, count = inputs["new"], len(inputs["new"])
    return {
        "new": [each["line"] for each in new],
        "known": [each["line"] for each in inputs["known"]],
        "choices": [
            {"number": n, "facts": [count + place + 1 for place in each["may_be"]]}
            for n, each in enumerate(new, 1)
        ],
    }


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
            raise Unusable("no decision", count=number)
        if decision.operation == ADD:
            found.append((ADD, None))
            continue
        place = None if decision.fact is None else decision.fact - len(new) - 1
        if place not in each["may_be"]:
            numbers = [len(new) + choice + 1 for choice in each["may_be"]]
            given = {"operation": decision.operation, "got": decision.fact}
            raise Unusable("wrong fact", count=number, numbers=numbers, **given)
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
JUDGE = Task("judge", Decisions, values=values, check=check, offline=offline)
