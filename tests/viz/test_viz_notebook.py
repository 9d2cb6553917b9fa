"""A recorded run in a notebook shows itself."""

import pandas as pd
import pytest
from markupsafe import escape

from mesa_memory import Budget, open_run
from mesa_memory.experiments import Plan
from mesa_memory.llm.ledger import Usage
from mesa_memory.runs.past import past, text_of
from mesa_memory.statistics.comparison import compare
from mesa_memory.viz.notebook import memory_at, recalls_at
from tests.support.hostile import ATTACK


def test_a_run_says_what_it_is_and_who_is_in_it(run):
    shown = run._repr_html_()
    for part in ("RecordedTown", "finished", "8, to 8", "STLTMemory", "EpisodicMemory"):
        assert part in shown


def test_a_memory_at_a_step_is_that_of_the_record(run):
    for step in (1, 3, 5):
        shown = memory_at(run, 2, step)
        held = past(run, 2).at(step)
        ids = {row["id"] for row in run.state(2, step, as_records=True)}
        assert {row["id"] for row in held} == ids
        assert all(escape(text_of(row)) in shown.data for row in held)
        assert f"step {step}" in shown.data
    assert memory_at(run, "2").data == memory_at(run, 2, 8).data
    with pytest.raises(ValueError, match="finished are 1, 2"):
        memory_at(run, 2, 99)
    with pytest.raises(ValueError, match="no agent 'x'"):
        recalls_at(run, "x")


def test_a_recall_shows_the_parts_of_its_scores(run):
    rows = run.recalls(5, 4, as_records=True)
    shown = recalls_at(run, 5, 4)
    assert rows and shown.data.count("<tr>\n") == len(rows)
    assert "relevance" in shown.data and "background: #0072B2" in shown.data


def test_hostile_texts_are_text_in_a_notebook(hostile):
    with open_run(hostile) as run:
        shown = (memory_at(run, ATTACK).data, recalls_at(run, ATTACK).data)
        found = [run._repr_html_(), *shown]
    for shown in found:
        assert "<img" not in shown and "</script" not in shown
        assert "&lt;img src=x" in shown


#: what users print, and what must stand in it
SHOWN = {
    "usage": (Usage(calls=3, cost=0.02), ["<th", "prompt tokens", ">3<", ">0.02<"]),
    "plan": (
        Plan("memory", base="none", outcome="<b>trust</b>", looks=(6,)),
        ["<pre", "&lt;b&gt;trust"],
    ),
    "budget": (Budget(calls=7), ["<th", ">calls<", ">7<"]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_users_print_shows_itself_as_a_text_or_a_table(name):
    value, parts = SHOWN[name]
    shown = value._repr_html_()
    assert all(part in shown for part in parts), shown
    assert "<b>" not in shown and repr(value) not in shown


def test_a_comparison_shows_its_table_and_sentences():
    rows = [
        {
            "memory": arm,
            "seed": seed,
            "x": seed + effect,
            "state": "finished",
            "replicate": 0,
        }
        for arm, effect in (("none", 0), ("<i>stlt</i>", 5 + 0.1))
        for seed in range(6)
    ]
    found = compare(pd.DataFrame(rows), "memory", outcome="x", base="none")
    assert found._repr_html_().count("<") == 2  # the two ends of its own element
    assert all(escape(line) in found._repr_html_() for line in found.sentences)
