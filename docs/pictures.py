"""Draws the pictures of the concepts: ``python docs/pictures.py [FOLDER]``.

They are SVG files in ``docs/_static``; a test sees to it that they are what this makes.
"""

import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

STATIC = Path(__file__).parent / "_static"
#: Okabe and Ito's colours, which everyone can tell apart
BLUE, ORANGE, GREEN, PINK, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"
INK, PALE, WHITE = "#222222", "#E9EEF2", "#FFFFFF"
WIDTH = 820


def picture(height: int, title: str, parts: Sequence[str]) -> str:
    """An SVG of these parts on white, so that it can be read on a dark page, too."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" font-family="sans-serif" font-size="15" fill="{INK}">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L10 5L0 10z" '
        f'fill="{INK}"/></marker></defs>'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" rx="10" fill="{WHITE}"/>'
    lines = [head, f"<title>{escape(title)}</title>", marker, ground, *parts, "</svg>"]
    return "\n".join(lines) + "\n"


def text(x: float, y: float, words: str, anchor: str = "middle", **more: str) -> str:
    """Words, the middle of their line at ``y``."""
    given = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in more.items()
    )
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" dominant-baseline="central"'
        f"{given}>{escape(words)}</text>"
    )


def box(
    x: float, y: float, width: float, height: float, colour: str, *lines: str
) -> str:
    """A rounded box with lines of text in it; the first is bold."""
    middle = y + height / 2 - 10 * (len(lines) - 1)
    said = [
        text(
            x + width / 2, middle + 20 * n, line, font_weight="normal" if n else "bold"
        )
        for n, line in enumerate(lines)
    ]
    shape = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{PALE}" '
        f'stroke="{colour}" stroke-width="2.5"/>'
    )
    return "\n".join([shape, *said])


def arrow(x1: float, y1: float, x2: float, y2: float, dashed: bool = False) -> str:
    """An arrow from one point to another."""
    dash = ' stroke-dasharray="6 5"' if dashed else ""
    return (
        f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{INK}" stroke-width="1.8" fill="none" '
        f'marker-end="url(#head)"{dash}/>'
    )


def bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    """A filled bar."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}"/>'


def step() -> str:
    """From an event to a memory."""
    parts = [
        box(20, 70, 150, 80, BLUE, "events", "message, sight"),
        arrow(170, 110, 212, 110),
        box(215, 70, 150, 80, ORANGE, "wait", "until the step ends"),
        arrow(365, 110, 407, 110),
        box(410, 70, 170, 80, GREEN, "commit", "all of the step at once"),
        arrow(580, 110, 632, 110),
        box(635, 70, 165, 80, PINK, "join", "before anyone reads"),
        arrow(495, 150, 495, 207),
        box(410, 210, 170, 80, RED, "think", "in the background"),
        arrow(580, 250, 717, 153),
        text(290, 30, "during the step", fill=BLUE),
        text(600, 30, "after the step", fill=RED),
        '<path d="M387 15V305" stroke="#999" stroke-dasharray="4 5" fill="none"/>',
        text(200, 235, "The simulation goes on", font_weight="bold"),
        text(200, 258, "and does not wait for a model."),
    ]
    return picture(320, "The way of an event through a step", parts)


def records() -> str:
    """Records and their lifetimes."""
    left, day = 190, 84
    rows = [
        ("message, day 1", 0, 3, BLUE),
        ("message, day 2", 1, 3, BLUE),
        ("message, day 3", 2, 3, BLUE),
        ("summary", 3, 7, GREEN),
        ("impression, first", 1, 5, ORANGE),
        ("impression, newer", 5, 7, ORANGE),
    ]
    parts = []
    for number in range(8):
        x = left + day * number
        parts.append(f'<path d="M{x} 34V300" stroke="#DDD" fill="none"/>')
        if number < 7:
            parts.append(text(x + day / 2, 20, f"day {number + 1}"))
    for place, (name, first, last, colour) in enumerate(rows):
        y = 50 + 40 * place
        parts.append(text(left - 12, y + 11, name, "end"))
        parts.append(bar(left + day * first, y, day * (last - first), 22, colour))
    for place in range(3):
        parts.append(
            arrow(left + day * 3 + 24, 170, left + day * 3 - 6, 61 + 40 * place, True)
        )
    parts.append(text(left + day * 4.6, 100, "consolidated: the summary", "start"))
    parts.append(text(left + day * 4.6, 120, "names them as its sources", "start"))
    x = left + day * 4.5
    parts.append(
        f'<path d="M{x} 34V300" stroke="{RED}" stroke-width="2.5" fill="none"/>'
    )
    said = "remembered in the middle of day 5: what the red line crosses"
    parts.append(text(WIDTH / 2, 320, said, fill=RED))
    return picture(345, "Records as bars over time", parts)


def recall() -> str:
    """Scores in parts."""
    rows = [
        ("“The mill is on fire!”", 210, 60, 40, True),
        ("“The miller is my cousin.”", 150, 30, 70, True),
        ("“Bread is dear this week.”", 60, 20, 110, True),
        ("“Nice weather today.”", 15, 10, 115, False),
    ]
    parts = [text(20, 30, "“Is the mill safe?”", "start", font_weight="bold")]
    for place, (said, relevance, importance, recency, shown) in enumerate(rows):
        y = 62 + 48 * place
        parts.append(text(20, y + 13, said, "start"))
        x = 250
        for width, colour in zip(
            (relevance, importance, recency), (BLUE, ORANGE, GREEN)
        ):
            parts.append(bar(x, y, width, 26, colour))
            x += width
        parts.append(text(x + 12, y + 13, f"{(x - 250) / 250:.2f}", "start"))
        if shown:
            parts.append(arrow(630, y + 13, 672, y + 13))
    parts.append(box(675, 62, 125, 122, PINK, "prompt", "in the order", "of time"))
    parts.append(text(737, 219, "no room"))
    for place, (name, colour) in enumerate(
        (("relevance", BLUE), ("importance", ORANGE), ("recency", GREEN))
    ):
        x = 250 + 130 * place
        parts += [bar(x, 268, 16, 16, colour), text(x + 24, 277, name, "start")]
    return picture(305, "Records ranked by a score in parts", parts)


def replay() -> str:
    """Resume, fork and replay."""
    parts = [
        text(20, 40, "run", "start", font_weight="bold"),
        bar(110, 30, 330, 20, BLUE),
        text(450, 40, "✕ crash", "start", fill=RED),
        box(250, 80, 180, 58, INK, "recording", "step by step"),
        arrow(275, 52, 275, 78),
        arrow(405, 52, 405, 78),
        text(20, 180, "resume", "start", font_weight="bold"),
        bar(110, 170, 330, 20, "#9CC3DC"),
        bar(440, 170, 250, 20, BLUE),
        text(565, 205, "goes on in the same recording"),
        text(20, 240, "fork", "start", font_weight="bold"),
        bar(110, 230, 200, 20, "#9CC3DC"),
        bar(310, 230, 380, 20, ORANGE),
        text(500, 265, "a run of its own, with something changed"),
        text(20, 300, "replay", "start", font_weight="bold"),
        bar(110, 290, 330, 20, GREEN),
        text(275, 325, "all of it again, with the recorded replies"),
    ]
    return picture(350, "Resume, fork and replay of a recorded run", parts)


PICTURES: dict[str, Callable[[], str]] = {
    "concept_step.svg": step,
    "concept_records.svg": records,
    "concept_recall.svg": recall,
    "concept_replay.svg": replay,
}


def main() -> None:
    """Writes all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else STATIC
    for name, drawn in PICTURES.items():
        (folder / name).write_text(drawn(), encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
