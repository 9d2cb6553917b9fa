"""Actions: what an agent may do, chosen by the model and carried out here."""

import inspect
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel


class ActionChoice(BaseModel):
    name: str
    arguments: dict[str, Any]
    rationale: str | None = None


@dataclass(frozen=True)
class ActResult:
    action: ActionChoice
    result: Any


def specs(actions):
    return [{"name": f.__name__, "description": inspect.getdoc(f)} for f in actions]
