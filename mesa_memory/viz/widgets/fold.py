"""A part of a page that opens and closes; open at first where there is room."""

from collections.abc import Sequence
from typing import Any

import solara


@solara.component_vue("fold.vue")
def _OpenIfWide() -> None: ...


@solara.component
def Fold(title: str, children: Sequence[Any] = ()) -> Any:
    """A part that is less often needed; use it with ``with``.

    Args:
        title: always to be seen; opens and closes the rest.
        children: the rest.
    """
    head = solara.v.Html(tag="summary", children=[title])
    inner = solara.v.Html(tag="div", children=[_OpenIfWide(), *children])
    return solara.v.Html(tag="details", class_="mm-fold", children=[head, inner])
