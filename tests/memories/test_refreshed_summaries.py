"""A summary goes back to the events from time to time, where that is wished."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    LLMRejected,
    LongTermMemory,
    Services,
    STLTMemory,
    configure,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.interventions import edit, erase, swap
from mesa_memory.layers.archive import ARCHIVE_CHARS, EventArchive
from mesa_memory.layers.summary import REQUEST_CHARS
from mesa_memory.layers.window import Window
from mesa_memory.llm import Reply
from tests.memories.alone import happens, joined

ASKED = []


class Short:
    """Keeps of each request the day and the words of all its events."""

    instant = True

    def __init__(self):
        self.bad = []

    def complete(self, request):
        ASKED.append(request)
        if self.bad and request.inputs.get("anew"):
            if isinstance(self.bad[0], Exception):
                raise self.bad.pop(0)
            return Reply(self.bad[0], "short", cost=0.0)
        lines = request.inputs["lines"]
        said = "; ".join(line[:60] for _, line in lines[:50])
        words = f"Agent 9 spoke of the mill; then, on day {lines[-1][0]}: {said}"
        return Reply(f'{{"summary": "{words}"}}', "short", cost=0.0)


class Mill(mesa.Model):
    """People who hear something of the mill in each step."""

    def __init__(self, every=3, record=None, memory="long_term", people=2):
        super().__init__(rng=1)
        self.llm = Short()
        configure(self, llm=self.llm, record=record, execution="blocking")
        name = register_policy("quiet", lambda turn: "")
        makers = {
            "long_term": lambda a: LongTermMemory(a, refresh_every=every),
            "stlt": lambda a: STLTMemory(a, 1, 1, refresh_every=every),
        }
        self.people = [LLMAgent(self, CoTReasoning, name) for _ in range(people)]
        for person in self.people:
            person.memory = makers[memory](person)

    def step(self):
        for person in self.people:
            said = f"word {self.steps} for {person.unique_id} of the mill"
            heard = {"message": said, "sender": 9}
            person.memory.add_to_memory("message", heard)
            person.memory.process_step()


@pytest.fixture(autouse=True)
def asked():
    ASKED.clear()
    return ASKED


@pytest.fixture(autouse=True)
def _quietly(recwarn):
    """The model's own llm object cannot be recorded."""
    return recwarn


def told(agent=1):
    """Of the words, which each request of an agent told, by their steps."""
    return [
        [int(line.split("word ")[1].split()[0]) for _, line in r.inputs["lines"]]
        for r in ASKED
        if r.agent == agent
    ]


def lived(model, steps):
    for _ in range(steps):
        model.step()
    return model


@pytest.mark.parametrize("memory", ["long_term", "stlt"])
def test_each_nth_summary_is_made_from_the_events_anew(memory):
    lived(Mill(3, memory=memory), 9)
    assert told()[:7] == [[1], [2], [1, 2, 3], [4], [5], [1, 2, 3, 4, 5, 6], [7]]
    assert "go by what happened" in ASKED[4].prompt
    assert "go by what happened" not in ASKED[0].prompt


def test_by_default_it_never_does_and_holds_nothing():
    model = lived(Mill(None), 12)
    assert told() == [[step] for step in range(1, 13)]
    assert model.people[0].memory.layers[1].archive.events() == []


def test_the_events_are_among_its_sources():
    model = lived(Mill(3), 3)
    record = model.people[0].memory.layers[1].current
    assert record.sources == (
        "1/long_term/summary/2",
        *(f"1/long_term/message/{n}" for n in (1, 2, 3)),
    )


@pytest.mark.parametrize("every", [0, -1, 2.5, True, "ten"])
@pytest.mark.parametrize("memory", ["long_term", "stlt"])
def test_a_wrong_number_is_told(every, memory):
    with pytest.raises(ValueError, match="refresh_every must be >= 1"):
        Mill(every, memory=memory)


# -- what a researcher has done stays done -------------------------------------------


def test_what_was_written_by_hand_is_not_undone():
    model = lived(Mill(3), 2)
    model.people[0].memory.long_term_memory = "Agent 9 never spoke of the mill."
    lived(model, 4)
    # Nothing of before is told again; the other agent goes on as it was.
    assert told(1) == [[1], [2], [3], [4], [3, 4, 5], [6]]
    assert told(2)[2] == [1, 2, 3]


def test_a_summary_that_was_edited_is_not_undone():
    model = lived(Mill(3), 2)
    first = model.people[0]
    edit(first, first.memory.layers[1].current, {"text": "No word of the mill."})
    lived(model, 3)
    assert told(1) == [[1], [2], [3], [4], [3, 4, 5]]


def test_what_was_erased_does_not_come_back():
    model = lived(Mill(3), 2)
    first = model.people[0]
    erase(first, first.memory.layers[1].current)
    lived(model, 3)
    assert told(1) == [[1], [2], [3], [4], [3, 4, 5]]


def test_a_swapped_memory_goes_back_to_its_own_events():
    model = lived(Mill(3), 2)
    swap(*model.people)
    model.step()
    lines = [line for _, line in ASKED[-2].inputs["lines"]]
    assert ["for 2" in line for line in lines] == [True, True, False]


# -- what does not fit, and what goes wrong ------------------------------------------


def test_the_request_is_no_longer_than_any_other():
    model = Mill(20, people=1)
    memory = model.people[0].memory
    for day in range(20):
        for number in range(6):
            said = f"word {day} {number} of the mill {'and more ' * 60}"
            memory.add_to_memory("message", {"message": said, "sender": 9})
        memory.process_step()
    assert ASKED[19].inputs["anew"]
    assert len(ASKED[19].prompt) < REQUEST_CHARS + 1000
    assert sum(len(line) for _, line in ASKED[19].inputs["lines"]) <= REQUEST_CHARS
    held = memory.layers[1].archive.events()
    assert 20 < len(held) < 120
    assert sum(len(memory.layer_context.line(e)) for e in held) <= ARCHIVE_CHARS


def test_the_archive_leaves_out_what_matters_least_and_of_that_the_oldest():
    window, archive = joined(Window(100)), EventArchive(200)
    quiet = happens([window], *[f"Nothing, number {n}." for n in range(5)])
    fire = happens([window], "The mill is on fire, I promise!")
    later = happens([window], *[f"Nothing, number {n}." for n in range(5, 8)])
    line = window.context.line
    for events in (quiet, fire, later):
        archive.add(events, line)
    held = archive.events()
    assert fire[0] in held and later[-1] in held and quiet[0] not in held
    assert held == sorted(held, key=lambda event: event.number)
    assert archive.events(60) == fire


@pytest.mark.parametrize(
    "bad", ["No.", LLMRejected("too long for the model", purpose="consolidate")]
)
def test_if_that_is_too_much_for_the_model_it_goes_on_as_ever(bad):
    model = Mill(3, people=1)
    model.llm.bad.append(bad)
    lived(model, 5)
    if isinstance(bad, str):
        # With its repair round.
        expected = [[1], [2], [1, 2, 3], [1, 2, 3], [3], [4], [5]]
    else:
        expected = [[1], [2], [1, 2, 3], [3], [4], [5]]
    assert told() == expected
    assert "word 5" in model.people[0].memory.long_term_memory


# -- recorded and resumed ------------------------------------------------------------


@pytest.mark.parametrize("memory", ["long_term", "stlt"])
@pytest.mark.parametrize("after", [1, 2, 4, 5])
def test_a_resumed_run_goes_back_to_the_same_events(after, memory, tmp_path):
    lived(Mill(3, memory=memory), 9)
    whole = [(r.agent, r.step, r.prompt) for r in ASKED]
    ASKED.clear()
    file = tmp_path / "run.sqlite"
    first = lived(Mill(3, file, memory), after)
    Services.of(first).recorder.close()
    again = resume(Mill, file)
    lived(again, 9 - after)
    assert [(r.agent, r.step, r.prompt) for r in ASKED] == whole
    Services.of(again).recorder.close()
    with open_run(file) as run:
        assert len(run.steps) == 9
