"""Story: the agents in their space, their messages, and one of them as a person."""

import json
from typing import Any

import solara

import mesa_memory.viz.views.curves as curves
import mesa_memory.viz.widgets as ui
from mesa_memory.viz.background import is_small, use_work
from mesa_memory.viz.data import colouring as data
from mesa_memory.viz.data import frames, spread
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.colouring import Colouring
from mesa_memory.viz.data.frames import plain
from mesa_memory.viz.data.said import said
from mesa_memory.viz.data.scene import Scene, scene
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.live_run import RunState
from mesa_memory.viz.serving.portions import use_portions
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.person import Person
from mesa_memory.viz.widgets.chart import COLOURS
from mesa_memory.viz.widgets.stage import NEUTRAL, STYLE, Stage

#: colours by a text, besides those of ``colour_keys``
TEXT = "text"


@solara.component
def StoryView(focus: Focus) -> Any:
    """The story of a run: picture, person and curves, all at the chosen step."""
    source, text = focus.source, focus.selection.choice.text.strip()
    shown = source.of(scene)
    key = _colour(focus.selection, shown)
    looked_for = text if key == TEXT else ""
    blank = solara.use_memo(
        lambda: data.nothing(source.agent_ids, len(source.steps)), [source]
    )
    with solara.Column(gap="0px"):
        found = use_work(
            lambda: _colouring(source, shown, key, looked_for),
            (source.run, key, looked_for),
            source.stamp,
            is_small(source) or key.startswith("outcome:") or (key, text) == (TEXT, ""),
            "Reading all memories of the run …",
        )
        Scenery(focus, shown, found or blank)


def _colouring(source: RunState, shown: Scene, key: str, text: str) -> Colouring | None:
    """The colours of a key; None for those of a blank text."""
    if key != TEXT:
        return data.coloured(key, shown, lambda: source.of(activity))
    held = spread.holding(spread.found(source.run, text)) if text else None
    return data.of_text(held, text) if held else None


def _colour(selection: Selection, shown: Scene) -> str:
    """The chosen key of the colours, else the usual one."""
    allowed = [*data.colour_keys(shown), TEXT]
    return selection.option("colour", allowed[0], allowed)


@solara.component
def Scenery(focus: Focus, shown: Scene, found: Colouring) -> Any:
    """Picture, person and curves."""
    solara.Style(STYLE)
    ui.Answer(
        f"At step {focus.at}, {found.summary(focus.source.steps.index(focus.step))}."
    )
    with solara.Div(classes=["mm-story"]):
        with ui.Section("Story", "messages are arrows; click an agent, or words"):
            Picture(focus, shown, found)
            Colours(focus.selection, shown)
        with solara.Div():
            Curves(focus, shown, found)
            Person(focus)


def Colours(selection: Selection, shown: Scene) -> Any:
    """The choice of the colours."""
    key = _colour(selection, shown)
    choices = data.colour_keys(shown) | {TEXT: "Memory: like a text …"}
    with solara.Div(classes=["mm-row"]):
        ui.Choose("Colour shows", key, choices, selection.setter("colour"))
        if key == TEXT:
            ui.TextBox(selection)


@solara.component
def Picture(focus: Focus, shown: Scene, found: Colouring) -> Any:
    """The agents at the step, and their messages; it plays by itself."""
    source, selection, agents = focus.source, focus.selection, shown.agents
    place = source.steps.index(focus.step)
    count = min(len(source.steps), found.values.shape[1])
    version = _use_version(shown, found)
    now, need = use_portions((version, source.key), place, count)
    pictures = solara.use_memo(
        lambda: _frames(source, shown, found, now), [version, source.key, tuple(now)]
    )
    names = solara.use_memo(lambda: _names(source, shown), [id(shown), source])
    ground = solara.use_memo(
        lambda: _ground(shown, place), [id(shown), id(shown.space(place))]
    )
    low, high = solara.use_memo(lambda: found.range, [id(found)])

    def explain(clicked: dict[str, int]) -> None:
        at, message = clicked["place"], clicked["message"]
        (of_step,) = source.of(said, at, 1)
        known = [m for m in of_step if m.sender in agents and m.recipient in agents]
        if message < len(known):
            one = known[message]
            focus.to_spread(one.text, one.recipient, source.steps[at])

    Stage(
        version=f"{source.key} {version}",
        names=names,
        begin=solara.use_ref(place).current,
        selected=agents.index(focus.agent) if focus.agent in agents else -1,
        ground=ground,
        legend={
            "label": found.label,
            "classes": list(found.classes),
            "low": low,
            "high": high,
        },
        pictures=pictures,
        colours=list(COLOURS),
        neutral=NEUTRAL,
        event_need=need,
        event_agent=lambda n: selection.choose(agent=agents[n]),
        event_message=explain,
    )


def _use_version(shown: Scene, found: Colouring) -> int:
    """Counts up when earlier pictures are out of date."""
    before, count = solara.use_ref((shown, found)), solara.use_ref(0)
    earlier, colouring = before.current
    moved = (earlier.moving, earlier.agents) != (shown.moving, shown.agents)
    if moved or not (found is colouring or found.goes_on(colouring)):
        count.current += 1
    before.current = (shown, found)
    return count.current


def _frames(source: RunState, shown: Scene, found: Colouring, now: list[range]) -> str:
    """The pictures of some steps, as JSON."""
    made = []
    for some in now:
        messages = source.of(said, some.start, len(some))
        made += frames.frames(found, shown, messages, some.start)
    return json.dumps(made)


def _names(source: RunState, shown: Scene) -> str:
    """The steps and agents of the pictures, as JSON."""
    count = len(shown.agents)
    names = {
        "steps": [ui.number(step) for step in source.steps],
        "agents": [source.called(agent) for agent in shown.agents],
        "bare": list(range(count - len(shown.others), count)),
    }
    return json.dumps(names)


def _ground(shown: Scene, place: int) -> str:
    """The places of the agents, as JSON."""
    space = shown.space(place)
    cells, ties = space.get("cells"), space.get("ties")
    grid = isinstance(cells, list) and len(cells) == 2 and shown.placed
    ground = {
        "box": frames.box(shown, place),
        "spots": frames.flat(shown, place),
        "ties": ties if isinstance(ties, list) and shown.placed else [],
        "cells": cells if grid else [],
    }
    return json.dumps(ground)


#: the curves that go with the colours
CURVES = "colours"


def Curves(focus: Focus, scene: Scene, found: Colouring) -> Any:
    """Outcomes by step, with a line at the chosen one; a click goes to a step."""
    steps, selection = focus.source.steps, focus.selection
    choices = {CURVES: f"the colours: {found.label}"}
    choices |= {f"model:{name}": f"the model's {name}" for name in scene.collected}
    key = selection.option("curve", CURVES, choices)
    if key == CURVES:
        unit, named = "agents" if found.classes else "mean", found.curves()
    else:
        name = key.removeprefix("model:")
        unit, named = "", [(name, scene.collected[name])]
    lines = [
        curves.line(n, name, plain(values[: len(steps)], 6))
        for n, (name, values) in enumerate(named)
    ]
    label = f"Curves of {choices[key]}, by step"
    with ui.Section("Outcome", "by step; click a point to go there"):
        ui.Choose("Curves show", key, choices, selection.setter("curve"))
        curves.StepChart(focus, steps, unit, lines, label, "story-outcome", 190)
