"""What litellm's list of models says: prices, and who takes a schema.

A cost is None when it is unknown, never zero.
"""

from functools import cache
from typing import Any

import litellm

from mesa_memory.hosts.litellm import response_cost


@cache
def price(model: str) -> tuple[float, float] | None:
    """US dollars per prompt and completion token; None if unknown."""
    try:
        info = litellm.get_model_info(model)
    except Exception:  # litellm raises a bare Exception for an unmapped model
        return None
    prompt, reply = info["input_cost_per_token"], info["output_cost_per_token"]
    known = prompt is not None and reply is not None
    # A model that litellm routes but does not list comes back as free.
    return (prompt, reply) if known and (prompt or listed_as_free(model)) else None


def cost(response: Any, model: str) -> float | None:
    """US dollars as litellm worked them out; None where it knows no price.

    litellm says 0 for an unknown price, too; a free model is one it lists as free.
    """
    given = response_cost(response)
    return given if given or listed_as_free(model) else None


@cache
def takes_schema(model: str) -> bool:
    """True if the provider is known to follow a JSON schema."""
    return bool(litellm.supports_response_schema(model))


@cache
def listed_as_free(model: str) -> bool:
    """True if the list has this model, at no price."""
    return litellm.model_cost.get(model, {}).get("input_cost_per_token") == 0
