"""One agent's memory while its provider fails, and after it has recovered."""

import pytest

from mesa_memory import LLMError, LLMRejected, LLMUnavailable, MemoryStalled, configure
from tests.support.client import warm_up
from tests.support.faults import CURED, FAULTS, PENDING, REFUSAL, REJECTED, cases
from tests.support.fleet import ASKING, EXECUTIONS, HANGING, HASTY, PURPOSE, Town
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.openai_server import Behaviour, OpenAIServer, always
from tests.support.ways import way  # noqa: F401 - each test on both

in_both_executions = pytest.mark.parametrize("execution", EXECUTIONS)


@pytest.fixture(scope="module")
def server():
    warm_up()
    with OpenAIServer() as server:
        yield server


class Story:
    """An agent that is told two things and sees one in each step."""

    def __init__(self, memory, server, execution, **services):
        server.behave = None
        self.server = server
        settings = HASTY | services
        self.town = Town(memory, 1, server.base, execution=execution, **settings)
        (self.agent,) = self.town.citizens
        self.memory = self.agent.memory
        self.town.script = self.happen
        self.calm(4)

    def happen(self, agent):
        step = self.town.steps
        self.town.tell(agent, f"word {step}a from Bob", sender=2)
        self.town.tell(agent, f"word {step}b from Bob", sender=2)
        self.town.show(agent, f"sight {step}")

    def calm(self, steps):
        """Steps with a provider that works."""
        self.server.behave = None
        for _ in range(steps):
            self.town.advance()
        self.town.services.flush()

    def storm(self, behave, steps=2, **settings):
        """Steps with one that does not; none asks more often than it may."""
        self.server.behave = behave
        usual = self.town.services.settings
        configure(self.town, **settings)
        for _ in range(steps):
            before = self.server.requests
            self.town.advance()
            self.town.services.flush()
            assert self.server.requests - before <= self.town.most_requests()
        configure(self.town, timeout=usual.timeout, attempts=usual.attempts)

    @property
    def due(self):
        return self.town.due(self.agent)

    @property
    def thought(self):
        return self.town.thought()[1]


@pytest.mark.parametrize(("memory", "fault", "execution"), cases(CURED))
def test_a_fault_that_passes_leaves_no_trace(memory, fault, execution, server):
    story = Story(memory, server, execution, attempts=5)
    before = story.thought
    story.storm(FAULTS[fault].make())
    assert story.due == 0
    assert story.thought != before
    for text in (str(story.thought), story.memory.get_prompt_ready()):
        assert not set(text) & {"\x00", "\x07", "\x1b", "\ud800"}
        assert "sorry" not in text
    story.town.check_nothing_lost()


@pytest.mark.parametrize(("memory", "fault", "execution"), cases(PENDING))
def test_an_outage_leaves_the_work_waiting_and_loses_nothing(
    memory, fault, execution, server, caplog
):
    story = Story(memory, server, execution)
    before = story.thought
    story.storm(FAULTS[fault].make(), **HANGING if fault == "silent" else {})
    assert "kept and tried again at the next step (2 in a row)" in caplog.text
    assert story.due > 0
    assert story.thought == before
    assert REFUSAL not in story.memory.get_prompt_ready()
    story.town.check_nothing_lost()
    story.calm(1)
    assert story.due == 0
    assert story.thought != before
    story.town.check_nothing_lost()


@pytest.mark.parametrize(("memory", "fault", "execution"), cases(REJECTED))
def test_a_refused_request_stops_the_run_typed_and_loses_nothing(
    memory, fault, execution, server
):
    story = Story(memory, server, execution)
    before = story.thought
    server.behave = FAULTS[fault].make()
    with pytest.raises(LLMRejected, match="refuses the request") as info:
        for _ in range(2):  # in deferred execution it shows at the next hook
            story.town.advance()
    error = info.value
    assert (error.agent, error.purpose) == (1, PURPOSE[memory])
    assert error.step == 5
    assert story.thought == before
    server.behave = None
    story.town.check_nothing_lost()
    story.calm(1)
    assert story.due == 0
    story.town.check_nothing_lost()


@in_both_executions
@pytest.mark.parametrize("memory", ASKING)
def test_too_many_steps_without_an_answer_stop_the_run(memory, execution, server):
    story = Story(memory, server, execution, max_pending_steps=3)
    server.behave = always(Behaviour.status(503))
    with pytest.raises(MemoryStalled) as info:
        for _ in range(4):
            story.town.advance()
    stalled = info.value
    assert (stalled.agent, stalled.purpose) == (1, PURPOSE[memory])
    assert (stalled.step, stalled.pending_steps) == (7, 3)
    assert isinstance(stalled.__cause__, LLMUnavailable)
    assert f"agent 1, step 7: {PURPOSE[memory]} has failed" in str(stalled)
    server.behave = None
    story.town.check_nothing_lost()
    story.calm(1)
    assert story.due == 0
    story.town.check_nothing_lost()


@in_both_executions
@pytest.mark.parametrize("memory", ASKING)
@pytest.mark.parametrize("text", ['{"nonsense": 1', None], ids=["nonsense", "null"])
def test_answers_that_cannot_be_used_stop_no_run(memory, text, execution, server):
    story = Story(memory, server, execution, max_pending_steps=3)
    before = story.thought
    server.behave = always(Behaviour.text(text))
    for _ in range(6):
        story.town.advance()
    story.town.services.flush()
    assert story.thought == before
    story.town.check_nothing_lost()
    story.calm(1)
    # What has got no grade in three steps stays without one.
    assert story.due == (12 if memory == "episodic" else 0)
    assert story.thought != before
    story.town.check_nothing_lost()


@in_both_executions
@pytest.mark.parametrize("memory", ASKING)
def test_a_step_that_works_starts_the_count_anew(memory, execution, server):
    story = Story(memory, server, execution, max_pending_steps=3)
    for _ in range(3):
        story.storm(always(Behaviour.status(503)))
        story.calm(1)
    story.town.check_nothing_lost()


@in_both_executions
@pytest.mark.parametrize("memory", ASKING)
@pytest.mark.parametrize(
    "failure",
    [Behaviour.status(500), Behaviour.text('{"nonsense": 1}')],
    ids=["500", "nonsense"],
)
def test_on_request_the_first_failure_stops_the_run(failure, memory, execution, server):
    story = Story(memory, server, execution, on_failure="raise")
    server.behave = always(failure)
    with pytest.raises(MemoryStalled, match=r"has failed for 1 step\(s\)") as info:
        for _ in range(2):
            story.town.advance()
    assert info.value.step == 5
    assert isinstance(info.value.__cause__, LLMError)
    server.behave = None
    story.town.check_nothing_lost()
    story.calm(1)
    assert story.due == 0
