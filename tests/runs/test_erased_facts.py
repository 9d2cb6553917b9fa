"""Facts taken out by hand leave the same behind in a live run and in a resumed one."""

import pytest

from mesa_memory import FactMemory, ScriptedLLM, fork, resume
from mesa_memory.interventions import edit, erase, exchange
from tests.support.hamlet import Hamlet, all_erased
from tests.support.playing import ended, lived

MILL, HARBOUR = "Carl lives at the mill.", "Carl lives at the harbour."
MAYOR = "Bob is the mayor."


class Village(Hamlet):
    """One person is told one sentence a day, and another one nothing."""

    llm = "offline"

    def __init__(self, days, kind="fact", record=None):
        super().__init__(kind, record, llm=self.llm)
        self.days = days
        self.one, self.other = self.agents

    def step(self):
        said = {"message": self.days[int(self.steps) - 1], "sender": 7}
        self.one.memory.add_to_memory("message", said)
        for agent in self.agents:
            agent.memory.process_step()


def home_of_carl(village):
    records = village.one.memory.current_records()
    facts = [record for record in records if record.kind == "fact"]
    return next(fact for fact in facts if fact.content["attribute"] == "home")


def erased(village):
    erase(village.one, home_of_carl(village))


def every_record_erased(village):
    all_erased(village.one, village.other)


def edited(village, value="the tower"):
    fact = home_of_carl(village)
    edit(village.one, fact, {**fact.content, "value": value})


def edited_back(village):
    edited(village, "the mill")


def erased_and_exchanged(village):
    erased(village)
    exchange(village.one, village.other)


CHANGES = [erased, every_record_erased, edited, edited_back, erased_and_exchanged]
CASES = [(kind, change) for kind in ("fact", "session") for change in CHANGES]
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
    asked = [("Carl", "home"), ("Bob", "role"), ("mayor", "holder")]
    values = [
        (record.id, until)
        for memory in memories
        for question in asked
        for record, until in memory.fact_history(*question)
    ]
    return records, values


@pytest.mark.parametrize(("kind", "change"), CASES)
def test_a_run_that_goes_on_holds_the_same_after_a_fact_was_changed(
    kind, change, tmp_path
):
    for number, (days, again) in enumerate(zip(LIVES, (resume, fork, resume))):
        file = tmp_path / f"{number}.sqlite"
        village = lived(Village(days, kind, file), len(days))
        change(village)
        now = known(village)
        run = ended(village)
        assert known(again(Village, file, run=run, days=days, kind=kind)) == now


BELONGINGS = ["boat", "horse", "dog", "cat"]


def read(request):
    """Reads one belonging in each message, one of several on the first days."""
    thing = next(each for each in BELONGINGS if f"Carl has a {each}" in request.prompt)
    fact = {"subject": "Carl", "attribute": "has", "value": thing, "sources": 1}
    several = thing in BELONGINGS[:2]
    return {"facts": [fact | {"several": several, "changed": not several}]}


class Owners(Village):
    llm = ScriptedLLM(rules={"*": read})


def test_erased_facts_do_not_decide_on_later_ones(tmp_path):
    """As after a resume: the memory does not know any more that Carl has several."""
    days = [f"Carl has a {thing}." for thing in BELONGINGS]
    values = []
    for interrupted in (False, True):
        file = tmp_path / f"{interrupted}.sqlite"
        village = lived(Owners(days, record=file))
        assert len(village.one.memory.facts()) == 2
        for fact in village.one.memory.facts():
            erase(village.one, fact)
        if interrupted:
            run = ended(village)
            village = resume(Owners, file, run=run, days=days)
        facts = lived(village).one.memory.facts()
        values.append([fact.content["value"] for fact in facts])
        ended(village)
    assert values == [["cat"], ["cat"]]


def test_an_edited_fact_is_told_in_its_new_words_unless_others_were_given():
    village = lived(Village([MILL]), 1)
    edited(village)
    fact = home_of_carl(village)
    assert fact.content["text"] == "Carl: home: the tower"
    edit(village.one, fact, fact.content | {"text": "Carl moved."})
    assert home_of_carl(village).content["text"] == "Carl moved."
