"""The pictures of a story, as the browser plays them: some steps at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mesa_memory.core.content import shorten
from mesa_memory.viz.data.colouring import Colouring
from mesa_memory.viz.data.said import SpokenMessage
from mesa_memory.viz.data.scene import Scene, circle

#: longest words of a message beside its arrow and in the list, in characters
WORDS_CHARS = 240


def frames(
    colouring: Colouring,
    scene: Scene,
    said: Sequence[Sequence[SpokenMessage]],
    first: int,
) -> list[dict[str, Any]]:
    """The pictures of some steps that follow each other, from ``first`` on.

    Args:
        colouring, scene: of the run. Numbers below are places among the scene's agents.
        said: the messages of each of these steps.
        first: place of the first one.

    Returns:
        For each step ``place``; ``values``, one for each agent, None for no value;
        ``spots``, x and y of all of them in one list, None if no agent ever moves; and
        ``messages``, each a list of sender, recipient and words.
    """
    agents = scene.agents
    place = {agent: n for n, agent in enumerate(agents)}
    row = {agent: n for n, agent in enumerate(colouring.agents)}
    moving = scene.placed and scene.moving
    found = []
    for n, of_step in enumerate(said):
        at = first + n
        if at >= colouring.values.shape[1]:
            break
        column = plain(colouring.values[:, at])
        found.append(
            {
                "place": at,
                "values": [column[row[a]] if a in row else None for a in agents],
                "spots": flat(scene, at) if moving else None,
                "messages": [
                    [place[m.sender], place[m.recipient], shorten(m.text, WORDS_CHARS)]
                    for m in of_step
                    if m.sender in place and m.recipient in place
                ],
            }
        )
    return found


def box(scene: Scene, place: int) -> list[float]:
    """The edges of the picture: least x, least y, greatest x, greatest y."""
    given = scene.space(place).get("box")
    if isinstance(given, list) and len(given) == 4:
        return [float(value) for value in given]
    known = scene.places if scene.placed else circle(4)[:, None]
    low, high = np.nanmin(known, axis=(0, 1)), np.nanmax(known, axis=(0, 1))
    return [*low.tolist(), *high.tolist()]


def flat(scene: Scene, place: int) -> list[float | None]:
    """Places of the agents at a step, x and y of one after the other; None is nowhere."""
    spots = scene.places[:, place] if scene.placed else circle(len(scene.agents))
    return plain(spots.ravel().round(4), 4)


def plain(
    values: np.ndarray | pd.Series | Sequence[float | None], digits: int = 3
) -> list[float | None]:
    """Numbers for JSON: what is not finite becomes None, and whole numbers become int.

    Args:
        digits: after the point; below 1, the first that are not 0.
    """
    given = np.array(values, dtype=float)
    given[~np.isfinite(given)] = np.nan
    size, places = np.abs(given), np.full(given.shape, float(digits))
    small = (size > 0) & (size < 1)
    places[small] = digits - 1 - np.floor(np.log10(size[small]))
    power = 10.0**places
    rounded = (np.round(given * power) / power).tolist()
    return [None if v != v else int(v) if v == int(v) else v for v in rounded]
