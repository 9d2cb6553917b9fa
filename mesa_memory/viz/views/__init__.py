"""The views of the dashboard, by the groups of their tabs.

A view is one Solara component ``View(focus)`` in a file of its own. To add one, add its
file and its line below.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from mesa_memory.viz.views.agent import AgentView
from mesa_memory.viz.views.by_hand.by_hand import ByHandView
from mesa_memory.viz.views.compare.compare import CompareView
from mesa_memory.viz.views.contents.chapters import ChaptersView
from mesa_memory.viz.views.contents.evidence import EvidenceView
from mesa_memory.viz.views.contents.facts import FactsView
from mesa_memory.viz.views.contents.impressions import ImpressionsView
from mesa_memory.viz.views.conversations import ConversationsView
from mesa_memory.viz.views.population import PopulationView
from mesa_memory.viz.views.recall.recall import RecallView
from mesa_memory.viz.views.requests.cost import CostView
from mesa_memory.viz.views.requests.requests import RequestsView
from mesa_memory.viz.views.spread.spread import SpreadView
from mesa_memory.viz.views.story.story import StoryView


@dataclass(frozen=True)
class View:
    """A tab of the dashboard.

    Attributes:
        key: its name in the address.
        label: its name for people.
        icon: of Material Design Icons.
        component: called with a ``Focus``.
    """

    key: str
    label: str
    icon: str
    component: Callable[..., Any]

    @property
    def views(self) -> tuple["View", ...]:
        """Itself, as the views of a ``Group``."""
        return (self,)


@dataclass(frozen=True)
class Group:
    """Views under one tab; several have a row of tabs of their own.

    Attributes:
        label, icon: as of a ``View``.
        views: at least one.
    """

    label: str
    icon: str
    views: tuple[View, ...]

    @property
    def key(self) -> str:
        """Stands for the group in its page."""
        return f"group-{self.views[0].key}"


GROUPS = (
    Group(
        "Story",
        "mdi-map-marker-path",
        (View("story", "Story", "mdi-map-marker-path", StoryView),),
    ),
    Group(
        "Agent",
        "mdi-account",
        (
            View("agent", "Memory", "mdi-brain", AgentView),
            View(
                "conversations", "Conversations", "mdi-forum-outline", ConversationsView
            ),
            View("facts", "Facts", "mdi-book-outline", FactsView),
            View("chapters", "Chapters", "mdi-book-open-outline", ChaptersView),
            View("hand", "Ask, fork", "mdi-source-fork", ByHandView),
        ),
    ),
    Group(
        "Recall and Evidence",
        "mdi-head-lightbulb-outline",
        (
            View("recall", "Recall", "mdi-head-lightbulb-outline", RecallView),
            View("evidence", "Evidence", "mdi-file-tree", EvidenceView),
        ),
    ),
    Group(
        "Society",
        "mdi-account-group",
        (
            View("population", "Population", "mdi-account-group", PopulationView),
            View("impressions", "Impressions", "mdi-account-switch", ImpressionsView),
            View("spread", "Spread", "mdi-share-variant", SpreadView),
        ),
    ),
    Group(
        "Cost and Requests",
        "mdi-currency-usd",
        (
            View("cost", "Cost", "mdi-currency-usd", CostView),
            View("requests", "Requests", "mdi-message-text-outline", RequestsView),
        ),
    ),
    Group(
        "Compare",
        "mdi-compare",
        (View("compare", "Compare", "mdi-compare", CompareView),),
    ),
)
VIEWS = [view for group in GROUPS for view in group.views]


def groups_of(views: Iterable[View]) -> list[Group]:
    """The groups that have some of these views, with these alone."""
    given = {view.key: view for view in views}
    found = [
        replace(group, views=tuple(given[v.key] for v in group.views if v.key in given))
        for group in GROUPS
    ]
    return [group for group in found if group.views]
