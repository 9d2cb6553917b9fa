"""One name in several forms is one name, wherever a memory or a researcher reads it."""

import unicodedata

import pytest

from mesa_memory import EpisodicMemory, ScriptedLLM, configure, metrics, open_run
from mesa_memory.memories.tools import search_memories
from tests.support.fleet import Town

FORMS = {
    "decomposed": ("Zoë Núñez", unicodedata.normalize("NFD", "Zoë Núñez")),
    "apostrophe": ("Siobhan O'Hara", "Siobhan O\u2019Hara"),
    "dash": ("Mary-Jane", "Mary\u2011Jane"),
    "width": ("Anna", "\uff21\uff4e\uff4e\uff41"),
    "case": ("Straßner", "STRASSNER"),
    "spaces": ("Ann Lee", " Ann \u00a0Lee"),
    "no width": ("Ann", "A\u200bnn"),
    "Hangul": ("지민", unicodedata.normalize("NFD", "지민")),
}
every_form = pytest.mark.parametrize("form", FORMS)


def knows(town, *told):
    """Lets the first agent of a town hear facts, one a step."""
    agent = town.citizens[0]
    for subject, value in told:
        fact = {"subject": subject, "attribute": "home", "value": value}
        town.services.llm.enqueue({"facts": [{**fact, "sources": [1]}]})
        said = {"message": f"{subject} lives in {value}.", "sender": 2}
        agent.memory.add_to_memory("message", said)
        town.advance()
    return agent.memory


def listening(count=1):
    llm = ScriptedLLM(rules={"judge": {"decisions": []}})
    return Town("fact", count, llm=llm, execution="blocking")


@every_form
def test_a_fact_of_another_form_of_a_name_ends_the_older_one(form):
    one, other = FORMS[form]
    memory = knows(listening(), (one, "Lima"), (other, "Cusco"))
    (fact,) = memory.facts()
    assert fact.content["value"] == "Cusco"
    assert len(memory.fact_history(one, "home")) == 2
    assert len(memory.fact_history(other, "home")) == 2


@every_form
def test_a_fact_is_about_the_agent_whose_name_has_another_form(form):
    one, other = FORMS[form]
    town = listening(3)
    town.citizens[1].name = one
    memory = knows(town, (other, "Lima"))
    (fact,) = memory.facts()
    assert fact.subject == 2
    assert " ".join(one.split()) in fact.content["subject"]  # as the agent writes it


def test_two_agents_of_one_name_stay_two():
    town = listening(3)
    town.citizens[1].name, town.citizens[2].name = FORMS["decomposed"]
    for other in (2, 3):
        greeting = {"message": "Hello!", "sender": other}
        town.citizens[0].memory.add_to_memory("message", greeting)
    memory = knows(town, ("Zoë Núñez", "Lima"))
    assert [fact.subject for fact in memory.facts()] == [None]


@every_form
def test_recall_and_metrics_find_the_other_form_of_a_name(form, tmp_path):
    one, other = FORMS[form]
    file = str(tmp_path / "run.sqlite")
    town = Town("short_term", 2, llm="offline", execution="blocking")
    configure(town, record=file)
    for agent in town.citizens:
        agent.memory = EpisodicMemory(agent)
    ann, bob = town.citizens
    bob.name = one
    bob.memory.add_to_memory("message", {"message": "Hello!", "sender": 9})
    for text in ("Rain again.", f"I met {one} there.", "The bus is late."):
        ann.memory.add_to_memory("message", {"message": text, "sender": 9})
        town.advance()
    best = ann.memory.recall(other, k=1)[0].record
    assert one in best.content["message"]
    assert one in search_memories(ann, other, 1)
    assert metrics.who_holds(town, f"met {other}") == [1]
    town.advance()
    configure(town, record=None)
    with open_run(file) as run:
        assert run.state(other, 3, as_records=True)
