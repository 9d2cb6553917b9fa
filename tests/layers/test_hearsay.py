"""Statements of others: whose they are, and how far they reach."""

from functools import partial

import pytest

from mesa_memory import EpisodicMemory, FactMemory, ImpressionMemory, ScriptedLLM
from tests.layers.test_fact_costs import RULES
from tests.support.models import hear
from tests.support.single import memory_of, scripted, table

#: a message that would make the agent a witness of what it says, by what the model cites
WITNESS = table("hearsay")["witness"]


def told(*steps, llm=None):
    """A memory of facts after these steps, each (events, facts of the reply)."""
    script = llm or ScriptedLLM(rules={"judge": {"decisions": []}})
    memory = memory_of(FactMemory, script)
    for events, facts in steps:
        if facts is not None:
            script.enqueue({"facts": facts})
        hear(memory, *events)
    return memory


def fact(subject, attribute, value, *sources, **more):
    given = {"subject": subject, "attribute": attribute, "value": value}
    return given | {"sources": list(sources) or [1]} | more


def known(memory):
    """The values that are known, each with its speakers."""
    return {r.content["value"]: r.content["speakers"] for r in memory.facts()}


WEATHER = (None, "The weather is fine.")
BOB = ([(None, "Bob is the mayor.")], [fact("the mayor", "holder", "Bob")])


def test_a_message_cannot_make_the_agent_a_witness():
    for case in WITNESS.values():
        value = case["value"]
        subject = "市长" if value == "马洛里" else "the mayor"
        seen = ([(None, f"Bob is {subject}.")], [fact(subject, "holder", "Bob")])
        said = fact(subject, "holder", value, *case["sources"])
        memory = told(seen, (case["events"], [said]))
        assert known(memory) == {"Bob": [None], value: [3]}
        assert len(memory.conflicts()) == 1


def test_a_statement_that_no_line_contains_is_known_without_a_witness():
    weather = ([WEATHER], [fact("the mayor", "holder", "Mallory")])
    memory = told(BOB, weather)
    assert known(memory) == {"Bob": [None], "Mallory": []}
    line = "the mayor: holder: Bob (seen, step 1) — Mallory (noted, step 2)"
    assert line in memory.get_prompt_ready()


@pytest.mark.parametrize(
    ("events", "stated"),
    [
        ([(None, "harvest: 0 wheat")], fact("Agent 1", "harvest", "nothing")),
        ([(2, "Hello Bob."), (None, "Bob sits in the inn.")], fact("Bob", "place", "the inn", 2)),
        ([(2, "Who is there?"), (None, "Bob sleeps.")], fact("Bob", "state", "sleeps", 1)),
        ([(None, "Анна стоит у мельницы.")], fact("Anna", "place", "mill")),
    ],
)  # fmt: skip
def test_an_observation_makes_the_agent_a_witness(events, stated):
    memory = told((events, [stated]))
    assert known(memory) == {stated["value"]: [None]}


def test_a_confirmation_keeps_its_speaker_although_another_line_has_more_words():
    events = [(2, "Carl lives at the mill."), (3, "Yes, he lives at the mill.")]
    mill = ("Carl", "home", "the mill")
    memory = told((events, [fact(*mill, 1), fact(*mill, 2)]))
    assert known(memory) == {"the mill": [2, 3]}


def test_an_event_of_another_kind_with_a_sender_is_in_the_words_of_the_sender():
    script = ScriptedLLM(rules={"judge": {"decisions": []}})
    memory = told(BOB, llm=script)
    script.enqueue({"facts": [fact("the mayor", "holder", "Mallory")]})
    memory.agent.model.steps += 1
    memory.add_to_memory("rumour", {"text": "Mallory is the mayor.", "sender": 3})
    memory.process_step()
    assert known(memory) == {"Bob": [None], "Mallory": [3]}


SLANDER = "Agent 4 is a coward who steals apples."


@pytest.mark.parametrize(
    ("dictated", "number"),
    [
        ("A coward who steals apples.", 1),
        ("Agent 4 waves, and is a coward who steals apples.", 1),
        ("Steals apples; a coward. Beware of Agent 4!", 2),
    ],
)
def test_one_agents_message_does_not_change_the_impression_of_another(dictated, number):
    def obeys(request):
        inputs = request.inputs
        if "others" not in inputs:
            return {"text": "Friendly.", "sentiment": 0.2, "familiarity": 0.1}
        fair = {"text": "Talks.", "sentiment": 0.0, "familiarity": 0.1}
        bad = {"text": dictated, "sentiment": -1.0, "familiarity": 0.1}
        return {
            "impressions": [
                {"other": n, **(bad if other["subject"] == "Agent 4" else fair)}
                for n, other in enumerate(inputs["others"], 1)
            ]
        }

    kind = partial(ImpressionMemory, update_every=1)
    memory, llm = scripted(kind, {"impression": obeys})
    talk = [(3, SLANDER), (4, "Good day to you!")][:: 1 if number == 1 else -1]
    hear(memory, *talk, (5, "Nice apples here."))
    made = {who: r.content["text"] for who, r in memory.impressions().items()}
    assert made == {3: "Talks.", 4: "Friendly.", 5: "Talks."}
    assert len(llm.history) == 2, "one more request, for the doubtful one alone"


# -- a flood of statements by one speaker does not evict all else ----------------------


def facts_with(most):
    return scripted(partial(FactMemory, max_facts=most), RULES)[0]


def stream_of(most):
    return memory_of(partial(EpisodicMemory, max_capacity=most))


SEEN = [(None, f"house {n}: colour: red") for n in range(4)]
TOLD = [(2, f"Dana {n}: mood: merry") for n in range(3)]


@pytest.mark.parametrize("speakers", [(3,), (3, 4), tuple(range(3, 23))])
@pytest.mark.parametrize("times", [1, 3])
def test_made_up_facts_evict_nothing_that_the_agent_has_seen(speakers, times):
    memory = facts_with(8)
    for event in SEEN:  # of observations in one step, the last one counts
        hear(memory, event)
    hear(memory, *TOLD)
    for day in range(20):
        for _ in range(times):  # said again, a fact is stronger
            hear(memory, *[(who, f"lie {day} {who}: is: true") for who in speakers])
    kept = [r.content["subject"] for r in memory.facts()]
    assert {f"house {n}" for n in range(4)} <= set(kept) and len(kept) == 8
    if len(speakers) == 1:
        assert sum(name.startswith("Dana") for name in kept) == 2, "half of the rest"


@pytest.mark.parametrize(
    "cue",
    [
        "URGENT: fire, murder, danger! I love you, number {n}!",
        "promise {n}",
        "secret {n}",
    ],
)
def test_messages_with_cue_words_do_not_evict_all_other_events(cue):
    memory = stream_of(20)
    for n in range(8):
        hear(memory, (None, f"A quiet day, number {n}."), (2, f"Good day, number {n}."))
    for n in range(60):
        hear(memory, (3, cue.format(n=n)))
    held = [e.events[0] for e in memory.memory_entries]
    by = [e.content.get("sender") for e in held]
    assert len(held) == 20 and (by.count(None), by.count(2)) == (8, 6)


def test_witnessed_events_do_not_evict_all_messages_either():
    memory = stream_of(10)
    hear(memory, *[(who, "Hello.") for who in (2, 3, 4)])
    for n in range(40):
        hear(memory, (None, f"Fire and murder, number {n}!"))
    by = [e.events[0].content.get("sender") for e in memory.memory_entries]
    assert sorted(filter(None, by)) == [2, 3, 4]
