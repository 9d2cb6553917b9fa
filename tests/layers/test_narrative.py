"""The story so far, and chapters whose recaps are written once."""

from functools import partial

import mesa
import pytest

from mesa_memory import LLMUnavailable, NarrativeMemory, ScriptedLLM, configure, resume
from mesa_memory.interventions import edit, erase
from mesa_memory.memories.tools import search_memories
from tests.support.single import Asked, settle

pytestmark = pytest.mark.filterwarnings("ignore:the run of Life is recorded, but not")


class Life(mesa.Model):
    """One agent to whom something happens in each step."""

    def __init__(self, record=None, rng=1, llm="offline", given=None):
        super().__init__(rng=rng)
        configure(self, llm=llm, record=record, execution="blocking")
        (self.hero,) = settle(self, partial(NarrativeMemory, **(given or {})))

    def step(self):
        memory = self.hero.memory
        memory.process_step(pre_step=True)
        text = f"The bridge number {self.steps} broke! {'Water rises. ' * 30}"
        memory.add_to_memory("message", {"message": text, "sender": 7})
        memory.process_step()

    def live(self, steps):
        for _ in range(steps):
            self.step()
        return self.hero.memory


def spans(memory):
    found = [record.content for record in memory.chapters()]
    return [(c["number"], c["began"], c["ended"]) for c in found]


# -- SYSTEMS: the constants of the story engine --------------------------------------------


def test_over_1500_tokens_all_but_the_last_four_entries_go_into_the_story():
    life = Life()
    memory, last = life.hero.memory, 0
    for _ in range(40):
        life.step()
        sizes = [len(str(entry)) / 4 for entry in memory.short_term_memory]
        assert sum(sizes) <= 1500 * 1.05
        if len(sizes) < last:
            assert len(sizes) == 4
        last = len(sizes)
    assert memory.story and "Step 40" in memory.get_prompt_ready()


def test_recaps_are_never_written_again():
    life = Life(given={"chapters": 1, "section_chars": 300})
    memory, seen = life.hero.memory, []
    for step in range(1, 31):
        life.step()
        texts = [record.content["text"] for record in memory.chapters()]
        assert texts[: len(seen)] == seen and len(texts) == step
        seen = texts
    assert all(r.current for r in memory.chapters())


RECAPS = {
    "two sentences": "Dr. Ames saw how bridge number {n} broke in the flood. Water rises.",
    "one long sentence": "When bridge number {n} broke " + "the water rises and " * 20,
    "Chinese": "第{n}天洪水 (water rises) 冲垮了旧桥，村民们都很害怕。磨坊主人离开了村子。",
    "short": "Bridge number {n} broke.",
}


def telling(recap, **given):
    """A life whose chapters have this recap, and in which nothing else is asked."""
    rules = {"chapter": lambda r: {"summary": recap.format(n=r.inputs["number"])}}
    given = {"chapters": 1, "recap_chars": 800, "section_chars": 10**5} | given
    rules["story"] = {"summary": "One bridge after the other broke, and water rises."}
    return Life(llm=ScriptedLLM(rules=rules), given=given)


@pytest.mark.parametrize("chars", [400, 8000])
def test_older_chapters_are_shown_shorter_and_found_in_full(chars):
    for recap in RECAPS.values():
        life = telling(recap, section_chars=chars)
        memory = life.live(200)
        shown = memory.format_long_term().partition("Chapters:")
        assert shown[0].startswith("The story so far (until step ")
        shown = "".join(shown[1:])  # the older story stands first
        heading, note, *lines = shown.split("\n")
        assert heading == "Chapters:"
        assert note == f"- ({200 - len(lines)} earlier chapters not shown)"
        texts = [line.partition("): ")[2] for line in lines]
        first, *_, last = [record.content["text"] for record in memory.chapters()]
        assert texts[-1] == last
        assert len(shown) <= 0.75 * chars + len(lines[-1]) + 50
        assert first not in shown and first in search_memories(life.hero, first, 1)


@pytest.mark.slow
@pytest.mark.parametrize("chars", [0, 60, 600])
def test_the_newest_recaps_share_their_room_with_the_steps_that_are_verbatim(chars):
    memory, lengths = Life(rng=1).hero.memory, []
    for step in range(1, 501):
        memory.agent.model.steps = step
        text = f"The bridge of day {step} broke! {'Water rises. ' * (chars // 13)}"
        memory.add_to_memory("message", {"message": text, "sender": step % 7 + 2})
        memory.process_step()
        with memory.peek():
            lengths.append(len(memory.get_prompt_ready()))
    # The longest prompt before a merge into the story, beside the shortest after one.
    early, late = lengths[300:400], lengths[400:]
    assert max(late) <= 1.5 * min(early) and sum(late) <= 1.1 * sum(early)


def test_a_recap_is_stale_once_the_story_that_it_rests_on_is_changed_by_hand(tmp_path):
    given = {"chapters": 1, "story_tokens": 600}
    whole = Life(given=given)
    whole.live(9)
    file = str(tmp_path / "life.sqlite")
    life = Life(file, given=given)
    life.live(8)
    configure(life, record=None)
    again = resume(Life, file, given=given)
    again.live(1)
    marks = []
    for one in (whole, again):
        memory = one.hero.memory
        memory.story = "There was never a bridge."
        marks.append([r.stale_since for r in memory.chapters()])
    configure(again, record=None)
    assert marks[0] == marks[1]
    assert marks[0][:6] == [None] * 6 and marks[0][6] == 9


# -- when a chapter is complete --------------------------------------------------------------


def test_a_chapter_is_complete_when_a_function_says_so():
    lengths = []

    def rule(events):
        lengths.append(len(events))
        return "number 3 " in events[-1].content["message"] or len(events) == 4

    memory = Life(given={"chapters": rule}).live(8)
    assert spans(memory) == [(1, 1, 3), (2, 4, 7)]
    assert lengths == [1, 2, 3, 1, 2, 3, 4, 1]


def test_a_recap_that_fails_stays_due_and_the_chapter_is_not_opened_again():
    def sometimes(request):
        if life.steps < 6:
            raise LLMUnavailable("down", purpose=request.purpose)
        return {"summary": f"It was chapter {request.inputs['number']}: bridges broke."}

    llm = ScriptedLLM(rules={"chapter": sometimes})
    life = Life(llm=llm, given={"chapters": 2, "story_tokens": 10**6,
                                "section_chars": 10**6})  # fmt: skip
    assert spans(life.live(5)) == []
    assert spans(life.live(1)) == [(1, 1, 2), (2, 3, 4), (3, 5, 6)]


def test_a_chapter_that_is_too_long_for_a_request_begins_in_the_story():
    llm = Asked()
    life = Life(llm=llm, given={"chapters": 100})
    memory = life.live(100)
    request, *again = [r for r in llm.asked if r.purpose == "chapter"]
    assert len(request.prompt) < 30_000 and all(r.repair for r in again)
    (record,) = memory.chapters()
    assert record.sources[0].split("/")[2] == "story" and len(record.sources) > 20
    assert (record.content["began"] > 1) and record.content["ended"] == 100


# -- by hand, and from a record ------------------------------------------------------------


def test_story_and_chapters_are_changed_by_hand():
    life = Life(given={"chapters": 2, "story_tokens": 50})
    memory = life.live(6)
    memory.story = "Once upon a time there was a bridge."
    assert "Once upon a time" in memory.get_prompt_ready()
    first, second, third = memory.chapters()
    new = edit(life.hero, first, first.content | {"text": "A bridge broke."})
    erase(life.hero, second)
    assert [r.content["text"] for r in memory.chapters()] == [
        "A bridge broke.",
        third.content["text"],
    ]
    assert new.superseded_by is None and "A bridge broke." in memory.format_long_term()
    event = next(r for r in memory.current_records() if r.kind == "message")
    erase(life.hero, event)
    memory = life.live(4)
    assert spans(memory)[-1] == (5, 9, 10)
