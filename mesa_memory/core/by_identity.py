"""Values kept for objects by their identity, as long as the objects live."""

import weakref
from typing import Any


class ByIdentity[Value]:
    """A weak dictionary by identity: its keys do not need a hash.

    A model that is a dataclass, or defines ``__eq__``, cannot be hashed, or is equal to
    another model.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Any], Value]] = {}

    def get(self, key: Any) -> Value | None:
        """The value of an object; None without one."""
        held = self._held.get(id(key))
        return held[1] if held is not None and held[0]() is key else None

    def setdefault(self, key: Any, value: Value) -> Value:
        """The value of an object, which is this one if it had none."""
        place, found = id(key), self.get(key)
        if found is not None:
            return found

        def forget(gone: "weakref.ref[Any]") -> None:
            held = self._held.get(place)
            if held is not None and held[0] is gone:  # else another object is there now
                del self._held[place]

        self._held[place] = (weakref.ref(key, forget), value)
        return value

    def values(self) -> list[Value]:
        """The values of all objects, in the order in which these came."""
        return [value for _, value in list(self._held.values())]

    def keys(self) -> list[Any]:
        """The objects that live, in the order in which they came."""
        alive = [ref() for ref, _ in list(self._held.values())]
        return [key for key in alive if key is not None]
