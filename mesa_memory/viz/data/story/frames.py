"""The pictures of a story, as the browser plays them: some steps at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mesa_memory.core.content import shorten
from mesa_memory.viz.data.story.colouring import Colouring
from mesa_memory.viz.data.story.said import SpokenMessage
from mesa_memory.viz.data.story.scene import Scene, circle

#: longest words of a message beside its arrow and in the list, in characters
WORDS_CHARS = 240


def frames(
    agents: Sequence[Any],
    colouring: Colouring,
    scene: Scene,
    said: Sequence[Sequence[SpokenMessage]],
    first: int,
) -> list[dict[str, Any]]:
    """The pictures of some steps that follow each other, from ``first`` on.

    Args:
        agents: who is drawn, by unique id; numbers below are places among them.
        colouring, scene: of the run.
        said: the messages of each of these steps.
        first: place of the first one.

    Returns:
        For each step ``place``; ``values``, one for each agent, None for no value;
        ``spots``, x and y of all of them in one list, None if no agent ever moves; and
        ``messages``, each a list of sender, recipient and words.
    """
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
                "spots": flat(agents, scene, at) if moving else None,
                "messages": [
                    [place[m.sender], place[m.recipient], shorten(m.text, WORDS_CHARS)]
                    for m in of_step
                    if m.sender in place and m.recipient in place
                ],
            }
        )
    return found


def spots(agents: Sequence[Any], scene: Scene, place: int) -> np.ndarray:
    """Places of agents at a step, shape (agents, 2); NaN is nowhere."""
    if not scene.placed or place >= scene.places.shape[1]:
        return circle(len(agents))
    row = {agent: n for n, agent in enumerate(scene.agents)}
    nowhere = np.full(2, np.nan)
    return np.array(
        [scene.places[row[a], place] if a in row else nowhere for a in agents]
    )


def box(scene: Scene, place: int) -> list[float]:
    """The edges of the picture: least x, least y, greatest x, greatest y."""
    given = scene.space(place).get("box")
    if isinstance(given, list) and len(given) == 4:
        return [float(value) for value in given]
    known = scene.places if scene.placed else circle(4)[:, None]
    low, high = np.nanmin(known, axis=(0, 1)), np.nanmax(known, axis=(0, 1))
    return [*low.tolist(), *high.tolist()]


def flat(agents: Sequence[Any], scene: Scene, place: int) -> list[float | None]:
    """``spots`` in one list, x and y of one agent after the other."""
    return plain(spots(agents, scene, place).ravel(), 4)


def plain(values: np.ndarray | pd.Series, digits: int = 3) -> list[float | None]:
    """Numbers for JSON: NaN becomes None, and whole numbers become int."""
    rounded = values.astype(float).round(digits).tolist()
    return [None if v != v else int(v) if v == int(v) else v for v in rounded]
