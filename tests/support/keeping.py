"""A town whose answers are kept in a file."""

from typing import Any

from tests.support.fleet import HASTY, Town

STEPS = 4


def town(base: str, memory: str = "long_term", count: int = 3, **services: Any) -> Town:
    """Citizens who each hear something of their own in each step."""
    made = Town(memory, count, base, **HASTY | services)

    def happen(citizen: Any) -> None:
        made.tell(citizen, f"word {made.steps} of {citizen.unique_id} at the mill.")

    made.script = happen
    return made


def live(town: Town, steps: int = STEPS) -> dict[str, Any]:
    """Some steps; what they cost, and what is remembered."""
    for _ in range(steps):
        town.advance()
    town.services.flush()
    total = town.services.ledger.total
    return {
        "calls": total.calls,
        "cached": total.cached,
        "attempts": total.attempts,
        "tokens": total.tokens,
        "shown": [c.memory.get_prompt_ready() for c in town.citizens],
        "thought": [[*map(str, t)] for t in town.thought().values()],
    }
