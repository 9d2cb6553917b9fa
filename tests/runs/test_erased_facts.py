"""Facts taken out by hand leave the same behind in a live run and in a resumed one."""

import json

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import FactMemory, configure, fork, register_policy, resume
from mesa_memory.interventions import edit, erase, exchange
from mesa_memory.llm import Reply
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support.playing import ended

QUIET = register_policy("quiet", lambda turn: "Nothing.")
MILL, HARBOUR = "Carl lives at the mill.", "Carl lives at the harbour."
MAYOR = "Bob is the mayor."


class Listener(LLMAgent):
    """Is told one sentence a day."""


class Village(mesa.Model):
    llm = "offline"

    def __init__(self, days, kind="fact", record=None, rng=1):
        super().__init__(rng=rng)
        configure(self, llm=self.llm, record=record)
        self.days = days
        self.one, self.other = (Listener(self, CoTReasoning, QUIET) for _ in range(2))
        for agent in (self.one, self.other):
            agent.memory = OUR_MEMORIES[kind](agent)

    def step(self):
        said = {"message": self.days[int(self.steps) - 1], "sender": 7}
        self.one.memory.add_to_memory("message", said)
        for agent in (self.one, self.other):
            agent.memory.process_step()


def home_of_carl(village):
    records = village.one.memory.current_records()
    facts = [record for record in records if record.kind == "fact"]
    return next(fact for fact in facts if fact.content["attribute"] == "home")


def erased(village):
    erase(village.one, home_of_carl(village))


def all_erased(village):
    for record in village.one.memory.current_records():
        erase(village.one, record)


def edited(village, value="the tower"):
    fact = home_of_carl(village)
    edit(village.one, fact, {**fact.content, "value": value})


def edited_back(village):
    edited(village, "the mill")


def taken_out_of_the_file(village):
    lines = village.one.memory.to_markdown().splitlines()
    left = [line for line in lines if not line.startswith("- home")]
    village.one.memory.from_markdown("\n".join(left), allow_empty=True)


def erased_and_exchanged(village):
    erased(village)
    exchange(village.one, village.other)


CHANGES = [erased, all_erased, edited, edited_back, erased_and_exchanged]
CASES = [("fact", change) for change in [*CHANGES, taken_out_of_the_file]]
CASES += [("session", change) for change in CHANGES]
LIVES = [
    [MILL, MAYOR, MILL, MILL],
    [MILL, MAYOR, HARBOUR, HARBOUR],
    [MILL, HARBOUR, MILL, MAYOR, HARBOUR],
]


def known(village):
    """All records that the memories go by, and the values that facts had."""
    village.one.memory.settle()
    memories = [village.one.memory, village.other.memory]
    records = [
        (r.id, r.content, r.valid_to, r.closed_because)
        for memory in memories
        for r in memory.held_records()
    ]
    if not isinstance(memories[0], FactMemory):
        return records
    values = [
        (record.id, until)
        for memory in memories
        for subject, attribute in (
            ("Carl", "home"),
            ("Bob", "role"),
            ("mayor", "holder"),
        )
        for record, until in memory.fact_history(subject, attribute)
    ]
    return records, values


@pytest.mark.parametrize(("kind", "change"), CASES)
def test_a_run_that_goes_on_holds_the_same_after_a_fact_was_changed(
    kind, change, tmp_path
):
    for number, days in enumerate(LIVES):
        for again in (resume, fork):
            file = tmp_path / f"{number}-{again.__name__}.sqlite"
            village = Village(days, kind, record=file)
            for _ in days:
                village.step()
            change(village)
            now = known(village)
            run = ended(village)
            assert known(again(Village, file, run=run, days=days, kind=kind)) == now


def test_an_erased_fact_has_no_earlier_values_of_its_own():
    """It was stated three times, so it was renewed twice; it is one fact."""
    village = Village([MILL, MILL, MILL])
    for _ in range(3):
        village.step()
    assert home_of_carl(village).content["strength"] == 3
    erased(village)
    assert village.one.memory.fact_history("Carl", "home") == []
    assert village.one.memory.facts(at=1) == []


def test_the_former_value_of_an_erased_fact_stays_in_its_history():
    village = Village([MILL, MILL, HARBOUR, HARBOUR])
    for _ in range(4):
        village.step()
    erased(village)
    memory = village.one.memory
    assert memory.facts() == []
    ((former, until),) = memory.fact_history("Carl", "home")
    assert (former.content["value"], until) == ("the mill", 3)


class Owner:
    """A model that reads one belonging in each message, one of several on some days."""

    several = ("boat", "horse")

    def complete(self, request):
        prompt = str(request.messages)
        thing = next(each for each in BELONGINGS if f"Carl has a {each}" in prompt)
        fact = {"subject": "Carl", "attribute": "has", "value": thing, "sources": 1}
        fact["several"] = thing in self.several
        return Reply(json.dumps({"facts": [fact]}))


class Owners(Village):
    llm = Owner()


BELONGINGS = ["boat", "horse", "dog", "cat"]


def test_facts_taken_out_of_their_file_do_not_decide_on_later_ones(tmp_path):
    """As after a resume: the memory does not know any more that Carl has several."""
    days = [f"Carl has a {thing}." for thing in BELONGINGS]
    values = []
    for interrupted in (False, True):
        file = tmp_path / f"{interrupted}.sqlite"
        village = Owners(days, record=file)
        village.step()
        village.step()
        assert len(village.one.memory.facts()) == 2
        village.one.memory.from_markdown("# Nothing", allow_empty=True)
        if interrupted:
            run = ended(village)
            village = resume(Owners, file, run=run, days=days)
        village.step()
        village.step()
        facts = village.one.memory.facts()
        values.append([fact.content["value"] for fact in facts])
        ended(village)
    assert values == [["cat"], ["cat"]]
