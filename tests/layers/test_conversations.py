"""Conversations: who takes part, when they are over, and what each makes of them."""

from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import ConversationMemory, MemoryRecord, configure, open_run
from mesa_memory.interventions import edit, erase
from tests.support.models import hear
from tests.support.single import scripted, settle

pytestmark = pytest.mark.filterwarnings("ignore:the run of Hall is recorded, but not")


class Guest(LLMAgent):
    """Says what the hall has for it in this step; later ones hear it in their step."""

    def step(self):
        for text, listeners in self.model.lines.pop(self.unique_id, ()):
            people = [self.model.guest[n] for n in listeners]
            self.send_message(text, people)
        self.memory.get_prompt_ready()


class Hall(mesa.Model):
    """Guests who talk. ``said`` gives the next step's lines: (who, text, *listeners)."""

    def __init__(self, n=4, base=None, record=None, rng=1, memory=None, **services):
        super().__init__(rng=rng)
        configure(self, record=record, **{"llm": "offline", **services})
        self.lines = {}
        people = settle(
            self, memory or ConversationMemory, n, Guest, "openai/guest", api_base=base
        )
        self.guest = dict(enumerate(people, 1))

    def said(self, *lines):
        """One step in which these are said, in this order of speakers."""
        for who, text, *listeners in lines:
            self.lines.setdefault(who, []).append((text, listeners))
        self.step()

    def step(self):
        for agent in list(self.agents):
            agent.step()

    def quiet(self, steps=5):
        for _ in range(steps):
            self.step()

    def told(self, number):
        return [r.content for r in self.guest[number].memory.conversations()]


# -- who takes part ----------------------------------------------------------------------


def test_messages_with_the_same_others_are_one_conversation():
    hall = Hall()
    hall.said((1, "Is the mill for sale?", 2), (2, "For 30 coins.", 1))
    hall.said((1, "That is dear.", 2), (1, "Good evening, all!", 2, 3, 4))
    hall.quiet()
    assert [(c["with"], c["turns"], c["began"], c["ended"]) for c in hall.told(1)] == [
        ([2], 3, 1, 2),
        ([2, 3, 4], 1, 2, 2),
    ]
    assert [(c["with"], c["turns"]) for c in hall.told(2)] == [([1], 3), ([1, 3, 4], 1)]
    assert [(c["with"], c["turns"]) for c in hall.told(4)] == [([1, 2, 3], 1)]


def test_an_agent_that_talks_to_itself_or_hears_nobody_in_particular_remembers_it():
    hall = Hall(2)
    guest = hall.guest[1]
    guest.memory.add_to_memory("message", {"message": "Note: buy rope.", "sender": 1})
    guest.memory.add_to_memory("message", {"message": "A storm is coming."})
    hall.quiet(6)
    (content,) = hall.told(1)
    assert (content["with"], content["turns"]) == ([], 2)
    assert "with nobody else" in guest.memory.get_prompt_ready()
    assert "rope" in content["text"] and "storm" in content["text"]


# -- when they are over --------------------------------------------------------------------


def test_a_conversation_survives_idle_steps_of_silence_and_no_more():
    hall = Hall(2)
    hall.said((1, "One rope, please.", 2))
    hall.quiet(3)
    assert hall.told(1) == []
    hall.said((2, "Here is the rope.", 1))
    hall.quiet(4)
    assert hall.told(1) == []
    hall.quiet(1)  # what came in the step before is known now: nothing
    (content,) = hall.told(1)
    assert content["turns"] == 2 and (content["began"], content["ended"]) == (1, 5)


def test_a_conversation_is_over_when_a_participant_leaves_the_model():
    hall = Hall()
    hall.said((1, "Farewell, I sail at dawn.", 2, 3), (2, "Farewell!", 1))
    hall.guest.pop(2).remove()
    hall.said((1, "She is gone.", 3))
    assert [(c["with"], c["turns"]) for c in hall.told(1)] == [([2, 3], 1)]
    open_ = hall.guest[1].memory.format_short_term()
    assert "She is gone." in open_ and "sail" not in open_
    assert [(c["with"], c["turns"]) for c in hall.told(3)] == [([1, 2], 1)]
    assert "She is gone." in hall.guest[3].memory.format_short_term()
    hall.quiet(1)  # the answer came after the first one's step
    assert [(c["with"], c["turns"]) for c in hall.told(1)] == [([2, 3], 1), ([2], 1)]


def test_a_conversation_is_closed_by_hand_with_the_step():
    hall = Hall()
    hall.said((1, "First.", 2), (1, "Aside.", 3))
    assert hall.guest[1].memory.close_conversation(hall.guest[2]) == 1
    assert hall.guest[1].memory.close_conversation(2) == 0
    hall.said((1, "Second.", 2))
    assert [(c["with"], c["turns"]) for c in hall.told(1)] == [([2], 1)]
    assert hall.guest[1].memory.close_conversation() == 2
    hall.quiet(1)
    assert [(c["with"], c["turns"]) for c in hall.told(1)] == [
        ([2], 1),
        ([3], 1),
        ([2], 1),
    ]


def test_of_a_conversation_without_end_the_oldest_part_is_summarised():
    hall = Hall(2, memory=lambda agent: ConversationMemory(agent, short_term_turns=3))
    for step in range(1, 30):
        hall.said((1, f"Word {step}.", 2))
    memory = hall.guest[1].memory
    covered = sum(c["turns"] for c in hall.told(1))
    assert covered >= 29 - 4 * 3 and "Word 29." in memory.get_prompt_ready()
    shown = memory.format_short_term()
    assert [f"Word {n}." in shown for n in (26, 27, 28, 29)] == [
        False,
        True,
        True,
        True,
    ]
    assert f"({29 - covered - 3} earlier turns not shown)" in shown


# -- SYSTEMS: the constants of the society of talking characters -------------------------


@pytest.fixture(scope="module")
def talkative():
    """30 conversations of guest 1 with guest 2, each about another thing."""
    hall = Hall(2, execution="blocking", rng=3)
    things = [f"thing{n}" for n in range(30)]
    things[2], things[4], things[5], things[9] = "violin", "bridge", "fire", "horse"
    for thing in things:
        hall.said((1, f"Let us talk about the {thing}.", 2))
        hall.guest[1].memory.close_conversation()
        hall.step()
    return hall


def test_the_newest_twenty_summaries_are_shown_and_none_is_forgotten(talkative):
    memory = talkative.guest[1].memory
    assert len(memory.conversations()) == 30
    shown = memory.format_long_term()
    assert shown.count("I talked with Agent 2.") == 20
    assert "thing29" in shown and "thing10" in shown and "horse" not in shown


def test_three_earlier_summaries_come_to_mind_for_the_last_three_lines(talkative):
    hall, memory = talkative, talkative.guest[1].memory
    recorder = configure(hall, record=True).recorder
    hall.said(
        (1, "I am hungry.", 2),
        (1, "Is the bridge mended?", 2),
        (1, "Can you still play the violin?", 2),
        (1, "Did the fire reach the horse?", 2),
    )
    shown = memory.format_long_term()
    earlier = shown.partition("Relevant earlier memories:\n")[2].partition("\n\n")[0]
    assert len(earlier.splitlines()) == 3
    found = {w for w in ("violin", "bridge", "fire", "horse") if w in earlier}
    assert len(found) == 3
    recorder.sync()
    with open_run(recorder.store) as run:
        rows = run.recalls(1, as_records=True)
    asked = {row["query"] for row in rows if row["purpose"] == "prompt"}
    assert (
        "Is the bridge mended?\nCan you still play the violin?\n"
        "Did the fire reach the horse?" in asked
    )
    configure(hall, record=None)


# -- nobody remembers what it did not hear -------------------------------------------------


# -- by hand, and from a record ------------------------------------------------------------


def test_an_erased_message_reaches_no_summary_and_an_edited_one_does():
    hall = Hall(2)
    hall.said((1, "The code is 4711.", 2), (1, "Meet me at noon.", 2))
    memory = hall.guest[2].memory
    code, noon = [r for r in memory.current_records() if r.kind == "message"]
    erase(hall.guest[2], code)
    edit(hall.guest[2], noon, noon.content | {"message": "Meet me at the mill."})
    hall.quiet()
    (content,) = hall.told(2)
    assert content["turns"] == 1 and "mill" in content["text"]
    assert "4711" not in memory.get_prompt_ready()
    assert "4711" in str(hall.told(1))


def test_an_edited_summary_is_shown_and_recalled_and_an_erased_one_is_gone():
    hall = Hall(2)
    hall.said((1, "The code is 4711.", 2))
    hall.quiet()
    memory = hall.guest[2].memory
    (record,) = memory.conversations()
    assert isinstance(record, MemoryRecord) and record.subject == 1
    with pytest.raises(
        ValueError, match=r"must have \['began', 'ended', 'turns', 'with'\]"
    ):
        edit(hall.guest[2], record, {"text": "I heard a song."})
    new = edit(hall.guest[2], record, record.content | {"text": "I heard a song."})
    assert "I heard a song." in memory.get_prompt_ready()
    assert [r.record for r in memory.recall("song")] == [new]
    erase(hall.guest[2], new)
    assert memory.conversations() == [] == memory.recall("song")


def test_one_conversation_that_cannot_be_summarised_keeps_no_other_waiting():
    """A model that has nothing usable to say of one talk is asked for the others."""

    def told(request):
        if "bewitched" in request.prompt:
            return "I'm sorry, but I can't help with that request."
        return {"summary": f"I talked with {request.inputs['others']} of bread."}

    kind = partial(ConversationMemory, idle_steps=0)
    memory, llm = scripted(kind, {"*": told})
    for sender in range(2, 8):
        words = "bewitched toads" if sender == 2 else "fresh bread"
        said = {"message": f"There are {words}.", "sender": sender}
        memory.add_to_memory("message", said)
    for _ in range(8):
        before = len(llm.history)
        hear(memory)
    others = {record.content["with"][0] for record in memory.conversations()}
    assert others == {3, 4, 5, 6, 7}
    assert "bewitched toads" in memory.get_prompt_ready()
    assert len(llm.history) - before <= 4
