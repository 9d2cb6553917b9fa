"""The impressions that agents have of each other at a step, and their history."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.core.records import DERIVED
from mesa_memory.runs import Run
from mesa_memory.runs.past import Row, of_kind
from mesa_memory.viz.background import use_answer
from mesa_memory.viz.data.agent import number
from mesa_memory.viz.data.frames import plain
from mesa_memory.viz.views.agent import versioned
from mesa_memory.viz.views.empty import EmptyView
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.chart import COLOURS

#: what an impression says in numbers
NUMBERS = ("sentiment", "familiarity")
#: a sentiment nearer to 0 than this is neither friendly nor hostile
NEUTRAL = 0.1


def sign(opinion: Row) -> str:
    """``"+"``, ``"−"``, ``"0"``, or ``"?"`` if the sentiment is not known."""
    value = opinion["sentiment"]
    if value is None:
        return "?"
    return "+" if value > NEUTRAL else "−" if value < -NEUTRAL else "0"


def is_held(opinion: Row, step: float) -> bool:
    """True if it was current at the end of a step."""
    end = opinion["valid_to"]
    return opinion["valid_from"] <= step and (end is None or end > step)


class Opinions:
    """All impressions that agents of a run ever had of each other.

    Args:
        found: records in order of arrival, each with ``sentiment`` (-1 to 1) and
            ``familiarity`` (0 to 1); None if the record does not say.
        agents: unique ids of the run's agents, in order.

    Attributes:
        people: observers and subjects, the run's agents first, in their order.
    """

    def __init__(self, found: Iterable[Row], agents: Iterable[Any]) -> None:
        self.all = sorted(found, key=lambda opinion: opinion["valid_from"])
        named = dict.fromkeys(o["subject"] for o in self.all)
        named |= dict.fromkeys(o["agent"] for o in self.all)
        first = [agent for agent in agents if agent in named]
        others = [one for one in named if one not in set(first)]
        self.people = first + sorted(others, key=str)

    def at(self, step: float) -> list[Row]:
        """The impressions at the end of a step, by observer and subject."""
        place = {one: n for n, one in enumerate(self.people)}
        held = [opinion for opinion in self.all if is_held(opinion, step)]
        return sorted(held, key=lambda o: (place[o["agent"]], place[o["subject"]]))

    def of(self, observer: Any) -> list[Any]:
        """The agents of whom an agent ever had an impression, in order of their ids."""
        met = {one["subject"] for one in self.all if one["agent"] == observer}
        return [one for one in self.people if one in met]

    def pair(self, observer: Any, subject: Any) -> list[Row]:
        """The impressions of one agent of the other, oldest first."""
        both = (observer, subject)
        return [one for one in self.all if (one["agent"], one["subject"]) == both]


def opinions(run: Run) -> Opinions:
    """Reads all impressions of a run."""
    return Opinions(_opinions(of_kind(run, "impression")), run.unique_ids.values())


def line(opinions: list[Row], steps: list[float], what: str) -> list[float | None]:
    """A number of a pair's opinions at each step, or None.

    Args:
        opinions: of ``Opinions.pair``.
        what: ``"sentiment"`` or ``"familiarity"``.
    """
    found: list[float | None] = []
    for step in steps:
        current = [opinion for opinion in opinions if is_held(opinion, step)]
        found.append(current[-1][what] if current else None)
    return found


def _opinions(rows: Iterable[Row]) -> Iterator[Row]:
    """The conclusions about an agent; events of the same kind are left out."""
    for row in rows:
        content = row["content"] if isinstance(row["content"], dict) else {}
        numbers = {name: number(content.get(name)) for name in NUMBERS}
        known = row["origin"] == DERIVED or numbers["sentiment"] is not None
        if known and row["subject"] is not None:
            yield row | numbers | {"text": row["text"] or ""}


#: meaning of the signs
SIGNS = {"+": "friendly", "0": "neutral", "−": "hostile", "?": "not stated"}
#: pixels of a row of the matrix, and of all else in it
ROW_PX, MATRIX_PX = 18, 130


@solara.component
def ImpressionsView(focus: Focus) -> Any:
    """The matrix of the step, and one pair over time."""
    says = "Reading all impressions of the run …"
    found = use_answer(focus.source, opinions, says=says)
    if found is None:
        return
    held = found.at(focus.step)
    if not held:
        text = f"No agent had an impression of another one at step {focus.at}."
        EmptyView(focus, "impressions", text)
        return
    chosen = (focus.agent, _subject(focus, found))

    def pick(one: Row) -> None:
        subject = str(one["subject"])
        focus.selection.choose(agent=one["agent"], other_agent=subject)

    signs = Counter(SIGNS[sign(one)] for one in held)
    counts = ", ".join(f"{count} {said}" for said, count in signs.most_common())
    with solara.Column(gap="0px"):
        ui.Answer(
            f"At step {focus.at}, agents have {len(held)} impressions of each "
            f"other: {counts}."
        )
        with solara.Div(classes=["mm-columns"]):
            Matrix(focus, found, held, chosen, pick)
            Pair(focus, found, chosen)
        AllImpressions(focus, held, chosen, pick)


def AllImpressions(
    focus: Focus, held: list[Row], chosen: tuple[Any, Any], on_pick: Any
) -> Any:
    """The impressions of the step as a table."""
    called = focus.source.called
    with ui.Section("All impressions", f"at the end of step {focus.at}"):
        columns: dict[str, Any] = {
            "observer": lambda one: called(one["agent"]),
            "subject": lambda one: called(one["subject"]),
            "sign": sign,
            **ui.named("sentiment familiarity"),
            "since": "valid_from",
            "text": "text",
        }
        ui.Table(
            columns,
            held,
            file=f"impressions-step-{focus.at}",
            marked=lambda one: (one["agent"], one["subject"]) == chosen,
            mark="shown above",
            on_pick=on_pick,
        )


def Matrix(
    focus: Focus,
    found: Opinions,
    held: list[Row],
    chosen: tuple[Any, Any],
    on_pick: Any,
) -> Any:
    """A cell for each observer and subject."""

    def pick(place: int) -> None:
        if place < len(held):  # another step may be shown by now
            on_pick(held[place])

    signs = ", ".join(f"{mark} {meaning}" for mark, meaning in SIGNS.items())
    with ui.Section("Observer by subject", f"sentiment: {signs}"):
        ui.Chart(
            matrix(found, held, chosen, focus.source.called),
            label=f"Matrix of sentiments of {len(found.people)} agents; the table below "
            "has the same numbers",
            height=max(300, min(MATRIX_PX + ROW_PX * len(found.people), 900)),
            file="impressions-matrix",
            on_pick=pick,
        )


def _subject(focus: Focus, found: Opinions) -> Any:
    """The chosen other agent if the observer has an impression of it, else the first."""
    known = found.of(focus.agent)
    wanted = focus.selection.choice.other_agent
    return next((s for s in known if str(s) == wanted), known[0] if known else None)


def Pair(focus: Focus, found: Opinions, chosen: tuple[Any, Any]) -> Any:
    """The opinions of one agent of another over time, and the other way round."""
    source, (observer, subject) = focus.source, chosen
    there, back = found.pair(observer, subject), found.pair(subject, observer)
    who, whom = source.called(observer), source.called(subject)
    pairs = [(f"{who} of {whom}", there), (f"{whom} of {who}", back)]
    with ui.Section("One pair over time"):
        if not there:
            EmptyView(focus, "impressions", f"Agent {who} has no impressions.")
            return
        subjects = {str(one): source.called(one) for one in found.of(observer)}

        def choose(key: str) -> None:
            focus.selection.choose(other_agent=key)

        ui.Choose(f"Agent {who} of agent", str(subject), subjects, choose)
        Current(focus, there, whom)
        label = f"Sentiment and familiarity of {who} and {whom} by step"
        steps, file = source.steps, f"impressions-{observer}-{subject}"
        drawn = lines(pairs, steps)
        curves.StepChart(focus, steps, "", drawn, label, file, span=(-1, 1))


@solara.component
def Current(focus: Focus, there: list[Row], whom: str) -> Any:
    """The words of the impression at the step, and their changes."""
    known = [opinion for opinion in there if opinion["valid_from"] <= focus.step]
    if not known or not is_held(known[-1], focus.step):
        ui.Note(f"Agent {focus.name} has no impression of agent {whom} at this step.")
        return
    *before, now = known[-2:]
    ui.Texts([versioned(f"Since step {ui.number(now['valid_from'])}", now, *before)])
    with solara.Div():
        solara.Button(
            "See its evidence",
            icon_name="mdi-file-tree",
            on_click=lambda: focus.to_evidence(now["id"], now["agent"]),
            outlined=True,
            small=True,
        )


#: of hostile, neutral and friendly: differ for all readers, on light and dark ground
HOSTILE, NEITHER, FRIENDLY = "#D55E00", "#A8A8A8", "#0072B2"
#: most agents whose cells have room for a sign
SIGNED_AGENTS = 40
#: most pixels of an agent's name at an axis
NAME_PX = 140


def matrix(
    found: Opinions,
    held: Sequence[Row],
    chosen: tuple[Any, Any],
    called: Callable[[Any], str] = str,
) -> dict[str, Any]:
    """Observers down, subjects across; those whose sentiment is known.

    Args:
        found: all of the run, for the agents.
        held: those of one step.
        chosen: observer and subject of the cell that stands out.
        called: gives an agent's name for people.
    """
    room = len(found.people) <= SIGNED_AGENTS
    axis = {"type": "category", "data": [called(one) for one in found.people]}
    named = {"width": NAME_PX, "overflow": "truncate"}
    return {
        "grid": {"left": 8, "right": 72, "top": 40, "bottom": 72, "containLabel": True},
        "tooltip": {},
        # Aslant, so that all names have room on a telephone, too.
        "xAxis": axis
        | {"name": "subject", "position": "top", "axisLabel": named | {"rotate": 45}},
        "yAxis": axis | {"name": "observer", "inverse": True, "axisLabel": named},
        "visualMap": {
            "min": -1,
            "max": 1,
            "precision": 1,
            "text": ["+1", "−1"],
            "calculable": False,
            "orient": "horizontal",
            "left": "center",
            "bottom": 8,
            "inRange": {"color": [HOSTILE, NEITHER, FRIENDLY]},
        },
        "series": [
            {
                "type": "heatmap",
                "name": "sentiment",
                "data": _cells(found, held, chosen, room),
                "itemStyle": {"borderColor": "#777777", "borderWidth": 0.5 * room},
            }
        ],
    }


def _cells(
    found: Opinions, held: Sequence[Row], chosen: tuple[Any, Any], room: bool
) -> list[dict[str, Any]]:
    place = {one: n for n, one in enumerate(found.people)}
    cells: list[dict[str, Any]] = []
    for opinion, felt in zip(held, plain([one["sentiment"] for one in held])):
        at = [place[opinion["subject"]], place[opinion["agent"]]]
        cell: dict[str, Any] = {"value": [*at, felt]}
        if (opinion["agent"], opinion["subject"]) == chosen:
            cell["itemStyle"] = {"borderColor": "#009E73", "borderWidth": 4}
        if room:
            label = {"show": True, "formatter": sign(opinion), "fontWeight": "bold"}
            cell["label"] = label
        cells.append(cell)
    return cells


def lines(
    pairs: Sequence[tuple[str, list[Row]]], steps: list[float]
) -> list[dict[str, Any]]:
    """Lines of sentiment and familiarity over steps.

    Args:
        pairs: a name, such as "3 of 4", and the opinions of one of the other.
    """
    return [
        curves.line(n, f"{name}: {measure}", plain(line(each, steps, measure)))
        | {"step": "end", "color": COLOURS[n], "lineStyle": {"type": dash, "width": 2}}
        for n, (name, each) in enumerate(pairs)
        for measure, dash in (("sentiment", "solid"), ("familiarity", "dashed"))
        if each
    ]
