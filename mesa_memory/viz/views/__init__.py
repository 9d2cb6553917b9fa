"""The views of the dashboard, in the order of their tabs.

A view is one Solara component ``View(focus)`` in a file of its own. To add one, add its
file and its line below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesa_memory.viz.views.agent import AgentView
from mesa_memory.viz.views.by_hand.by_hand import ByHandView
from mesa_memory.viz.views.compare.compare import CompareView
from mesa_memory.viz.views.contents.contents import ContentsView
from mesa_memory.viz.views.contents.evidence import EvidenceView
from mesa_memory.viz.views.contents.impressions import ImpressionsView
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


VIEWS = [
    View("story", "Story", "mdi-map-marker-path", StoryView),
    View("population", "Population", "mdi-account-group", PopulationView),
    View("agent", "Agent", "mdi-account", AgentView),
    View("recall", "Recall", "mdi-head-lightbulb-outline", RecallView),
    View("evidence", "Evidence", "mdi-file-tree", EvidenceView),
    View("contents", "Contents", "mdi-bookshelf", ContentsView),
    View("requests", "Requests", "mdi-message-text-outline", RequestsView),
    View("impressions", "Impressions", "mdi-account-switch", ImpressionsView),
    View("spread", "Spread", "mdi-share-variant", SpreadView),
    View("cost", "Cost", "mdi-currency-usd", CostView),
    View("hand", "Ask, fork", "mdi-source-fork", ByHandView),
    View("compare", "Compare", "mdi-compare", CompareView),
]
