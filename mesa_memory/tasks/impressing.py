"""Asks a model for all impressions of one agent that are due, in as few requests as possible.

As many as fit are requested together. Of a reply that leaves some out, or has some
that are invalid, the good ones count, and each of the others is asked for alone: an agent
of whom the model can say nothing keeps back no impression of another one.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from mesa_memory.core.requests import Fault, Flow, LLMRequest, gather
from mesa_memory.errors import BadReply, ContentFiltered, PromptTooLong
from mesa_memory.tasks.impress import IMPRESS, Impression

#: most agents in one request, and about the most characters of what happened with them
MAX_OTHERS, REQUEST_CHARS = 20, 24_000

#: makes the request for what is told of one agent, or of several
type Request = Callable[[Sequence[Mapping[str, Any]]], LLMRequest]


def impress_together(
    others: Sequence[Mapping[str, Any]], request: Request, most: int = MAX_OTHERS
) -> Flow[list[Impression | Fault]]:
    """An impression of each of these agents, or the fault, in their order.

    Args:
        others: of each ``subject``, ``previous``, ``since``, ``meetings``.
        request: makes the request for some of them.
        most: agents in one request.
    """
    groups = _groups(others, most)
    outcomes = yield from gather([_of_group(group, request) for group in groups])
    found: list[Impression | Fault] = []
    for group, outcome in zip(groups, outcomes, strict=True):
        found += outcome if isinstance(outcome, list) else [outcome] * len(group)
    return found


def _groups(
    others: Sequence[Mapping[str, Any]], most: int
) -> list[list[Mapping[str, Any]]]:
    """The agents in their order, as many to a group as fit into one request."""
    groups: list[list[Mapping[str, Any]]] = []
    size = 0
    for other in others:
        own = sum(map(len, other["since"]))
        size += own
        if not groups or len(groups[-1]) == most or size > REQUEST_CHARS:
            groups.append([])
            size = own
        groups[-1].append(other)
    return groups


def _of_group(
    group: Sequence[Mapping[str, Any]], request: Request
) -> Flow[list[Impression | Fault]]:
    """Asks for all of a group, then for each missing one alone.

    Raises:
        LLMError: if the model cannot be reached.
    """
    found: dict[int, Impression | Fault] = {}
    if len(group) > 1:
        # It may be able to answer for one at a time.
        with suppress(BadReply, PromptTooLong, ContentFiltered):
            found |= yield from IMPRESS.ask(request(group))
    left = [place for place in range(len(group)) if place not in found]
    alone = [IMPRESS.ask(request([group[place]])) for place in left]
    found |= zip(left, (yield from gather(alone)), strict=True)
    return [found[place] for place in range(len(group))]
