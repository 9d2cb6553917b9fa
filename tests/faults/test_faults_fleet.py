"""A fleet of agents with all five memories while their provider fails."""

import contextlib
import itertools

import pytest

from mesa_memory import LLMRejected, configure
from tests.support.client import warm_up
from tests.support.faults import CURED, FAULTS, PENDING, REJECTED, case
from tests.support.fleet import EXECUTIONS, HANGING, HASTY, MIXED, MODES, Town
from tests.support.openai_server import OpenAIServer
from tests.support.waiting import until
from tests.support.ways import way  # noqa: F401 - each test on both

COUNT = 10
CONCURRENCY = 4
KEY = {
    "429 four times": CURED,
    "fenced": CURED,
    "503": PENDING,
    "silent": PENDING,
    "drop inside": PENDING,
    "typed refusal": PENDING,
    "401": REJECTED,
}
WAYS = itertools.cycle(itertools.product(MODES, EXECUTIONS))


@pytest.fixture
def server():
    warm_up()
    with OpenAIServer() as server:
        yield server


class Fleet:
    """Ten agents, each with the next kind of memory, who are told what others are not.

    No agent speaks to another, so that what one remembers depends on nobody else.
    """

    def __init__(self, server, mode, execution):
        server.behave = None
        self.server, self.mode = server, mode
        self.execution = execution
        self.settings = HASTY | {"concurrency": CONCURRENCY}
        self.town = Town(
            MIXED, COUNT, server.base, execution=execution, **self.settings
        )
        self.town.script = self.happen

    def happen(self, agent):
        me, step = agent.unique_id, self.town.steps
        self.town.tell(agent, f"word {step} for-{me}. from Bob", sender=99)
        self.town.tell(agent, f"more {step} for-{me}. from Bob", sender=99)
        self.town.show(agent, f"sight {step} of-{me}.")

    def live(self, steps, behave=None):
        """Some steps, to the end of all work; none asks more often than it may."""
        self.server.behave = behave
        for _ in range(steps):
            before = self.server.requests
            self.town.advance(self.mode)
            self.town.services.flush()
            assert self.server.requests - before <= self.town.most_requests()

    def configure(self, **changes):
        """Other settings for what comes; the memories stay."""
        configure(self.town, execution=self.execution, **(self.settings | changes))

    def meet(self, fault, outcome, steps=2):
        """Some steps with a fault; lasting ones are told typed, by each agent."""
        behave = fault.make()
        if outcome == REJECTED:
            with pytest.raises(LLMRejected):
                self.live(steps, behave)
            self.server.behave = None
            with contextlib.suppress(LLMRejected):
                self.town.services.flush()
        else:
            self.live(steps, behave)
        # A broken connection may still be closing when the next one is opened.
        until(lambda: self.server.open_connections <= CONCURRENCY)

    def asking(self):
        """The agents whose memory needs a model."""
        return [c for c in self.town.citizens if c.memory.layer != "short_term"]

    def due(self):
        """The agents whose memory is behind."""
        return {c.unique_id for c in self.town.citizens if self.town.due(c)}

    def shown(self):
        return {c.unique_id: c.memory.get_prompt_ready() for c in self.town.citizens}


def by_turns(*names, found):
    """Runs a test with each of these, on both ways in turn."""
    both = itertools.cycle(("direct", "litellm"))
    cases = [case(*each, next(both)) for each in found]
    return pytest.mark.parametrize((*names, "way"), cases, indirect=["way"])


@by_turns(
    "mode",
    "execution",
    "fault",
    found=[(*mode, fault) for fault, mode in zip([*KEY, "503", "401"], WAYS)],
)
def test_a_fleet_gets_over_a_fault_and_loses_nothing(mode, execution, fault, server):
    fleet = Fleet(server, mode, execution)
    fleet.live(3)
    before = fleet.town.thought()
    changed = {"429 four times": {"attempts": 5}, "silent": HANGING}
    fleet.configure(**changed.get(fault, {}))
    fleet.meet(FAULTS[fault], KEY[fault], steps=1 if fault == "silent" else 2)
    if KEY[fault] == PENDING:
        assert fleet.town.thought() == before
        assert fleet.due() == {c.unique_id for c in fleet.asking()}
    fleet.configure()
    fleet.town.check_nothing_lost()
    fleet.live(1)
    assert fleet.due() == set()
    fleet.town.check_nothing_lost()
    assert server.in_flight_max <= CONCURRENCY
    until(lambda: server.open_connections <= CONCURRENCY)
    broken = fault in ("silent", "drop inside")
    assert server.max_connections <= CONCURRENCY * (2 if broken else 1)


@pytest.fixture(scope="module")
def undisturbed():
    """What each agent is shown at the end of a run in which nothing fails."""
    with OpenAIServer() as server:
        fleet = Fleet(server, "sync", "blocking")
        fleet.live(7)
        return fleet.shown(), fleet.town.thought()


@by_turns(
    "mode",
    "execution",
    "unlucky",
    "fault",
    found=[
        ("sync", "blocking", 2, "500"),
        ("asyncio", "deferred", 5, "429 always, retry after 0.2 s"),
        ("threading", "deferred", 4, "refusal"),
    ],
)
def test_one_agents_outage_does_not_disturb_the_others(
    mode, execution, unlucky, fault, server, undisturbed
):
    mark, behaviour = f"-{unlucky}.", FAULTS[fault].make()
    fleet = Fleet(server, mode, execution)
    fleet.live(7, lambda asked: behaviour(asked) if mark in asked.prompt else None)
    shown, thought = undisturbed
    for number, text in fleet.shown().items():
        assert (text == shown[number]) == (number != unlucky)
        assert thought[number] == fleet.town.thought()[number] or number == unlucky
    assert fleet.due() == {unlucky}
    assert fleet.town.thought()[unlucky] == []
    fleet.town.check_nothing_lost()
    fleet.live(1)
    assert fleet.due() == set()
    fleet.town.check_nothing_lost()
