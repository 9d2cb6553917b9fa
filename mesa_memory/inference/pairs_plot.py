"""The paired plot: a line for each seed, from the base to the arm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mesa_memory.inference.contrast import Contrast
from mesa_memory.inference.numbers import signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: size of a panel in inches
WIDTH, HEIGHT = 2.6, 3.4


def pairs_figure(
    outcome: str, base: Any, values: Sequence[float], contrasts: Sequence[Contrast]
) -> "Figure":
    """A panel for each arm, with the mean difference and its interval in the title."""
    from matplotlib.figure import Figure

    number, mean = len(contrasts), sum(values) / len(values)
    figure = Figure(figsize=(WIDTH * number + 1, HEIGHT), layout="constrained")
    panels = figure.subplots(1, number, sharey=True, squeeze=False)[0]
    for panel, each in zip(panels, contrasts):
        for low, change in zip(values, each.difference.values):
            panel.plot([0, 1], [low, low + change], "o-", color="#0072b2", alpha=0.45)
        panel.plot([0, 1], [mean, each.mean], "s-", color="black", lw=2.5)
        panel.set_xticks([0, 1], [str(base), str(each.arm)])
        panel.set_xlim(-0.3, 1.3)
        told = f"{signed(each.difference.mean)} {each.interval}"
        panel.set_title(told, fontsize=9)
    panels[0].set_ylabel(outcome)
    return figure
