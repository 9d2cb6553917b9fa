"""Fields to choose an agent, one of a few, a number, or a text."""

from collections.abc import Callable, Mapping
from typing import Any

import solara

from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.live_run import RunState


def AgentPicker(
    source: RunState, selection: Selection, chosen: Any, other: bool = False
) -> Any:
    """A list of the agents in which one can type.

    Args:
        chosen: the agent that is shown; None without one.
        other: choose the agent to compare with.
    """
    field = "other_agent" if other else "agent"
    items = [{"text": source.called(a), "value": str(a)} for a in source.agent_ids]
    return solara.v.Autocomplete(
        label="Compare with agent" if other else "Agent",
        items=items,
        v_model=None if chosen is None else str(chosen),
        on_v_model=lambda value: selection.choose(**{field: value}),
        clearable=other,
        prepend_inner_icon="mdi-account-multiple" if other else "mdi-account",
        class_="mm-field",
        dense=True,
        hide_details=True,
        outlined=True,
        disabled=not items,
        no_data_text="No such agent",
    )


@solara.component_vue("choose.vue")
def _Choose(
    label: str, value: str, choices: list[Any], wide: bool, event_choose: Any
) -> None: ...


def Choose(
    label: str,
    value: str,
    choices: Mapping[str, str],
    on_value: Callable[[str], None],
    wide: bool = False,
) -> Any:
    """One of a few.

    Args:
        label: of the field.
        value: the chosen key.
        choices: keys and their texts.
        on_value: called with the key.
        wide: the texts are long.
    """
    return _Choose(
        label=label,
        value=value,
        choices=[{"key": key, "text": text} for key, text in choices.items()],
        wide=wide,
        event_choose=on_value,
    )


@solara.component
def TextBox(selection: Selection) -> Any:
    """The text that is looked for in all memories; takes effect with Enter, or on leaving."""
    value = selection.choice.text.strip()
    typed = solara.use_reactive(value)
    solara.use_effect(lambda: typed.set(value), [value])

    def done(*_: Any) -> None:
        if typed.value.strip() != value:
            selection.choose(text=typed.value.strip())

    field = solara.v.TextField(
        label="Text in all memories",
        v_model=typed.value,
        on_v_model=lambda text: typed.set(text or ""),
        class_="mm-field mm-field-wide",
        prepend_inner_icon="mdi-magnify",
        clearable=True,
        dense=True,
        hide_details=True,
        outlined=True,
    )
    solara.v.use_event(field, "keydown.enter", done)
    solara.v.use_event(field, "blur", done)
    solara.v.use_event(field, "click:clear", lambda *_: selection.choose(text=""))
    return field


@solara.component_vue("slide.vue")
def Slide(
    label: str,
    value: float,
    min: float,
    max: float,
    step: float,
    event_change: Callable[[float], None],
) -> None:
    """A slider whose value is always to be read.

    Args:
        label: what is chosen.
        value, min, max, step: numbers.
        event_change: called with the number on which the slider was left.
    """
