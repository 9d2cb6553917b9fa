"""Facts as files that people read and edit, and as a run has recorded them."""

import pytest

from mesa_memory import (
    FactMemory,
    LayeredMemory,
    ScriptedLLM,
    Services,
    open_run,
    resume,
)
from mesa_memory.core.records import REFUSED
from mesa_memory.stores import schema
from tests.layers.test_staleness import Village, of
from tests.support.playing import lived

HEARD = [
    (2, "Carl lives at the mill. Carl has a dog. The boat belongs to <!-- Dana -->."),
    (3, "Carl lives at the inn. Dana is not sad."),
    (2, "The summary is a note: not much. Dana's motto is not now &amp; never."),
]


def memory_of(village, heard=HEARD):
    memory = village.ann.memory
    for sender, text in heard:
        memory.add_to_memory("message", {"message": text, "sender": sender})
    memory.process_step()
    return memory


def known(memory):
    names = ("subject", "attribute", "value", "holds")
    return [tuple(r.content[name] for name in names) for r in memory.facts()]


def test_what_is_written_and_read_again_changes_nothing():
    memory = memory_of(Village(summary=True))
    before, shown = known(memory), memory.get_prompt_ready()
    assert len(before) >= 6
    text = memory.to_markdown()
    counts = memory.from_markdown(text)
    assert counts == {"new": 0, "changed": 0, "gone": 0}
    assert (known(memory), memory.get_prompt_ready()) == (before, shown)


def test_a_file_has_a_heading_for_each_subject_and_a_line_for_each_fact():
    memory = memory_of(Village(), HEARD[:1])
    assert memory.to_markdown() == (
        "# What Agent 1 knows\n\n## Carl\n\n"
        "- belongings: a dog <!-- said by Agent 2, step 0 -->\n"
        "- home: the mill <!-- said by Agent 2, step 0 -->\n\n"
        "## the boat\n\n"
        "- owner: &lt;!-&#45; Dana -&#45;&gt; <!-- said by Agent 2, step 0 -->\n"
    )


def test_edited_lines_come_back_and_what_disappeared_is_closed(tmp_path):
    file = str(tmp_path / "run.sqlite")
    village = lived(Village(record=file), 1)
    memory = memory_of(village, HEARD[:1])
    text = memory.to_markdown().replace("the mill", "the tower")
    text = (
        text.partition("## the boat")[0] + "- likes bread\n\n## Eve\n- mood: not sad\n"
    )
    home = next(r for r in memory.facts() if r.content["attribute"] == "home")
    assert memory.from_markdown(text) == {"new": 2, "changed": 1, "gone": 1}
    expected = [
        ("Carl", "belongings", "a dog", True),
        ("Carl", "home", "the tower", True),
        ("Carl", "note", "likes bread", True),
        ("Eve", "mood", "sad", False),
    ]
    assert sorted(known(memory)) == expected
    new = next(r for r in memory.facts() if r.content["attribute"] == "home")
    assert (home.closed_because, home.superseded_by) == ("edited", new.id)
    assert (new.origin, new.sources) == ("imported", (home.id,))
    assert "home: the tower (noted, step 1)" in memory.get_prompt_ready()
    Services.of(village).recorder.close()
    again = resume(Village, file)
    assert sorted(known(again.ann.memory)) == expected
    Services.of(again).recorder.close()
    with open_run(file) as run:
        ended = [r["because"] for r in run.history(agent=1, as_records=True)]
        assert ended.count("erased") == 1
        (note,) = run.interventions(as_records=True)
        assert note["detail"] == {"facts": {"new": 2, "changed": 1, "gone": 1}}


def test_a_hand_written_fact_gives_way_to_what_happens_later():
    village = Village()
    village.ann.memory.from_markdown("## Carl\n- home: the tower\n")
    lived(village, 1)
    assert known(village.ann.memory) == [("Carl", "home", "the mill", True)]


def test_what_rests_on_a_line_that_disappeared_is_stale():
    memory = lived(Village(), 2).ann.memory
    text = memory.to_markdown().replace("- home: the mill", "- home: nowhere")
    memory.from_markdown(text)
    letter = next(r for r in of(memory, "fact") if r.content["attribute"] == "place")
    assert letter.stale_since == 2


def test_what_is_no_such_file_is_refused_and_changes_nothing():
    cases = [
        (5, "must be a text in Markdown, got 5"),
        ("- home: the mill", "stands under no heading"),
        ("x" * 10_000_001, "at most 10000000"),
    ]
    for text, words in cases:
        memory = memory_of(Village())
        before = known(memory)
        with pytest.raises((TypeError, ValueError), match=words):
            memory.from_markdown(text)
        assert known(memory) == before


@pytest.mark.parametrize("text", ["<!--", "<!-- a -->", "## Carl\n- home: x <!--"])
def test_comments_without_end_are_read_once_and_refused(text):
    # Quadratic work would need hours.
    with pytest.raises(ValueError, match="does not end"):
        memory_of(Village()).from_markdown(text * 300_000 + "<!--")


def test_a_comment_may_hold_the_beginning_of_another_one():
    memory = Village().ann.memory
    memory.from_markdown("## Carl\n- home: <!-- a\n <!-- b --> the inn<!----> now\n")
    assert known(memory) == [("Carl", "home", "the inn now", True)]


def test_a_file_of_many_facts_is_compared_in_one_pass():
    memory = Village().ann.memory
    rows = "\n".join(f"- note {n}: old" for n in range(5_000))
    memory.from_markdown(f"## Carl\n{rows}")
    counts = memory.from_markdown(f"## Carl\n{rows.replace('old', 'new')}")
    assert counts == {"new": 0, "changed": 5_000, "gone": 0}


def test_a_file_without_facts_takes_them_away_only_if_asked_to():
    cases = [
        "",
        " \n\n",
        "# What Agent 1 knows\n\n## Carl\n",
        "## Summary\n\nAll is well.\n",
        "<!-- ## Carl\n- home: the mill -->",
    ]
    for text in cases:
        memory = memory_of(Village())
        before = known(memory)
        read = memory.from_markdown
        with pytest.raises(ValueError, match="allow_empty=True"):
            read(text)
        assert known(memory) == before
        assert read(text, allow_empty=True)["gone"] == len(before)
        assert known(memory) == []
        assert read(text)["gone"] == 0, "there is nothing left to lose"


def test_the_file_of_a_memory_without_facts_closes_all_facts():
    memory = memory_of(Village())
    before = known(memory)
    empty = Village().ann.memory.to_markdown()
    assert memory.from_markdown(empty)["gone"] == len(before) > 0
    assert known(memory) == []


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
