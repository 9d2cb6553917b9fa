"""The views of the dashboard, by the groups of their tabs.

A view is one Solara component ``View(focus)`` in a file of its own. To add one, add its
file and its line below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesa_memory.viz.views.agent import AgentView
from mesa_memory.viz.views.by_hand import ByHandView
from mesa_memory.viz.views.chapters import ChaptersView
from mesa_memory.viz.views.compare import CompareView
from mesa_memory.viz.views.conversations import ConversationsView
from mesa_memory.viz.views.cost import CostView
from mesa_memory.viz.views.decisions import DecisionsView
from mesa_memory.viz.views.evidence import EvidenceView
from mesa_memory.viz.views.facts import FactsView
from mesa_memory.viz.views.impressions import ImpressionsView
from mesa_memory.viz.views.population import PopulationView
from mesa_memory.viz.views.recall import RecallView
from mesa_memory.viz.views.requests import RequestsView
from mesa_memory.viz.views.retention import DriftView, RetentionView
from mesa_memory.viz.views.spread import SpreadView
from mesa_memory.viz.views.story import StoryView


@dataclass(frozen=True)
class View:
    """A tab of the dashboard.

    Attributes:
        key: its name in the address.
        label: its name for people.
        component: called with a ``Focus``.
    """

    key: str
    label: str
    component: Callable[..., Any]

    @property
    def views(self) -> tuple["View", ...]:
        """Itself, as the views of a ``Group``."""
        return (self,)


@dataclass(frozen=True)
class Group:
    """Views under one tab; several have a row of tabs of their own.

    Attributes:
        label: its name for people.
        views: at least one.
    """

    label: str
    views: tuple[View, ...]

    @property
    def key(self) -> str:
        """Stands for the group in its page."""
        return f"group-{self.views[0].key}"


AGENT = (
    View("agent", "Memory", AgentView),
    View("conversations", "Conversations", ConversationsView),
    View("facts", "Facts", FactsView),
    View("chapters", "Chapters", ChaptersView),
    View("hand", "Ask, fork", ByHandView),
)
RECALL = (
    View("recall", "Recall", RecallView),
    View("evidence", "Evidence", EvidenceView),
    View("drift", "Drift", DriftView),
)
SOCIETY = (
    View("population", "Population", PopulationView),
    View("retention", "Retention", RetentionView),
    View("decisions", "Decisions", DecisionsView),
    View("impressions", "Impressions", ImpressionsView),
    View("spread", "Spread", SpreadView),
)
COST = View("cost", "Cost", CostView), View("requests", "Requests", RequestsView)
GROUPS = (
    Group("Story", (View("story", "Story", StoryView),)),
    Group("Agent", AGENT),
    Group("Recall and Evidence", RECALL),
    Group("Society", SOCIETY),
    Group("Cost and Requests", COST),
    Group("Compare", (View("compare", "Compare", CompareView),)),
)
