"""What rests on something that does not hold any more is known as such, and recorded."""

from functools import partial

import mesa
import pytest

from mesa_memory import (
    EpisodicMemory,
    EventStream,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    NarrativeMemory,
    RunningSummary,
    ScriptedLLM,
    Services,
    Window,
    configure,
    open_run,
    resume,
)
from mesa_memory.core.records import REFUSED
from mesa_memory.interventions import edit, erase
from mesa_memory.layers import Grader
from mesa_memory.stores import schema
from tests.support.playing import ended, lived
from tests.support.single import settle

NEWS = {
    1: "Carl lives at the mill.",
    2: "Since Carl lives at the mill, the letter is at the mill.",
    3: "Nice weather!",
    4: "Carl has moved to the inn.",
    5: "The letter is at the inn.",
}


class Village(mesa.Model):
    """One agent who hears the news of each day."""

    def __init__(self, kind=FactMemory, record=None, llm="offline", **given):
        super().__init__(rng=1)
        configure(self, llm=llm, record=record)
        (self.ann,) = settle(self, partial(kind, **given))

    def step(self):
        if self.steps in NEWS:
            said = {"message": NEWS[self.steps], "sender": 9}
            self.ann.memory.add_to_memory("message", said)
        self.ann.memory.process_step()


def of(memory, kind):
    return [r for r in memory.current_records() if r.kind == kind]


def test_a_fact_whose_premise_has_changed_is_stale_until_it_is_stated_anew():
    memory = lived(Village(n=1), 3).ann.memory
    home, letter = memory.facts()
    assert home.id in letter.sources and letter.stale_since is None
    lived(memory.agent.model, 1)
    assert (letter.current, letter.stale_since) == (True, 4)
    shown = memory.get_prompt_ready()
    assert "the mill (said by Agent 9, step 2) (may not hold: what it rests on" in shown
    lived(memory.agent.model, 1)
    known = {r.content["subject"]: r for r in memory.facts()}
    assert known["the letter"].content["value"] == "the inn"
    assert known["the letter"].stale_since is None


def test_a_fact_that_is_said_again_takes_over_what_rests_on_it():
    village = Village()
    news = dict(NEWS)
    try:
        NEWS[3] = "Carl lives at the mill."
        memory = lived(village, 3).ann.memory
        home, letter = memory.facts()
        assert home.content["strength"] == 2 and letter.stale_since is None
        lived(village, 1)
        assert letter.stale_since == 4
    finally:
        NEWS.clear()
        NEWS.update(news)


@pytest.mark.parametrize("change", [erase, lambda a, r: edit(a, r, {"message": "No."})])
@pytest.mark.parametrize("kind", [FactMemory, ImpressionMemory, EpisodicMemory])
def test_what_rests_on_an_event_taken_out_by_hand_is_stale(kind, change):
    given = {
        ImpressionMemory: {"update_every": 1},
        EpisodicMemory: {"reflect_threshold": 3, "importance": lambda record: 5},
    }.get(kind, {})
    village = lived(Village(kind, **given), 1)
    (event,) = of(village.ann.memory, "message")
    made = {FactMemory: "fact", ImpressionMemory: "impression"}.get(kind, "reflection")
    (record,) = of(village.ann.memory, made)
    change(village.ann, event)
    assert record.stale_since == 1 and event.stale_since is None


def test_what_is_recalled_less_is_what_may_not_hold():
    village = Village(EpisodicMemory, importance=lambda r: 5, reflect_threshold=3)
    memory = lived(village, 1).ann.memory
    (insight,) = of(memory, "reflection")
    (before,) = [s for s in memory.recall("mill") if s.record is insight]
    erase(village.ann, of(memory, "message")[0])
    (after,) = [s for s in memory.recall("mill") if s.record.id == insight.id]
    assert after.parts["importance"] == 0 < before.parts["importance"]
    assert memory.get_prompt_ready().count("may not hold") == 1


def told(village):
    memory = village.ann.memory
    marks = [(r.id, r.stale_since) for r in memory.current_records()]
    return marks, memory.get_prompt_ready(), [r.content for r in memory.facts(at=3)]


@pytest.mark.parametrize("days", [3, 4])
def test_it_is_recorded_and_a_resumed_run_knows_it(days, tmp_path):
    file = str(tmp_path / "run.sqlite")
    village = lived(Village(record=file), days)
    ended(village)
    again = resume(Village, file)
    assert told(again) == told(village)
    lived(again, 6 - days)
    ended(again)
    assert told(again) == told(lived(Village(), 6))
    with open_run(file) as run:
        letters = [
            [
                (row["content"]["value"], row["stale_since"])
                for row in run.state(1, step, as_records=True, kind="fact")
                if row["content"]["subject"] == "the letter"
            ]
            for step in (3, 4, 5)
        ]
    assert letters == [[("the mill", None)], [("the mill", 4)], [("the inn", None)]]


def insights(memory):
    return [(r.content["text"], r.stale_since) for r in of(memory, "reflection")]


def reflected(request):
    """An insight from the first and last statement."""
    said, last = f"Carl, day {request.step:g}", len(request.inputs["lines"])
    return {"insights": [{"insight": said, "evidence": [1, last]}]}


def test_a_stale_insight_is_dropped_with_the_next_reflection():
    llm = ScriptedLLM(rules={"reflect": reflected})
    given = {"importance": lambda record: 5, "reflect_threshold": 10}
    village = lived(Village(EpisodicMemory, llm=llm, **given), 2)
    memory = village.ann.memory
    assert insights(memory) == [("Carl, day 2", None)]
    (old,) = of(memory, "reflection")
    erase(village.ann, of(memory, "message")[0])
    lived(village, 1)
    assert insights(memory) == [("Carl, day 2", 2)], "nothing is due yet"
    lived(village, 1)
    assert insights(memory) == [("Carl, day 4", None)]
    assert (old.closed_because, old.superseded_by) == ("evicted", None)
    asked = [request.prompt for request in llm.history if request.purpose == "reflect"]
    assert len(asked) == 2 and "Carl, day 2" not in asked[-1]


def test_a_stale_impression_is_told_as_such_to_the_next_request():
    def told(request):
        prompts.append(request.prompt)
        return {"text": "Agent 9 knows a lot.", "sentiment": 0, "familiarity": 0.1}

    prompts = []
    llm = ScriptedLLM(rules={"impression": told})
    village = lived(Village(ImpressionMemory, llm=llm, update_every=1), 1)
    memory = village.ann.memory
    erase(village.ann, of(memory, "message")[0])
    (old,) = of(memory, "impression")
    assert old.stale_since == 1
    lived(village, 1)
    (new,) = of(memory, "impression")
    assert new.stale_since is None and old.superseded_by == new.id
    assert ") (may not hold:" in prompts[-1]


def test_a_stale_chapter_is_shown_as_doubtful_and_never_written_again():
    village = Village(NarrativeMemory, chapters=2, keep_last=9)
    memory = lived(village, 2).ann.memory
    (chapter,) = memory.chapters()
    told = chapter.content["text"]
    erase(village.ann, of(memory, "message")[0])
    lived(village, 3)
    assert memory.chapters()[0] is chapter and chapter.content["text"] == told
    assert chapter.stale_since == 2
    assert "may not hold: what it rests on has changed in step 2" in (
        memory.get_prompt_ready()
    )


def with_stream(agent):
    """A summary that takes up what a stream of events still holds."""
    window, stream = Window(None), EventStream(Grader("offline"))
    return LayeredMemory(agent, [window, RunningSummary(window), stream])


def test_a_stale_summary_is_told_as_such_and_then_sound():
    def told(request):
        prompts.append(request.prompt)
        return {"summary": f"Told by step {request.step:g}: {NEWS[request.step]}"}

    prompts = []
    llm = ScriptedLLM(rules={"consolidate": told})
    both = lived(Village(with_stream, llm=llm), 1)
    memory = both.ann.memory
    (summary,) = of(memory, "summary")
    erase(both.ann, of(memory, "message")[0])
    assert summary.stale_since == 1
    lived(both, 1)
    assert "something that it rests on has changed" in prompts[-1]
    (new,) = of(memory, "summary")
    assert new.stale_since is None and summary.superseded_by == new.id


# -- what the write gate said of each statement ---------------------------------------

SAID = {
    1: [("Carl", "home", "the mill", {})],
    2: [("Carl", "mood", "tired", {"stable": False, "useful": False})],
    3: [("Carl", "home", "the mill", {}), ("Bob", "wish", "rain", {"fact": False})],
    4: [("Carl", "home", "the inn", {"changed": True})],
}


def extract(request):
    names = ("subject", "attribute", "value")
    return {
        "facts": [
            dict(zip(names, stated), sources=[1], **gate)
            for *stated, gate in SAID.get(request.step, ())
        ],
        "summary": "Much was said of Carl and of the mill.",
    }


def gate(**verdict):
    return {"fact": True, "stable": True, "useful": True} | verdict


@pytest.mark.parametrize("kind", [FactMemory, LayeredMemory.session])
def test_each_verdict_can_be_read_also_of_what_was_refused(kind, tmp_path):
    file = str(tmp_path / "run.sqlite")
    rules = {"extract": extract, "*": {"summary": "Carl lives at the mill."}}
    village = lived(Village(kind, record=file, llm=ScriptedLLM(rules=rules)), 5)
    Services.of(village).recorder.close()
    facts = schema.records.select().filter_by(agent="1", kind="fact")
    with open_run(file) as run:
        rows = run.records(facts.order_by(schema.records.c.seq))
    told = [
        (row["text"], row["closed_because"] != REFUSED, row["content"]["gate"])
        for row in rows
        if row["origin"] == "derived"
    ]
    assert ("Carl: home: the mill", True, gate()) in told
    assert ("Carl: mood: tired", False, gate(stable=False, useful=False)) in told
    assert ("Bob: wish: rain", False, gate(fact=False)) in told
    assert ("Carl: home: the inn", True, gate()) in told
    assert all(row["sources"] for row in rows)
