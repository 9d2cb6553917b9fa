"""The people of a message, given as the agent, its id, or its id as text."""

import numpy as np
import pytest

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    ScriptedLLM,
)
from tests.support.fleet import Town

FORMS = {
    "the agent": lambda bob: bob,
    "text": lambda bob: str(bob.unique_id),
    "numpy": lambda bob: np.int64(bob.unique_id),
    "a float, as pandas has it": lambda bob: np.float64(bob.unique_id),
    "a label": lambda bob: f"Agent {bob.unique_id}",
    "a label with the class": lambda bob: f"{type(bob).__name__} {bob.unique_id}",
    "a label with the name": lambda bob: f"{bob.name} (Agent {bob.unique_id})",
}
every_form = pytest.mark.parametrize("form", FORMS)


def town_of(memory, llm="offline"):
    town = Town("short_term", 3, llm=llm, execution="blocking")
    for citizen in town.citizens:
        citizen.memory = memory(citizen)
    town.citizens[1].name, town.citizens[2].name = "Bob", "Cid"
    return town, *town.citizens


def hear(town, agent, text, **people):
    agent.memory.add_to_memory("message", {"message": text, **people})
    town.advance()


@every_form
def test_a_sender_in_any_form_is_one_person_to_impressions(form):
    town, ann, bob, _ = town_of(ImpressionMemory)
    for day in range(5):
        sender = FORMS[form](bob) if day % 2 else bob.unique_id
        hear(town, ann, "Thank you, my friend.", sender=sender, recipients=[ann])
    assert list(ann.memory.impressions()) == [bob.unique_id]
    assert ann.memory.impression_of(FORMS[form](bob)) is not None
    assert "Bob to you: " in ann.memory.get_prompt_ready()


@every_form
def test_a_conversation_goes_on_whatever_form_the_sender_has(form):
    town, ann, bob, _ = town_of(ConversationMemory)
    for day in range(4):
        sender = FORMS[form](bob) if day % 2 else bob.unique_id
        hear(town, ann, f"Word {day}.", sender=sender, recipients=ann)
    assert ann.memory.close_conversation(FORMS[form](bob)) == 1
    town.advance()
    (record,) = ann.memory.conversations()
    assert record.content["with"] == [bob.unique_id]
    assert record.content["turns"] == 4


@every_form
def test_recipients_in_any_form_are_the_same_people(form):
    town, ann, bob, cid = town_of(EpisodicMemory)
    many = [FORMS[form](bob), FORMS[form](cid)]
    several = np.array(many) if form == "numpy" else tuple(many)
    hear(town, ann, "The mill burned.", sender=ann, recipients=several)
    hear(town, ann, "It is late.", sender=ann, recipients=FORMS[form](bob))
    first, second = ann.memory.messages()
    assert (first.sender, list(first.recipients)) == (1, [2, 3])
    assert list(second.recipients) == [2]
    assert len(ann.memory.messages(with_agent=FORMS[form](cid))) == 1
    (alone,) = ann.memory.recall("late", subject=FORMS[form](bob))
    assert alone.record.content["message"] == "It is late."


@every_form
def test_a_fact_has_one_speaker_whatever_form_the_sender_has(form):
    llm = ScriptedLLM(rules={"judge": {"decisions": []}})
    town, ann, bob, _ = town_of(FactMemory, llm)
    for value, sender in (("Lima", bob.unique_id), ("Cusco", FORMS[form](bob))):
        told = {"subject": "Eve", "attribute": "home", "value": value, "sources": [1]}
        llm.enqueue({"facts": [told]})
        hear(town, ann, f"Eve lives in {value}.", sender=sender)
    (fact,) = ann.memory.facts()
    assert fact.content["value"] == "Cusco"
    assert fact.content["speakers"] == [bob.unique_id]


def test_an_id_that_is_text_stays_text():
    town, ann, bob, _ = town_of(ImpressionMemory)
    bob.unique_id = "2"
    for _ in range(5):
        hear(town, ann, "Thank you, my friend.", sender="2")
    assert list(ann.memory.impressions()) == ["2"]
