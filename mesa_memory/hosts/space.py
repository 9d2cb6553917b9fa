"""Mesa: the places of a model's agents in its space.

Cell spaces, grids, networks and continuous spaces are told apart by their attributes,
not by their class.
"""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from numbers import Real
from typing import Any

from mesa_memory.core.content import one_line, shorten

#: digits of a position on a map
POSITION_DIGITS = 6
#: longest outcome that is a text, in characters
OUTCOME_CHARS = 60
#: usual attributes of a model's space
_SPACE_NAMES = ("grid", "space")
NETWORK, GRID, CONTINUOUS, POINTS = "network", "grid", "continuous", "points"

type Point = list[float]


def space_of(model: Any) -> Any:
    """The space of a model's agents; None for a model without one."""
    own = getattr(model, "__dict__", {})
    named = [own[name] for name in _SPACE_NAMES if own.get(name) is not None]
    return next(filter(kind_of, (*named, *own.values())), None)


def kind_of(thing: Any) -> str | None:
    """The kind of one of Mesa's spaces; None for any other object."""
    if "mesa" not in [kind.__module__.split(".")[0] for kind in type(thing).__mro__]:
        return None
    if hasattr(thing, "G") and hasattr(thing.G, "edges"):
        return NETWORK
    if hasattr(thing, "centroids_coordinates"):
        return POINTS
    if hasattr(thing, "dimensions") and hasattr(thing, "all_cells"):
        return GRID
    if hasattr(thing, "x_min") or hasattr(thing, "agent_positions"):
        return CONTINUOUS
    sized = hasattr(thing, "width") and hasattr(thing, "height")
    return GRID if sized and hasattr(thing, "torus") else None


class Space:
    """A model's space as it is now.

    Args:
        thing: from ``space_of``.
    """

    def __init__(self, thing: Any) -> None:
        self._thing, self.kind = thing, kind_of(thing)
        self._spots = self._nodes() if self.kind == NETWORK else {}
        # Cells that are hexagons are not where their numbers say.
        cell = next(iter(getattr(thing, "all_cells", ())), None)
        self._physical = getattr(cell, "_position", None) is not None

    def stays(self, thing: Any) -> bool:
        """True if this describes the space, also later: it is not a network."""
        return thing is self._thing and self.kind != NETWORK

    @cached_property
    def described(self) -> dict[str, Any]:
        """The space without its agents, as plain data.

        ``kind``; ``box``, the least x, least y, greatest x and greatest y, unless it
        follows from where things are; ``cells``, how many across and up, if there are
        any; ``torus``; ``ties``, lines from one node to another as x, y, x, y.
        """
        told = {
            "kind": self.kind,
            "box": self._box(),
            "cells": self._cells(),
            "torus": bool(getattr(self._thing, "torus", False)),
            "ties": self._ties(),
        }
        return {key: value for key, value in told.items() if value is not None}

    def place(self, agent: Any) -> Point | None:
        """The place of an agent, x and y; None without one."""
        cell = getattr(agent, "cell", None)
        if cell is not None:
            return self._spots.get(cell.coordinate) or _point(_position(cell))
        where = getattr(agent, "pos", None)
        if self.kind == NETWORK:
            return None if where is None else self._spots.get(where)
        if where is None:
            where = getattr(agent, "position", None)
        return _point(where)

    def _nodes(self) -> dict[Any, Point]:
        """The place of each node: by the network's layout, else on a circle."""
        nodes = list(self._thing.G.nodes)
        cells = getattr(self._thing, "all_cells", ())
        found = {cell.coordinate: _point(_position(cell)) for cell in cells}
        if nodes and all(found.get(node) for node in nodes):
            return {node: spot for node, spot in found.items() if spot}
        turn = 2 * math.pi / max(len(nodes), 1)
        return {
            node: [
                round(math.cos(n * turn), POSITION_DIGITS),
                round(math.sin(n * turn), POSITION_DIGITS),
            ]
            for n, node in enumerate(nodes)
        }

    def _ties(self) -> list[list[float]]:
        if self.kind != NETWORK:
            return []
        ends = ((edge[0], edge[1]) for edge in self._thing.G.edges)
        return [
            [*self._spots[one], *self._spots[other]]
            for one, other in ends
            if one in self._spots and other in self._spots
        ]

    def _cells(self) -> list[int] | None:
        if self.kind != GRID or self._physical:
            return None
        dimensions = getattr(self._thing, "dimensions", None)
        if dimensions is None:
            dimensions = self._thing.width, self._thing.height
        return [int(side) for side in (*dimensions, 1)[:2]]

    def _box(self) -> list[float] | None:
        if self.kind == GRID:
            if (cells := self._cells()) is None:
                return None
            return [-0.5, -0.5, cells[0] - 0.5, cells[1] - 0.5]
        if self.kind != CONTINUOUS:
            return None
        if hasattr(self._thing, "x_min"):
            names = ("x_min", "y_min", "x_max", "y_max")
            return [float(getattr(self._thing, name)) for name in names]
        (left, right), (low, high), *_ = self._thing.dimensions
        return [float(left), float(low), float(right), float(high)]


def outcomes(agents: Iterable[Any], name: str) -> dict[str, Any]:
    """An attribute of agents as plain data, by their unique ids as text.

    Agents without it, or with None, are left out.

    Raises:
        TypeError: for a value that is not a text, number, True or False.
    """
    found: dict[str, Any] = {}
    for agent in agents:
        value = getattr(agent, name, None)
        plain = None if value is None else _plain(value, agent, name)
        if plain is not None:
            found[str(agent.unique_id)] = plain
    return found


def collected(model: Any) -> dict[str, Any]:
    """The newest numbers of a model's data collector, by the names of its reporters."""
    columns = getattr(getattr(model, "datacollector", None), "model_vars", None)
    if not isinstance(columns, Mapping):
        return {}
    newest = {name: values[-1] for name, values in columns.items() if values}
    numbers = {name: _number(value) for name, value in newest.items()}
    return {str(name): value for name, value in numbers.items() if value is not None}


def _plain(value: Any, agent: Any, name: str) -> Any:
    if isinstance(value, str):
        return one_line(shorten(value, OUTCOME_CHARS))
    if isinstance(value, bool):
        return value
    if isinstance(value, Real):
        return _number(value)
    raise TypeError(
        f"outcomes=({name!r},) needs a text, a number, True, False or None, and agent "
        f"{agent.unique_id} has {type(value).__name__} {value!r:.60}. Give the agent a "
        "property that says it in one word or number, and name that."
    )


def _number(value: Any) -> float | int | None:
    """A finite number as Python's own; None for all else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    if isinstance(value, int):
        return value
    try:
        own = float(value)
    except (TypeError, OverflowError):  # a duration of numpy, or too large
        return None
    if not math.isfinite(own):
        return None
    return int(own) if hasattr(value, "dtype") and value.dtype.kind in "iu" else own


def _position(cell: Any) -> Any:
    try:
        return cell.position
    except (TypeError, ValueError):  # a node that is named by a text is nowhere
        return None


def _point(where: Any) -> Point | None:
    """The first two coordinates of a place; a node's number is not a place."""
    try:
        across, up = (
            round(float(value), POSITION_DIGITS) for value in (*where, 0.0)[:2]
        )
    except (TypeError, ValueError):
        return None
    return [across, up] if math.isfinite(across) and math.isfinite(up) else None
