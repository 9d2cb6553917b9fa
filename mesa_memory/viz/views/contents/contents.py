"""The contents of a memory: a page for each kind that it has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import solara

from mesa_memory.viz.data.contents import contents as data
from mesa_memory.viz.views.contents.chapters import StoryPage
from mesa_memory.viz.views.contents.facts import FactsPage
from mesa_memory.viz.views.conversations import ConversationsPage
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.views.nothing import OtherAgent
from mesa_memory.viz.views.requests.budget import BudgetPage
from mesa_memory.viz.widgets import Choose, Section


@dataclass(frozen=True)
class ContentsPage:
    """A page of the view.

    Attributes:
        label: its name for people.
        lacks: says of an agent that its memory lacks this page, and which memories do.
        component: called with a ``Focus``.
    """

    label: str
    lacks: str
    component: Callable[..., Any]


PAGES = {
    "conversations": ContentsPage(
        "Conversations",
        "has not heard or said anything: no message is in its memory",
        ConversationsPage,
    ),
    "facts": ContentsPage(
        "Facts",
        "does not write facts: FactMemory and LayeredMemory.session() do",
        FactsPage,
    ),
    "story": ContentsPage(
        "Story and chapters",
        "tells no story: NarrativeMemory and LayeredMemory.story_engine() do",
        StoryPage,
    ),
    "budget": ContentsPage(
        "Budget of the prompt",
        "does not limit its prompt by a budget: LayeredMemory does",
        BudgetPage,
    ),
}
#: name of the page in the address
OPTION = "contents"


@solara.component
def ContentsView(focus: Focus) -> Any:
    """The pages that the agent's memory has; one of them."""
    budget = focus.source.of(data.has, focus.agent, "budget")
    have = data.contents(focus.past, budget)
    usual = next(iter(have), "conversations")
    chosen = focus.selection.option(OPTION, usual, PAGES)
    labels = {
        key: page.label if key in have else f"{page.label} (none)"
        for key, page in PAGES.items()
        if key in have or key == chosen
    }
    with solara.Column(gap="0px"):
        with solara.Div(classes=["mm-row"]):
            Choose("Contents", chosen, labels, focus.selection.setter(OPTION))
        if chosen in have:
            PAGES[chosen].component(focus).key(chosen)
        else:
            NoPage(focus, chosen)


@solara.component
def NoPage(focus: Focus, chosen: str) -> Any:
    """The agent's memory lacks this page; the button leads to one that has."""
    page = PAGES[chosen]
    other = focus.source.of(data.who_has, chosen)
    with Section(f"{page.label} of agent {focus.name}"):
        OtherAgent(
            focus,
            f"Agent {focus.name} {page.lacks}.",
            "mdi-file-remove-outline",
            None if other in (None, focus.agent) else (other, focus.step),
            "No agent of this run has this page.",
        )
