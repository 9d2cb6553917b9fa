"""A tree of records that opens and closes in the browser."""

from collections.abc import Callable, Sequence
from typing import Any

import solara


@solara.component_vue("tree.vue")
def _Tree(
    nodes: list[dict[str, Any]],
    label: str,
    event_go: Callable[[int], None],
) -> None: ...


@solara.component
def Tree(
    nodes: Sequence[dict[str, Any]],
    *,
    label: str,
    on_go: Callable[[int], None],
) -> Any:
    """Lines that have others below them; every text is shown as text.

    Arrow keys walk through it, left and right close and open, Enter goes there.

    Args:
        nodes: depth first, each with ``id``, ``depth``, ``head``, ``note``, ``text`` and
            ``known``; the first has depth 0. Those of the first levels are open.
        label: what the tree shows, for those who cannot see it.
        on_go: called with the place of a node when one wants to go to its record.
    """
    return _Tree(nodes=list(nodes), label=label, event_go=on_go)
