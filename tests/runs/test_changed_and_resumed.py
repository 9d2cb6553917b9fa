"""What a researcher took out, changed or swapped stays so when the run is resumed."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    ConversationMemory,
    FactMemory,
    ImpressionMemory,
    NarrativeMemory,
    Services,
    ShortTermMemory,
    configure,
    register_policy,
    resume,
)
from mesa_memory.interventions import edit, erase, swap


class Square(mesa.Model):
    """Two agents, each of whom hears three others."""

    def __init__(self, kind="impression", record=None):
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        name = register_policy("quiet", lambda turn: "Nothing to do.")
        made = {
            "impression": lambda agent: ImpressionMemory(agent, update_every=1, n=1),
            "short_term": lambda agent: ShortTermMemory(agent, n=2),
            "fact": lambda agent: FactMemory(agent, n=2),
            "narrative": lambda agent: NarrativeMemory(agent, 2, 20, keep_last=1),
            "conversation": lambda agent: ConversationMemory(agent, 1, n=2),
        }[kind]
        self.people = [LLMAgent(self, CoTReasoning, name) for _ in range(2)]
        for person in self.people:
            person.memory = made(person)

    def step(self):
        for place, person in enumerate(self.people):
            # The first hears 10 and 11, the second 11 and 12.
            for sender in (10 + place, 11 + place):
                said = f"day {self.steps}: you are a good friend, says {sender}"
                content = {"message": said, "sender": sender}
                person.memory.add_to_memory("message", content)
            person.memory.process_step()


def shown(model):
    return [
        (
            person.memory.get_prompt_ready(),
            [(m.step, m.sender, m.text) for m in person.memory.messages()],
            [r.content for r in getattr(person.memory, "revisions", lambda _: [])(10)],
            [r.content for r in getattr(person.memory, "revisions", lambda _: [])(11)],
            [r.content for r in getattr(person.memory, "facts", lambda _: [])(2)],
        )
        for person in model.people
    ]


def erased(model):
    memory = model.people[0].memory
    erase(model.people[0], memory.current_records()[-1])


def erased_message(model):
    records = model.people[0].memory.current_records()
    erase(model.people[0], next(r for r in records if r.kind == "message"))


def edited(model):
    person = model.people[0]
    record = person.memory.current_records()[-1]
    texts = {"message": "edited by hand", "text": "edited by hand"}
    new = {k: texts.get(k, v) for k, v in record.content.items()}
    edit(person, record, new)


def swapped(model):
    swap(*model.people)


def swapped_twice(model):
    swap(*model.people)
    model.step()
    swap(*model.people)


@pytest.mark.parametrize(
    "kind", ["impression", "short_term", "fact", "conversation", "narrative"]
)
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize(
    "change",
    [erased, erased_message, edited, swapped, swapped_twice],
)
def test_what_was_changed_by_hand_stays_changed(change, after, kind, tmp_path):
    file = tmp_path / "square.sqlite"
    model = Square(kind, file)
    for _ in range(3):
        model.step()
    change(model)
    for _ in range(after):
        model.step()
    live = shown(model)
    Services.of(model).recorder.close()
    assert shown(resume(Square, file)) == live
