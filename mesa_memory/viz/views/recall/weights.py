"""The weights of a score, to be tried out."""

from collections.abc import Callable
from typing import Any

import solara

from mesa_memory.viz.data import recall as data
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.widgets import Note

#: the highest weight that a slider gives
HIGHEST = 2.0
LABELS = ("Relevance", "Importance", "Recency")
PRESETS = {
    "As it was": None,
    "Relevance only": (1.0, 0.0, 0.0),
    "All the same": (1.0, 1.0, 1.0),
}


@solara.component
def Weights(
    selection: Selection,
    recall: data.RecordedRecall,
    tried: tuple[float, ...] | None,
    on_try: Callable[[Any], None],
) -> Any:
    """A slider for each weight: ranks while it moves, and is kept when it rests."""
    used = recall.weighing(tried)
    if None in recall.weights[:3]:
        Note("The weights of this recall were not recorded; choose some.", "warning")
    with solara.Div(classes=["mm-row"]):
        for place, label in enumerate(LABELS):
            Weight(selection, label, place, used, on_try).key(label)
        for label, weights in PRESETS.items():
            solara.Button(
                label,
                text=True,
                small=True,
                disabled=tried == weights,
                on_click=lambda weights=weights: selection.choose(weights=weights),
            ).key(label)


@solara.component
def Weight(
    selection: Selection,
    label: str,
    place: int,
    used: tuple[float, ...],
    on_try: Callable[[Any], None],
) -> Any:
    """One slider."""

    def changed(value: float) -> tuple[float, ...]:
        weights = list(used[: len(LABELS)])
        weights[place] = round(float(value), 3)
        return tuple(weights)

    def moved(value: float) -> None:
        if round(float(value), 3) != used[place]:
            on_try(changed(value))

    slider = solara.v.Slider(
        label=f"{label} {used[place]:g}",
        v_model=used[place],
        on_v_model=moved,
        min=0,
        max=max(HIGHEST, *used),
        step=0.05,
        hide_details=True,
        class_="mm-weight",
        style_="min-width: 260px",
    )
    solara.v.use_event(
        slider, "change", lambda _, __, value: selection.choose(weights=changed(value))
    )
    return slider
