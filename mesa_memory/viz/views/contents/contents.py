"""What a memory has made of what happened: one page for each kind, if it has any."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.data import agent as memories
from mesa_memory.viz.data.contents import contents as data
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.contents.chapters import StoryPage
from mesa_memory.viz.views.contents.facts import FactsPage
from mesa_memory.viz.views.conversations import ConversationsPage
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.views.requests.budget import BudgetPage
from mesa_memory.viz.widgets import Choose, Empty, Section


@dataclass(frozen=True)
class Page:
    """A page of the view.

    Attributes:
        label: its name for people.
        lacks: what an agent without it does not have, and which memories do.
        component: called with source, selection, agent and step.
    """

    label: str
    lacks: str
    component: Callable[..., Any]


PAGES = {
    "conversations": Page(
        "Conversations",
        "has heard and said nothing: no message is in its memory",
        ConversationsPage,
    ),
    "facts": Page(
        "Facts",
        "has no facts: FactMemory and LayeredMemory.session() write some",
        FactsPage,
    ),
    "story": Page(
        "Story and chapters",
        "tells no story: NarrativeMemory and LayeredMemory.story_engine() do",
        StoryPage,
    ),
    "budget": Page(
        "Budget of the prompt",
        "has no budget for its prompt: LayeredMemory has one",
        BudgetPage,
    ),
}
#: name of the page in the address
OPTION = "contents"


@solara.component
def ContentsView(source: Source, selection: Selection) -> Any:
    """The pages that the agent's memory has; one of them."""
    agent, step = selection.agent(source), selection.step(source)
    if agent is None or step is None:
        NoMemories()
        return
    past = source.of(memories.past, agent)
    have = data.contents(past, source.of(data.has_budget, agent))
    chosen = selection.option(OPTION, next(iter(have), "conversations"), PAGES)
    labels = {
        key: page.label if key in have else f"{page.label} (none)"
        for key, page in PAGES.items()
        if key in have or key == chosen
    }
    with solara.Column(gap="0px"):
        with solara.Div(classes=["mm-row"]):
            Choose(
                "Contents",
                chosen,
                labels,
                lambda key: selection.set_option(OPTION, key),
            )
        if chosen in have:
            PAGES[chosen].component(source, selection, agent, step).key(chosen)
        else:
            Lacking(source, selection, agent, chosen)


@solara.component
def Lacking(source: Source, selection: Selection, agent: Any, chosen: str) -> Any:
    """Says that an agent's memory has no such page, and who has one."""
    page = PAGES[chosen]
    other = source.of(data.who_has, chosen)
    with Section(f"{page.label} of agent {source.called(agent)}"):
        text = f"Agent {source.called(agent)} {page.lacks}."
        if other is not None and other != agent:
            Empty(
                text,
                "mdi-file-remove-outline",
                f"Go to agent {source.called(other)}",
                lambda: selection.choose(agent=other),
            )
        else:
            Empty(
                f"{text} No agent of this run has this page.",
                "mdi-file-remove-outline",
                "See all layers of this agent",
                lambda: selection.choose(view="agent"),
            )
