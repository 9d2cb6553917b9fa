"""The audience of a message: everybody who got it knows it, in each line and each talk."""

import asyncio
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import mesa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.st_memory import ShortTermMemory as TheirMemory
from mesa_llm.tools.inbuilt_tools import speak_to

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    ImpressionMemory,
    ShortTermMemory,
    configure,
    open_run,
    resume,
)
from tests.support.single import settle

NAMES = ("Ann", "Bob", "Cid", "Dora", "Eve", "Fay")
#: a line as an agent reads it: the speaker, the listeners and the words
FORMS = {
    "en": ("You", "you", "{who} to {to}: {text}", ", ", " and "),
    "de": ("Du", "dir", "{who} zu {to}: {text}", ", ", " und "),
    "ja": ("あなた", "あなた", "{who} から {to} へ：{text}", "、", "、"),
}
HEADINGS = {
    "en": r"Conversation with (.*):",
    "de": r"Gespräch mit (.*):",
    "ja": r"(.*) との会話：",
}


class Person(LLMAgent):
    """Says in its step what the square has for it."""

    def step(self):
        for text, listeners in self.model.lines.pop(self.unique_id, ()):
            self.send_message(text, listeners)

    async def astep(self):
        sent = self.model.lines.pop(self.unique_id, ())
        await asyncio.gather(*(self.asend_message(*each) for each in sent))

    def use_tool(self, *calls, coming=False):
        """``speak_to`` once for each (text, listeners), and then the record of it."""
        done = [
            {"name": "speak_to", "response": speak_to(self, [*map(_id, to)], text)}
            for text, to in calls
        ]
        content = {"tool_calls": done}
        if coming:  # one action at a time
            (call,) = done
            chosen = {"name": "speak_to", "arguments": {}, "rationale": None}
            content = {"action": chosen, "result": call["response"]}
        self.memory.add_to_memory("action", content)


def _id(agent):
    return agent.unique_id


class Square(mesa.Model):
    """People who talk; ``lines`` has what each says in the next step."""

    def __init__(self, n=3, memory=ConversationMemory, record=None, rng=1, **services):
        super().__init__(rng=rng)
        services = {"llm": "offline", "execution": "blocking", **services}
        configure(self, record=record, **services)
        self.lines = {}
        self.people = settle(self, memory, n, Person)
        for person, name in zip(self.people, NAMES, strict=False):
            person.name = name

    def say(self, who, text, *listeners):
        told = [self.people[n] for n in listeners]
        self.lines.setdefault(self.people[who].unique_id, []).append((text, told))

    def step(self):
        for person in self.people:
            person.step()


def lines_of(person):
    return re.findall(r"^- (.*)$", person.memory.get_prompt_ready(), re.M)


# -- any order of messages -----------------------------------------------------------------


def in_sequence(square):
    square.step()


def in_threads(square):
    """All speak at the same time; the steps end afterwards."""
    lines, square.lines = square.lines, {}

    def speak(person):
        for each in lines.get(person.unique_id, ()):
            person.send_message(*each)

    with ThreadPoolExecutor(len(square.people)) as pool:
        list(pool.map(speak, square.people))
    square.step()


def in_event_loop(square):
    async def step():
        await asyncio.gather(*(person.astep() for person in square.people))

    asyncio.run(step())
    square.steps += 1


@st.composite
def talks(draw):
    """The number of people, and of each step (speaker, words, listeners)."""
    count = draw(st.integers(2, 6))
    who = st.integers(0, count - 1)
    line = st.tuples(who, st.integers(0, 2), st.sets(who, min_size=1))
    steps = draw(st.lists(st.lists(line, max_size=6), min_size=1, max_size=4))
    return count, [
        [(a, f"Word {w}.", sorted(to - {a})) for a, w, to in said if to - {a}]
        for said in steps
    ]


def told(language, me, speaker, listeners, text):
    you, to_you, form, comma, conjunction = FORMS[language]
    heard = sorted(listeners, key=lambda other: other != me)
    names = [to_you if other == me else NAMES[other] for other in heard]
    to = comma.join(names[:-1]) + conjunction + names[-1] if names[1:] else names[0]
    return form.format(who=you if speaker == me else NAMES[speaker], to=to, text=text)


def participants(heading):
    found = re.findall("|".join(NAMES), heading)
    return frozenset(map(NAMES.index, found))


@pytest.mark.parametrize("way", [in_sequence, in_threads, in_event_loop])
@pytest.mark.parametrize("language", FORMS)
@settings(max_examples=25, deadline=None)
@given(talks())
def test_each_line_names_whom_the_speaker_chose_and_stands_in_their_talk(
    way, language, talk
):
    count, steps = talk
    memory = partial(ConversationMemory, short_term_turns=99, idle_steps=9)
    square = Square(count, memory, language=language)
    for said in steps:
        for line in said:
            square.say(line[0], line[1], *line[2])
        way(square)
    everything = [line for said in steps for line in said]
    for me, person in enumerate(square.people):
        expected = Counter()
        for speaker, text, listeners in everything:
            if me == speaker or me in listeners:
                others = frozenset({speaker, *listeners} - {me})
                expected[others, told(language, me, speaker, listeners, text)] += 1
        shown, others = Counter(), None
        for line in person.memory.format_short_term().splitlines():
            if heading := re.fullmatch(HEADINGS[language], line):
                others = participants(heading[1])
            elif line.startswith("- "):
                shown[others, re.split(r"\d(?:: |：)", line, maxsplit=1)[1]] += 1
        assert shown == expected


# -- the ways in which Mesa-LLM sends ------------------------------------------------------


def test_a_confession_in_private_is_not_shown_as_said_to_the_third():
    square = Square()
    square.say(0, "Sixty litres are gone.", 1, 2)
    square.step()
    square.say(2, "I lied to Bob.", 0)
    square.step()
    square.say(0, "Tell him, or I will.", 2)
    square.step()
    assert square.people[0].memory.format_short_term() == (
        "Conversation with Bob and Cid:\n"
        "- Step 1: You to Bob and Cid: Sixty litres are gone.\n"
        "Conversation with Cid:\n"
        "- Step 2: Cid to you: I lied to Bob.\n"
        "- Step 3: You to Cid: Tell him, or I will."
    )
    memory = square.people[1].memory
    (heard,) = memory.journal.history
    assert memory.view().line(heard) == "Ann to Bob and Cid: Sixty litres are gone."


def test_a_group_falls_silent_by_its_own_rule_while_two_of_it_talk_on():
    square = Square(memory=partial(ConversationMemory, idle_steps=1))
    square.say(0, "Shall we sail?", 1, 2)
    for _ in range(5):
        square.step()
        square.say(1, "Not with Cid.", 0)
    for person in square.people[:2]:
        (record,) = person.memory.conversations()
        assert len(record.content["with"]) == 2 and record.content["turns"] == 1
        assert "Shall we sail" not in person.memory.format_short_term()


@pytest.mark.parametrize("coming", [False, True])
def test_a_tool_that_speaks_tells_all_listeners_of_each_other(coming):
    square = Square(memory=ShortTermMemory)
    ann, bob, cid = square.people
    quoted = "Bob's \"word\": sent message 'x' to [1]\nand \\ more"
    for text, to in (("Hello.", [bob, cid]), ("Hello.", [bob]), (quoted, [cid, bob])):
        ann.use_tool((text, to), coming=coming)
    assert [list(m.recipients) for m in bob.memory.messages()] == [[2, 3], [2], [2, 3]]
    assert [list(m.recipients) for m in cid.memory.messages()] == [[2, 3], [2, 3]]
    assert "- Ann to you and Bob: Hello." in cid.memory.get_prompt_ready()


def test_one_plan_with_the_same_words_to_two_groups_keeps_them_apart():
    square = Square(memory=ShortTermMemory)
    ann, bob, cid = square.people
    ann.use_tool(("Yes.", [bob]), ("Yes.", [bob, cid]))
    assert [list(m.recipients) for m in bob.memory.messages()] == [[2], [2, 3]]


def test_a_listener_with_a_memory_of_mesa_llm_is_named_all_the_same():
    square = Square(memory=ShortTermMemory)
    ann, bob, cid = square.people
    cid.memory = TheirMemory(cid)
    ann.send_message("Hello.", [bob, cid])
    assert "- Ann to you and Cid: Hello." in bob.memory.get_prompt_ready()
    cid.send_message("Psst.", [ann, bob])  # and nobody is told by its memory
    assert "- Cid to you: Psst." in bob.memory.get_prompt_ready()


def test_each_memory_of_a_listener_is_told():
    square = Square(memory=ShortTermMemory)
    ann, bob, cid = square.people
    bob.diary = EpisodicMemory(bob)
    for memory in (bob.memory, bob.diary, cid.memory):
        memory.add_to_memory("message", {"message": "Hello.", "sender": 1})
    said = {"message": "Hello.", "sender": ann, "recipients": [bob, cid, ann]}
    ann.memory.add_to_memory("message", said)
    for memory in (bob.memory, bob.diary):
        assert "- Ann to you and Cid: Hello." in memory.format_short_term()


@pytest.mark.parametrize("late", ["step", "clock"])
def test_what_was_committed_before_stays_a_talk_of_two(late):
    """The words of a step that is over do not change any more."""
    square = Square()
    ann, bob, _ = square.people
    bob.memory.add_to_memory("message", {"message": "Hello.", "sender": 1})
    if late == "step":
        bob.step()
    else:
        square.steps += 1
    said = {"message": "Hello.", "sender": 1, "recipients": [2, 3]}
    ann.memory.add_to_memory("message", said)
    text = bob.memory.get_prompt_ready()
    assert "Conversation with Ann:\n" in text and "Ann to you: Hello." in text


# -- what is made of it --------------------------------------------------------------------


def test_who_only_listens_to_another_is_not_met():
    square = Square(memory=partial(ImpressionMemory, update_every=2))
    for _ in range(3):
        square.say(0, "Thank you, my friends.", 1, 2)
        square.step()
    assert list(square.people[0].memory.impressions()) == [2, 3]
    for person in square.people[1:]:
        assert list(person.memory.impressions()) == [1]


def test_recipients_are_recorded_with_every_copy_and_a_resumed_run_knows_them(tmp_path):
    file = str(tmp_path / "run.sqlite")
    square = Square(record=file)
    square.say(0, "Hello.", 1, 2)
    square.step()
    square.people[1].send_message("After the step.", square.people[:1])
    shown = [lines_of(person) for person in square.people]
    configure(square, record=None)
    with open_run(file) as run:
        rows = [r for n in (1, 2, 3) for r in run.state(n, 1, as_records=True)]
        told = {(r["agent"], tuple(r["content"]["recipients"])) for r in rows}
    assert told == {*((n, (2, 3)) for n in (1, 2, 3)), (1, (1,)), (2, (1,))}
    again = resume(Square, file)
    assert [lines_of(person) for person in again.people] == shown
