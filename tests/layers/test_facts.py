"""Facts alone, by ``next`` and ``send``: what is newer, who said it, what is kept."""

import json

import pytest

from mesa_memory import FactMemory
from mesa_memory.core.requests import Embedded, EmbedRequest, Reply
from mesa_memory.errors import BadReply, LLMUnavailable
from mesa_memory.layers.facts.layer import Facts
from tests.memories.alone import joined
from tests.support.single import memory_of


def ruled(request, operation):
    """What a judge says of each statement and the last fact that it may be about."""
    new = request.inputs["new"]
    each = [
        {
            "statement": n,
            "operation": operation,
            "fact": len(new) + one["may_be"][-1] + 1,
        }
        for n, one in enumerate(new, 1)
    ]
    return {"decisions": each}


class World:
    """A layer of facts, told what happens and what the model answers.

    Attributes:
        ruling: the judge's operation if no reply is given.
    """

    ruling = "UPDATE"

    def __init__(self, **given):
        self.facts = joined(Facts(**given))
        self.requests = []

    @property
    def view(self):
        """The facts of this moment."""
        return self.facts.memory.view()

    def ruled(self, request):
        """The judge's answer if no reply is given."""
        return ruled(request, self.ruling)

    def hears(self, step, *said):
        """One step's messages, each (sender, text); their records."""
        model = self.facts.memory.agent.model
        model.steps = max(step, model.steps)
        log = self.facts.memory.journal
        events = [
            log.open(1, "message", step, {"message": text, "sender": sender})
            for sender, text in said
        ]
        self.facts.admit(self.view, step, events)
        return events

    def sees(self, step, text):
        """One step's observation."""
        self.facts.memory.agent.model.steps = step
        event = self.view.open("observation", {"text": text})
        self.facts.admit(self.view, step, [event])

    def thinks(self, *replies):
        """Lets the layer think; an error among the replies is thrown."""
        flow, left = self.facts.remember(self.view), list(replies)
        try:
            request = next(flow)
            while True:
                if isinstance(request, EmbedRequest):
                    rows = [[1.0, 0.0]] * len(request.texts)
                    request = flow.send(Embedded(rows, "none"))
                    continue
                self.requests.append(request)
                ruling = request.purpose == "judge" and (
                    not left or "facts" in str(left[0])
                )
                reply = self.ruled(request) if ruling else left.pop(0)
                if isinstance(reply, Exception):
                    request = flow.throw(reply)
                else:
                    reply = reply(request) if callable(reply) else reply
                    text = reply if isinstance(reply, str) else json.dumps(reply)
                    request = flow.send(Reply(text))
        except StopIteration:
            assert not left, f"never asked for: {left}"

    def told(self, step, sender, text, **fact):
        """A message that states one fact."""
        (event,) = self.hears(step, (sender, text))
        self.thinks({"facts": [stated(**fact)]})
        return event

    def known(self, attribute=None):
        """What is current, as (value, speakers)."""
        found = [self.facts.table.statements[r.id] for r in self.facts.table.current()]
        chosen = [c for c in found if attribute in (None, c.attribute)]
        return [(claim.value, claim.speakers) for claim in chosen]

    def current(self):
        """The records of what is current."""
        return self.facts.table.current()

    def at(self, step):
        """The values that held at a step."""
        return [
            self.facts.table.statements[r.id].value for r in self.facts.table.at(step)
        ]


def stated(value="the mill", attribute="home", subject="Carl", sources=1, **more):
    """One fact of a reply."""
    given = {"subject": subject, "attribute": attribute, "value": value}
    return given | {"sources": sources} | more


def test_a_newer_value_of_the_same_speaker_ends_the_older_one():
    world = World()
    first = world.told(1, 2, "Carl lives at the mill.", value="the mill")
    second = world.told(5, 2, "Carl lives at the inn.", value="the inn")
    assert world.known() == [("the inn", (2,))]
    old, new = world.facts.table.records()
    assert (old.closed_because, old.superseded_by) == ("superseded", new.id)
    assert (old.sources, new.sources) == ((first.id,), (old.id, second.id))
    assert (world.at(0), world.at(1), world.at(4), world.at(5)) == (
        [],
        ["the mill"],
        ["the mill"],
        ["the inn"],
    )


def test_what_comes_late_never_overrides_what_is_newer():
    world = World()
    world.told(7, 2, "Carl lives at the inn.", value="the inn")
    world.told(3, 2, "Carl lives at the mill.", value="the mill")
    assert world.known() == [("the inn", (2,))]
    assert (world.at(3), world.at(6), world.at(7)) == (
        ["the mill"],
        ["the mill"],
        ["the inn"],
    )


def test_of_one_reply_the_steps_of_the_events_decide_and_not_the_order():
    world = World()
    world.hears(1, (2, "Carl lives at the mill."))
    world.hears(2, (2, "Carl lives at the inn."))
    world.thinks({"facts": [stated("the inn", sources=2), stated("the mill")]})
    assert world.known() == [("the inn", (2,))]


def test_two_speakers_who_say_different_things_make_two_facts():
    world = World()
    world.told(1, 2, "Carl lives at the mill.", value="the mill")
    world.told(2, 3, "Carl lives at the inn.", value="the inn")
    assert world.known() == [("the mill", (2,)), ("the inn", (3,))]
    (conflict,) = world.facts.table.conflicts()
    (line,) = world.facts.summary(world.view)
    assert line.records == tuple(conflict)
    assert line.text == (
        "Carl: home: the mill (said by Agent 2, step 1) — but: the inn "
        "(said by Agent 3, step 2) — they disagree"
    )


def test_a_long_conflict_shows_what_was_seen_and_what_was_stated_last():
    world = World()
    world.sees(1, "Carl lives at the mill.")
    world.thinks({"facts": [stated("the mill", speaker="")]})
    places = ("inn", "tower", "bridge", "castle", "harbour", "market")
    for step, place in enumerate(places, 2):
        world.told(step, step, f"Carl lives at the {place}.", value=f"the {place}")
    world.told(8, 2, "Carl lives at the inn.", value="the inn")
    (line,) = world.facts.summary(world.view)
    shown = [world.facts.table.of(record).value for record in line.records]
    assert shown == ["the mill", "the inn", "the harbour", "the market"]
    assert line.text.endswith("they disagree (3 older values not shown)")
    assert line.text.count("Carl: home:") == 1
    assert len(world.facts.table.current()) == 7


def test_a_judge_cannot_make_a_denial_the_end_of_what_others_said():
    world = World()
    world.told(1, 2, "Dana's best friend is Eve.", attribute="best friend", value="Eve")
    world.hears(2, (3, "Eve is not Dana's friend."))
    delete = {"decisions": [{"statement": 1, "operation": "DELETE", "fact": 2}]}
    world.thinks({"facts": [stated("Eve", "friend", holds=False)]}, delete)
    held = [(r.content["holds"], r.content["speakers"]) for r in world.current()]
    assert held == [(True, [2]), (False, [3])]


@pytest.mark.parametrize(
    "said",
    [
        {"value": "the mill"},
        {"value": "the mill", "changed": True},
        {"value": "the inn", "holds": False},
        {"value": "the inn", "holds": False, "changed": True},
    ],
)
def test_hearsay_never_ends_what_the_agent_has_seen(said):
    world = World()
    world.sees(1, "Carl sits in the inn.")
    world.thinks({"facts": [stated("the inn", "place")]})
    world.told(
        2, 3, "Carl is at the inn no more, but at the mill.", attribute="place", **said
    )
    world.told(3, 3, "Believe me: the inn, the mill.", attribute="place", **said)
    assert world.known() == [("the inn", (None,)), (said["value"], (3,))]
    assert len(world.facts.table.conflicts()) == 1
    world.sees(4, "Carl sits at the mill.")
    world.thinks({"facts": [stated("the mill", "place")]})
    assert None in dict(world.known())["the mill"] and len(world.known()) == 1


def test_a_message_cannot_put_words_into_another_mouth():
    world = World()
    fact = {"value": "the inn", "speaker": "Agent 3"}
    world.told(1, 2, "Agent 3 says: Carl lives at the inn.", **fact)
    assert world.known() == [("the inn", (2,))]
    (line,) = world.facts.summary(world.view)
    assert "said by Agent 2 quoting Agent 3" in line.text


def test_a_repeated_fact_gains_strength_and_its_evidence_is_kept():
    world = World()
    events = [
        world.told(step, 2, "Carl lives at the mill.", attribute=name)
        for step, name in ((1, "home"), (3, "Home"), (4, "the homes"))
    ]
    (record,) = world.facts.table.current()
    claim = world.facts.table.statements[record.id]
    assert (claim.strength, claim.since, claim.last) == (3, 1, 4)
    assert events[2].id in record.sources
    assert "steps 1 to 4, 3 times" in world.facts.summary(world.view)[0].text
    assert {r.purpose for r in world.requests} == {"extract"}, "names were clear"


def test_a_fact_that_names_no_event_is_not_kept_but_recorded():
    world = World()
    world.hears(1, (2, "Carl lives at the mill."))
    world.thinks({"facts": [stated(), stated("the inn", sources=9)]})
    assert world.known() == [("the mill", (2,))]
    assert world.facts.memory.journal.numbers["fact"] == 2


def test_a_subject_may_have_several_values_of_some_attributes():
    world = World()
    for step, (what, value) in enumerate((("has", "a boat"), ("Has", "a horse")), 1):
        world.told(step, 2, "…", attribute=what, value=value, several=True)
    world.told(3, 2, "Carl has a dog.", attribute="has", value="a dog")
    assert [value for value, _ in world.known()] == ["a boat", "a horse", "a dog"]
    gone = {"attribute": "has", "value": "a horse", "holds": False}
    world.told(4, 2, "Carl's horse is dead.", **gone)
    assert [value for value, _ in world.known()] == ["a boat", "a dog"]


def test_of_many_facts_the_strongest_and_newest_are_kept():
    world = World(most=2)
    for step in (1, 2):
        world.told(step, 2, "Ann is the mayor.", subject="Ann", value="mayor")
    for step, name in ((3, "Bob"), (4, "Carl")):
        world.told(step, 2, "…", subject=name, value="baker")
    kept = [
        world.facts.table.statements[r.id].subject for r in world.facts.table.current()
    ]
    assert kept == ["Ann", "Carl"]
    evicted = [r for r in world.facts.table.records() if r.closed_because == "evicted"]
    assert len(evicted) == 1
    assert world.at(3) == ["mayor", "baker"], "what was forgotten held until then"


def test_a_judge_is_asked_if_two_names_may_mean_the_same_and_nobody_says_it():
    world = World()
    world.told(1, 2, "…", attribute="favourite food", value="bread")
    world.hears(2, (2, "Carl likes fish best."))
    update = {"decisions": [{"statement": 1, "operation": "UPDATE", "fact": 2}]}
    world.thinks({"facts": [stated("fish", "food")]}, update)
    assert [r.purpose for r in world.requests] == ["extract", "extract", "judge"]
    assert world.known("favourite food") == [("fish", (2,))]
    world.told(3, 2, "…", attribute="favourite food", value="soup", changed=True)
    assert world.known() == [("soup", (2,))]
    assert (world.facts.reader.judged, world.facts.reader.stated) == (1, 3)


def test_after_a_failure_nothing_is_lost():
    world = World()
    world.told(1, 2, "…", attribute="favourite food", value="bread")
    (event,) = world.hears(2, (2, "Carl likes fish best."))
    facts = {"facts": [stated("fish", "food")]}
    for replies in ([LLMUnavailable("down")], [facts, LLMUnavailable("down")]):
        with pytest.raises(LLMUnavailable):
            world.thinks(*replies)
        assert [line.records for line in world.facts.recent(world.view)] == [(event,)]
        assert world.known() == [("bread", (2,))]
    world.thinks(facts, {"statement": 1, "operation": "add"})
    assert world.known() == [("bread", (2,)), ("fish", (2,))]
    assert world.facts.recent(world.view) == []


def test_a_summary_comes_by_the_same_request():
    world = World(summarised=True)
    world.hears(1, (2, "Carl lives at the mill."))
    world.thinks({"facts": [stated()], "summary": "Carl lives at the mill now."})
    brief, line = world.facts.summary(world.view)
    assert brief.text == "Carl lives at the mill now."
    assert brief.records[0].sources[-1] == line.records[0].id
    world.hears(2, (2, "Carl burned the mill."))
    world.thinks({"facts": [], "summary": "Carl lived at the mill, which he burned."})
    assert "- Carl lives at the mill now." in world.requests[-1].prompt
    assert len(world.requests) == 2


def test_a_step_of_many_events_is_read_in_parts():
    world = World()
    world.hears(1, *[(2, f"Number {n} is red.") for n in range(100)])
    red = [{"facts": [stated(f"red {n}", f"name {n}")]} for n in range(3)]
    world.thinks(*red)
    assert [len(r.inputs["lines"]) for r in world.requests if "lines" in r.inputs] == [
        40,
        40,
        20,
    ]
    assert world.facts.unread == []


def test_events_that_a_model_cannot_read_do_not_keep_the_others_waiting():
    world = World()
    world.hears(1, (2, "One."), (2, "Two."))
    for step in (2, 3):
        with pytest.raises(BadReply):
            world.thinks("no", "no")
        world.hears(step, (2, f"Day {step}."))
    assert [len(r.inputs["lines"]) for r in world.requests] == [2, 2, 1, 1]
    world.thinks("no", "no", {"facts": []})
    assert len(world.requests[-1].inputs["lines"]) == 3, "the first was given up"
    assert world.facts.unread == [] and "3 times in a row" in world.facts.memory.said
    world.told(4, 2, "Carl lives at the mill.")
    assert world.known() == [("the mill", (2,))]


def test_without_a_usable_answer_of_the_judge_statements_keep_their_names():
    for said in (
        "no",
        {"decisions": [{"statement": 1, "operation": "UPDATE", "fact": 7}]},
    ):
        world = World()
        world.told(1, 2, "…", attribute="favourite food", value="bread")
        world.hears(2, (2, "Carl likes fish best."))
        world.thinks({"facts": [stated("fish", "food")]}, said, said)
        assert world.known() == [("bread", (2,)), ("fish", (2,))]
        assert world.facts.unread == []


@pytest.mark.parametrize(
    ("recipients", "owner"),
    [({}, "Agent 1"), ({"recipients": [1]}, "Agent 1"), ({"recipients": [1, 3]}, None)],
)
def test_your_is_whom_the_speaker_told_and_nobody_of_several(recipients, owner):
    memory = memory_of(FactMemory)
    said = {"message": "Your boat is at the pier.", "sender": 2}
    memory.add_to_memory("message", said | recipients)
    mine = {"message": "Your mill is on the hill.", "sender": 1, "recipients": [3]}
    memory.add_to_memory("message", mine)
    memory.process_step()
    facts = [r for r in memory.current_records() if r.kind == "fact"]
    subjects = {fact.content["subject"] for fact in facts}
    assert subjects == {"Agent 3's mill"} | ({f"{owner}'s boat"} if owner else set())
