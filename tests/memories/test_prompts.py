"""What an agent is shown when there is more than fits: the newest, and each end."""

from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    LayeredMemory,
    LongTermMemory,
    MemoryModule,
    NarrativeMemory,
    ScriptedLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.layers.consolidation import Consolidation
from mesa_memory.layers.summary import RunningSummary
from mesa_memory.layers.window import Window
from tests.support.classes import EVERY
from tests.support.single import settle
from tests.support.turns import in_turn


class Resident(LLMAgent):
    """Hears in each step what ``news`` says."""

    news = ()

    def step(self):
        for text in self.news:
            self.memory.add_to_memory("message", {"message": text, "sender": 9})
        self.shown = self.memory.get_prompt_ready()


class House(mesa.Model):
    """One resident whose summariser keeps the names of the steps it was given."""

    def __init__(self, memory=STLTMemory, **given):
        super().__init__(rng=1)
        self.llm = ScriptedLLM(
            rules={
                "*": lambda r: {"summary": f"Seen: {marks(r.prompt)}"},
                "impression": {"text": "Odd.", "sentiment": 0.0, "familiarity": 0.1},
                "extract": lambda r: {"facts": [stated(r)]},
                "grade": lambda r: {"grades": [3] * len(r.inputs["events"])},
            }
        )
        configure(self, llm=self.llm, execution="blocking")
        (self.resident,) = settle(self, partial(memory, **given), cls=Resident)

    def step(self):
        self.resident.step()


def stated(request):
    """The last event as a fact, as long as a fact may be."""
    lines = request.inputs["lines"]
    return {
        "subject": "the news", "attribute": "text", "value": lines[-1][-300:],
        "sources": [len(lines)],
    }  # fmt: skip


def marks(text):
    """The marks ``s1.1``, ``s1.2``, … in a text."""
    words = text.replace(":", " ").split()
    found = [w for w in words if w[0] == "s" and w[1:].replace(".", "").isdigit()]
    return " ".join(dict.fromkeys(found))


@pytest.mark.parametrize("memory", [ShortTermMemory, STLTMemory, LongTermMemory])
def test_of_a_step_with_a_hundred_messages_the_newest_are_shown(memory):
    house = House(memory)
    house.resident.news = [f"s1.{n} " + "x" * 300 for n in range(1, 101)]
    house.step()
    found = marks(house.resident.shown).split()
    assert found[-1] == "s1.100"
    assert len(found) > 20
    assert found == [f"s1.{n}" for n in range(101 - len(found), 101)]
    assert f"({100 - len(found)} earlier events of this step not shown)" in (
        house.resident.shown
    )
    assert len(house.resident.shown) < 9000


def test_what_is_cut_out_of_a_text_is_counted_exactly():
    house = House(ShortTermMemory)
    house.resident.news = ["a" * 10_000 + "b" * 10_000]
    house.step()
    line = house.resident.shown.splitlines()[2]
    left = line.count("a", len("- Agent 9 says: ")) + line.count("b")
    note = int(line.partition("… (")[2].partition(" ")[0])
    spelled = sum(map("characters left out".count, "ab"))
    assert left - spelled + note == 20_000


def test_each_event_stands_in_a_section_or_in_the_summary():
    house = House(STLTMemory)
    for step in range(1, 16):
        house.resident.news = [f"s{step}.{n} " + "x" * 950 for n in (1, 2)]
        house.step()
        told = {f"s{s}.{n}" for s in range(1, step + 1) for n in (1, 2)}
        assert told <= set(marks(house.resident.shown).split()) | _summed(house)


def _summed(house):
    """The marks that some summary has covered; the script keeps only its own."""
    texts = " ".join(marks(request.prompt) for request in house.llm.history)
    return set(texts.split())


def test_a_step_that_is_too_long_for_one_request_is_summarised_in_parts():
    house = House(LongTermMemory)
    house.resident.news = [f"s1.{n} " + "x" * 900 for n in range(100)]
    house.step()
    assert _summed(house) == {f"s1.{n}" for n in range(100)}
    assert max(len(request.prompt) for request in house.llm.history) < 30_000


def test_what_fits_least_is_left_out_of_a_recall_not_what_is_oldest():
    house = House(EpisodicMemory, section_chars=3000)
    memory = house.resident.memory
    texts = ["The mill of my uncle burned down."]
    texts += [f"s{n} Rain fell on the fields again. {'so ' * 250}" for n in range(12)]
    for text in texts:
        house.resident.news = [text]
        house.step()
    memory.add_to_memory("message", {"message": "Who knows of the mill?", "sender": 2})
    assert "mill of my uncle" in memory.format_long_term()
    assert "memories of less weight not shown" in memory.format_long_term()
    assert len(memory.format_long_term()) < 3200


class Clockless(House):
    """A model that moves neither ``steps`` nor ``time``."""

    def run(self, rounds):
        for n in range(1, rounds + 1):
            self.resident.news = [f"s{n}.1 is news"]
            self.resident.step()


@pytest.mark.parametrize("memory", [STLTMemory, ShortTermMemory])
def test_agents_that_are_driven_without_the_model_remember_step_by_step(memory):
    house = Clockless(memory)
    house.run(14)
    assert len(house.resident.memory.short_term_memory) <= 7
    steps = [e.step for e in house.resident.memory.short_term_memory]
    assert steps == sorted(set(steps))
    assert bool(house.llm.history) == (memory is STLTMemory)
    assert "s14.1" in house.resident.memory.get_prompt_ready()


def test_the_agents_own_steps_give_way_to_the_models_clock():
    house = Clockless(ShortTermMemory, n=20)
    house.run(3)
    for _ in range(5):
        super(Clockless, house).step()
        house.resident.news = ["later"]
        mesa.Model.step(house)
    steps = [e.step for e in house.resident.memory.short_term_memory]
    assert steps == sorted(steps)


def test_no_huge_text_reaches_a_prompt_from_any_field():
    for memory in EVERY:
        house = House(memory)
        huge = "y" * 300_000
        agent = house.resident
        hostile = [
            ("message", {"message": huge, "sender": huge}),
            ("message", {"note": huge, "sender": 3, "recipients": [huge]}),
            ("observation", {"local_state": {f"Cat {huge}": {"position": huge}}}),
            ("observation", {huge: huge}),
            ("plan", {"content": huge}),
            ("action", {"tool_calls": [{"name": huge, "response": huge}]}),
            (huge, {"text": huge}),
        ]
        for _ in range(6):
            for kind, content in hostile:
                agent.memory.add_to_memory(kind, content)
            agent.step()
        if hasattr(agent.memory, "long_term_memory"):
            agent.memory.long_term_memory = huge
            agent.step()
            agent.memory.add_to_memory("message", {"message": "hi", "sender": 2})
            agent.memory.process_step()
        texts = [
            agent.memory.get_prompt_ready(),
            agent.memory.get_communication_history(),
        ]
        texts += [request.system + request.prompt for request in house.llm.history]
        assert max(map(len, texts)) < 40_000


# -- the order of sections, and how far each reaches ------------------------------------

SECTION = {
    "en": ("Short term memory", "Long term memory (until step 4)", "The story so far (until step {})"),
    "de": ("Kurzzeitgedächtnis", "Langzeitgedächtnis (bis Schritt 4)", "Die Geschichte bisher (bis Schritt {})"),
    "ja": ("短期記憶", "長期記憶（ステップ 4 まで）", "これまでの物語（ステップ {} まで）"),
}  # fmt: skip
NEWS = ("I owe you 120.", "Paid in full.", "The price is 3.60 now.")


def told_of_news(memory, language, days, **given):
    house = House(memory, **given)
    configure(house, llm="offline", language=language)
    for day in range(days):
        house.resident.news = (NEWS[day % len(NEWS)],)
        house.step()
    return house.resident.memory


def headings(memory):
    """Headings of sections, each with a line below it."""
    found = []
    for section in memory.get_prompt_ready().strip().split("\n\n"):
        head, *lines = section.splitlines()
        assert head.endswith(":") and lines and all(map(str.strip, lines)), section
        found.append(head[:-1])
    return found


@pytest.mark.parametrize("language", SECTION)
def test_a_summary_says_until_which_step_it_reaches(language):
    recent, long_term, story = SECTION[language]
    both = {"short_term_capacity": 2, "consolidation_capacity": 1}
    memory = told_of_news(STLTMemory, language, 7, **both)
    assert headings(memory) == [recent, long_term], "the order is Mesa-LLM's here"
    memory.long_term_memory = "Put right by hand."
    assert headings(memory) == [recent, long_term]
    memory = told_of_news(LongTermMemory, language, 4)
    assert headings(memory) == [long_term, recent]
    layers = [window := Window(None), RunningSummary(window, Consolidation(2, 1, None))]
    first, last = headings(told_of_news(LayeredMemory, language, 7, layers=layers))
    reached = long_term.replace("（", "(").partition("(")[2]
    assert last == recent and first.endswith(reached)
    given = {"chapters": 3, "keep_last": 1, "section_chars": 10_000}
    for tokens, days, place in ((10, 6, 0), (10, 5, 1), (40, 6, 0)):
        memory = told_of_news(
            NarrativeMemory, language, days, story_tokens=tokens, **given
        )
        until, ended = int(memory._story.until), 3 * (days // 3)
        assert place == (until >= ended), (until, ended)
        assert headings(memory).index(story.format(until)) == place
        assert headings(memory)[2:] == [recent]


@in_turn(language=SECTION, memory=[*EVERY, MemoryModule])
def test_empty_sections_are_left_out(memory, language):
    house = House(memory)
    configure(house, language=language)
    empty = headings(house.resident.memory)
    assert empty[0] == SECTION[language][0]
    assert len(empty) == 1 + (memory is STLTMemory), "Mesa-LLM's has both headings"
    told = told_of_news(memory, language, 1)
    if memory is STLTMemory:
        assert headings(told) == [SECTION[language][0]]
    assert SECTION[language][0] in headings(told)


RANKED = EpisodicMemory, FactMemory, ConversationMemory, LayeredMemory.generative_agent


@in_turn(language=SECTION, memory=RANKED)
def test_below_recalled_lines_no_section_says_that_nothing_is_recent(memory, language):
    told = told_of_news(memory, language, 1)
    house = told.agent.model
    house.resident.news = ()
    for _ in range(7):
        house.step()
    told.get_prompt_ready("Who owes me?")  # postponed work is done
    found = headings(told)
    assert len(found) == 1 and found[0] != SECTION[language][0]
    assert told.view().told("nothing recent") == told.format_short_term()
