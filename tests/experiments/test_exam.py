"""The exam of memories: items, judgements, stages of loss, intrusions and price."""

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks.exam import Faultless
from mesa_memory import EpisodicMemory, LongTermMemory, MemoryModule, ShortTermMemory
from mesa_memory.core.requests import Reply
from mesa_memory.experiments import Exam
from mesa_memory.experiments.exam.intrusions import Heard
from mesa_memory.experiments.exam.items import (
    INTERVALS,
    KINDS,
    SPEAKERS,
    Judge,
    Maker,
    languages,
)
from mesa_memory.experiments.exam.life import STAGES, Life
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.scripted import ScriptedLLM

SENTENCES = Path(__file__).parent.parent / "data" / "intrusions.toml"


def everything(agent):
    """The list of all events."""
    return ShortTermMemory(agent, n=1000, section_chars=10**7)


class Nothing(MemoryModule):
    """Keeps nothing."""


def lines_of(item, speaker=lambda n: n, told=slice(None)):
    return [
        f"- At step {each.step}: {SPEAKERS[speaker(each.speaker)]} to you: {each.text}"
        for each in item.tellings[told]
    ]


def life(memory, **given):
    made = Life(rng=1, **given)
    made.examinee.memory = memory(made.examinee)
    for _ in range(given.get("length", 120)):
        made.step()
    return made


@pytest.mark.parametrize("language", languages())
def test_all_events_are_right_no_event_is_nothing_and_swaps_are_told_apart(language):
    items = Maker(4, language, 120).items(KINDS, INTERVALS)
    assert {item.kind for item in items} == set(KINDS)
    assert {item.interval for item in items} == set(INTERVALS)
    assert len({item.question for item in items}) == len(items)
    judge = Judge(items, language)
    everything_told = "\n".join(line for item in items for line in lines_of(item))
    others = lambda n: (n + 1) % len(SPEAKERS)  # noqa: E731
    for item in items:
        assert judge.shown(item, everything_told) == "right", item.name
        assert judge.shown(item, "") == "nothing"
        first = judge.shown(item, "\n".join(lines_of(item, told=slice(1))))
        swapped = judge.shown(item, "\n".join(lines_of(item, others)))
        if item.kind == "change":
            assert first == "outdated"
        if item.kind == "lie":
            assert first == "still believed"
        if item.kind == "contradiction":
            assert first == "one alone"
        if item.kind == "source":
            assert swapped == "another speaker"
        elif item.kind != "contradiction":
            assert swapped == "right"


def test_a_life_keeps_all_with_the_list_of_events_and_nothing_without():
    kept = life(everything, length=60)
    assert {row["shown"] for row in kept.marks} == {"right"}
    assert {row["interval"] for row in kept.marks} == {1, 2, 5, 10, 20, 40}
    lost = life(Nothing, length=60)
    assert {row["shown"] for row in lost.marks} == {"nothing"}
    window = life(ShortTermMemory, length=60)
    assert {r["interval"] for r in window.marks if r["shown"] == "right"} == {1, 2}
    assert {r["stage"] for r in window.marks if r["interval"] > 4} == {"dropped"}


def test_with_a_faultless_summariser_a_summary_keeps_what_it_has_room_for():
    few = ("fact", "source")
    marks = life(LongTermMemory, length=25, kinds=few, llm=Faultless()).marks
    assert {row["interval"] for row in marks} == {1, 2, 5, 10, 20}
    assert {row["shown"] for row in marks} == {"right"}


def test_an_answer_that_cannot_be_used_is_no_answer_and_ends_no_life():
    cut = ScriptedLLM(rules={"*": Reply("It is", "small", finish="length")})
    marks = life(everything, length=6, kinds=("fact",), llm=cut, ask=True).marks
    assert marks and {row["answered"] for row in marks} == {"nothing"}
    assert {row["stage"] for row in marks} == {"shown, not used"}


def test_who_names_several_speakers_has_not_named_the_source():
    [item] = Maker(1, "en", 20).items(("source",), (5,))
    judge, right = Judge([item]), SPEAKERS[item.tellings[0].speaker]
    assert judge.answered(item, f"{right} told me.") == "right"
    assert judge.answered(item, ", ".join(SPEAKERS)) == "another speaker"


def test_asking_leaves_no_trace_in_the_memory():
    asked = life(EpisodicMemory, length=30)
    alone = Life(rng=1, length=30, ask=False)
    alone.examinee.memory = EpisodicMemory(alone.examinee)
    alone.items = []
    for _ in range(30):
        alone.step()
    shown = [m.examinee.memory.get_prompt_ready() for m in (asked, alone)]
    assert shown[0] == shown[1]
    assert asked.sizes == alone.sizes


class Drops(ShortTermMemory):
    """Writes nothing that has a number."""

    def add_to_memory(self, kind, content):
        if not re.search(r"\d", content["message"]):
            super().add_to_memory(kind, content)


STAGE_MEMORIES = {
    "never written": (Drops, "offline"),
    "lost in a consolidation": (LongTermMemory, "offline"),
    "dropped": (lambda a: ShortTermMemory(a, n=3), "offline"),
    "kept, not recalled": (
        lambda a: EpisodicMemory(a, considered_entries=1),
        "offline",
    ),
    "recalled, cut": (
        lambda a: ShortTermMemory(a, n=1000, section_chars=400),
        "offline",
    ),
    "shown, not used": (everything, "I do not know."),
}


@pytest.mark.parametrize("stage", STAGE_MEMORIES)
def test_the_stage_of_each_loss_is_named(stage):
    memory, llm = STAGE_MEMORIES[stage]
    llm = llm if llm == "offline" else ScriptedLLM(rules={"*": llm})
    asks = stage == "shown, not used"
    kinds = ("appointment", "change", "like_names", "contradiction")
    marks = life(memory, length=50, kinds=kinds, llm=llm, ask=asks).marks
    stages = [row["stage"] for row in marks if row["stage"] and row["interval"] >= 5]
    assert len(stages) >= 8
    assert stages.count(stage) >= 0.99 * len(stages), set(stages)


def test_intrusions_are_judged_as_by_hand():
    events = tomllib.loads(SENTENCES.read_text("utf-8"))["event"]
    heard = Heard(SPEAKERS)
    for event in events:
        heard.add(event["text"], event["speaker"])
    alarms = [s for e in events for s in e["true"] if any(heard.judged(s))]
    found = [s for e in events for s in e["false"] if any(heard.judged(s))]
    true, false = (sum(len(e[k]) for e in events) for k in ("true", "false"))
    assert (true, false) == (100, 100)
    assert len(alarms) <= 0.05 * true, alarms
    assert (true - len(alarms) + len(found)) / 200 >= 0.9


def test_an_exam_is_a_study_that_goes_on_and_says_shares_losses_and_prices(tmp_path):
    given = {"seeds": range(2), "steps": 26, "store": tmp_path / "exam.sqlite"}
    given |= {"llm": {"mine": OfflineLLM()}, "temperature": 0.5}
    exam = Exam(["short_term", "fact"], **given)
    result = exam.run("serial", progress=False)
    table = result.table.set_index("memory")
    assert list(table.index) == ["short_term", "fact"]
    assert table.loc["short_term", "shown 1"] == 1
    assert table.loc["short_term", "shown 10"] == 0
    assert table.loc["fact", "found 20"] > 0.3
    assert table.loc["fact", "requests"] == 26
    assert set(result.marks["stage"]) <= set(STAGES)
    assert (result.lives["intrusions"] <= result.lives["sentences"]).all()
    assert result.compare("short_term").contrasts[0].difference.mean > 0
    again = Exam(["short_term", "fact"], **given).run("serial", progress=False)
    assert again.marks.equals(result.marks)
    page = result.report(tmp_path / "exam.html").read_text("utf-8")
    assert "retention interval" in page and "dropped" in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert result.plot(tmp_path / "exam.png").stat().st_size > 10_000


def test_an_exam_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(ValueError, match="languages must be some of en, de"):
        Exam(["stlt"], languages=["xx"])
    with pytest.raises(ValueError, match="kinds must be some of fact"):
        Exam(["stlt"], kinds=[])
    with pytest.raises(ValueError, match="intervals"):
        Exam(["stlt"], intervals=[0])
