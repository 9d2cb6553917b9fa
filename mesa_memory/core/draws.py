"""Random numbers with an address: the same, however many were drawn elsewhere before.

A generator that all share is a queue: whoever draws once more shifts what everybody after
it gets. Here each purpose has a generator of its own, made from its address alone. Its
bits are those of Philox, a function of a key and a counter (Salmon, Moraes, Dror and Shaw
2011, "Parallel random numbers: as easy as 1, 2, 3"), and the key is a hash of the address.
"""

import hashlib
import json
from typing import Any

import numpy as np

#: raised when the same address would give other numbers
ADDRESS_FORM = 1


def generator(
    seed: Any, agent: int | str | None, purpose: str, step: float
) -> np.random.Generator:
    """The generator at an address, at its beginning.

    Args:
        seed: plain data, what a run's random numbers begin with.
        agent: unique id of the agent; None is the model itself.
        purpose: what the numbers are for.
        step: the model's clock.
    """
    address = [ADDRESS_FORM, seed, agent, purpose, float(step)]
    text = json.dumps(address, sort_keys=True, allow_nan=False, default=_plain)
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _plain(value: Any) -> Any:
    """Numpy's numbers and arrays, of which the state of a generator may be made."""
    return value.tolist()
