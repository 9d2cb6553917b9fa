"""What is looked at, and the address that stands for it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mesa_memory.viz.selection import Choice, Selection, nearest

FULL = Choice(
    "agent", "a town-1-5f02ab", 12.5, "Ann & Bob=?#", "b-2-00ff11", "7", "the <mill>", (1.0, 0.2, 0.0),
    (("measure", "cost"),),
)  # fmt: skip


def selection(**given):
    return Selection(SimpleNamespace(value=Choice(**given)))


@pytest.mark.parametrize("choice", [Choice(), FULL, replace(FULL, step=0.0, agent="")])
def test_an_address_stands_for_its_choice(choice):
    assert Choice.parse(choice.query()) == choice
    assert Choice().query() == ""


@pytest.mark.parametrize(
    "query",
    [
        "step=nan&weights=1,2",
        "step=1e999&weights=1,2,x",
        "step=&weights=-1,1,1",
        "%%%&=&&step=<script>",
        "step=inf&" + "x" * 100_000,
    ],
)
def test_what_cannot_be_is_left_out_of_an_address(query):
    found = Choice.parse(query)
    assert replace(found, options=()) == Choice()


def test_without_a_choice_the_newest_step_and_the_first_agent_are_shown():
    feed = SimpleNamespace(live=True, model=None)
    source = SimpleNamespace(
        key="a", feed=feed, stamp=(3, 4.0), steps=[1.0, 2.0, 4.0], agent_ids=[3, "Ann"]
    )
    assert selection().step(source) == 4.0
    assert selection().agent(source) == 3
    assert selection(step=3.0).step(source) == 2.0
    assert selection(agent="Ann").agent(source) == "Ann"
    assert selection(agent="nobody").agent(source) == 3
    assert selection().other_agent(source) is None
    assert nearest([], None) is None
    assert nearest([5.0], 1.0) == 5.0


def test_options_of_views_are_kept_apart_from_each_other():
    chosen = selection()
    chosen.set_option("measure", "cost")
    chosen.set_option("order", "asc")
    chosen.choose(step=2.0, agent=7)
    assert chosen.option("measure", "events", ("events", "cost")) == "cost"
    assert chosen.option("order", "asc", ("desc", "asc")) == "asc"
    chosen.set_option("order", None)
    assert chosen.choice.query() == "step=2&agent=7&measure=cost"
    assert chosen.option("measure", "events", ("events",)) == "events"
