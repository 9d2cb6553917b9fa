"""Facts as files that people read and edit."""

import builtins

import pytest

from mesa_memory import Services, open_run, resume
from mesa_memory.errors import MissingExtra
from tests.layers.test_staleness import Village, lived, of

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


@pytest.mark.parametrize("form", ["markdown", "yaml"])
def test_what_is_written_and_read_again_changes_nothing(form):
    memory = memory_of(Village(summary=True))
    before, shown = known(memory), memory.get_prompt_ready()
    assert len(before) >= 6
    text = getattr(memory, f"to_{form}")()
    counts = getattr(memory, f"from_{form}")(text)
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


def test_yaml_carries_speakers_steps_and_strength_to_another_agent():
    text = memory_of(Village(), HEARD[:2]).to_yaml()
    other = Village().ann.memory
    other.from_yaml(text)
    told = [(r.content["value"], r.content["speakers"]) for r in other.facts()]
    assert ("the mill", [2]) in told and ("the inn", [3]) in told
    assert len(other.conflicts()) == 1
    other.from_yaml("facts:\n- {subject: Carl, attribute: age, value: 7}\n")
    assert known(other) == [("Carl", "age", "7", True)]


def test_what_is_no_such_file_is_refused_and_changes_nothing():
    cases = [
        ("markdown", 5, "must be a text in Markdown, got 5"),
        ("markdown", "- home: the mill", "stands under no heading"),
        ("markdown", "x" * 10_000_001, "at most 10000000"),
        ("yaml", None, "must be a text in YAML, got None"),
        ("yaml", "facts: [", "are not YAML"),
        ("yaml", "just a text", "must be a mapping"),
        ("yaml", "facts: {a: 1}", "must be a mapping"),
        ("yaml", "facts: [{subject: Carl}]", "must have subject, attribute and value"),
        ("yaml", "facts: [3]", "must have subject, attribute and value"),
        ("yaml", "!!python/object/apply:os.system [ls]", "are not YAML"),
    ]
    for form, text, words in cases:
        memory = memory_of(Village())
        before = known(memory)
        with pytest.raises((TypeError, ValueError), match=words):
            getattr(memory, f"from_{form}")(text)
        assert known(memory) == before


LEVELS = [
    "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
    *[f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)],
]


def test_yaml_beyond_plain_data_is_refused():
    cases = [
        "\n".join([*LEVELS, "facts: [{subject: Carl, attribute: home, value: *a8}]"]),
        "facts: &all [{subject: Carl, attribute: home, value: the inn}]",
        "base: &base {subject: Carl}\nfacts: [{<<: *base, attribute: a, value: b}]",
        "facts: [{subject: !!str Carl, attribute: home, value: the inn}]",
        "facts: [{subject: Carl, attribute: home, value: !!binary aGk=}]",
        "facts: " + "[" * 50_000,
        "facts: " + "{a: " * 5_000 + "b" + "}" * 5_000,
    ]
    for text in cases:
        memory = memory_of(Village())
        before = known(memory)
        with pytest.raises(ValueError, match="the facts are not YAML") as raised:
            memory.from_yaml(text)
        assert len(str(raised.value)) < 500
        assert known(memory) == before


@pytest.mark.parametrize(
    "text",
    [
        "summary: [a, b]\nfacts: []",
        "facts: [{subject: [Carl], attribute: home, value: the inn}]",
        "facts: [{subject: Carl, attribute: home, value: {at: the inn}}]",
    ],
)
def test_a_list_is_not_a_text_of_a_fact(text):
    with pytest.raises(ValueError, match="text"):
        memory_of(Village()).from_yaml(text)


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
        ("markdown", ""),
        ("markdown", " \n\n"),
        ("markdown", "# What Agent 1 knows\n\n## Carl\n"),
        ("markdown", "## Summary\n\nAll is well.\n"),
        ("markdown", "<!-- ## Carl\n- home: the mill -->"),
        ("yaml", "{}"),
        ("yaml", "summary: All is well."),
    ]
    for form, text in cases:
        memory = memory_of(Village())
        before = known(memory)
        read = getattr(memory, f"from_{form}")
        with pytest.raises(ValueError, match="allow_empty=True"):
            read(text)
        assert known(memory) == before
        assert read(text, allow_empty=True)["gone"] == len(before)
        assert known(memory) == []
        assert read(text)["gone"] == 0, "there is nothing left to lose"


@pytest.mark.parametrize("form", ["markdown", "yaml"])
def test_the_file_of_a_memory_without_facts_closes_all_facts(form):
    memory = memory_of(Village())
    before = known(memory)
    empty = getattr(Village().ann.memory, f"to_{form}")()
    assert getattr(memory, f"from_{form}")(empty)["gone"] == len(before) > 0
    assert known(memory) == []


def test_without_pyyaml_it_is_said_how_to_get_it(monkeypatch):
    memory = memory_of(Village())
    real = builtins.__import__

    def without(name, *given, **more):
        if name == "yaml":
            raise ImportError(name)
        return real(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"mesa-memory\[yaml\]"):
        memory.to_yaml()
    with pytest.raises(MissingExtra):
        memory.from_yaml("facts: []")
