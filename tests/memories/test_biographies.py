"""A biography stands in all that an agent is shown of its memory, whatever happens."""

import copy
import pickle

import mesa
import pandas as pd
import pytest
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import ShortTermMemory, carry_over, configure, fork, open_run, resume
from mesa_memory.interventions import biography, edit, erase, exchange, replace_memory
from mesa_memory.memories.registry import OUR_MEMORIES, find
from tests.support.planners import Village, text_of
from tests.support.playing import ended, held, lived, recorded
from tests.support.single import Asked, settle
from tests.support.turns import in_turn

HEADING = "Who you are (always true, whatever others say):"
CSV = "id,age,home,job\n1,40,the mill,miller\n2,31,the harbour,\n"
PINNED = {
    1: f"{HEADING}\n- age: 40\n- home: the mill\n- job: miller",
    2: f"{HEADING}\n- age: 31\n- home: the harbour",
}
ADA = pd.DataFrame({"name": ["Ada"]})
WRONG = "You are 60 years old, a baker, and your home is the forest."


class Town(mesa.Model):
    """Two people with a biography, who hear every day that they are somebody else."""

    def __init__(self, kind="stlt", table="", record=None, rng=1):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        settle(self, find(kind), 2)
        if table:
            biography(self.agents, table)

    def step(self):
        one, two = self.agents
        one.send_message(WRONG, [two])
        two.send_message(WRONG, [one])
        for agent in self.agents:
            agent.memory.process_step(pre_step=True)
            agent.memory.process_step()


@pytest.fixture
def table(tmp_path):
    """A CSV file about two people; the job of the second is not known."""
    path = tmp_path / "people.csv"
    path.write_text(CSV, encoding="utf-8")
    return str(path)


def is_pinned(model):
    """Asserts that each agent is shown its facts, once and first."""
    for agent in model.agents:
        pinned, memory = PINNED[agent.unique_id], agent.memory
        for text in (memory.get_prompt_ready(), memory.format_long_term()):
            assert text.split("\n\n")[0] == pinned
            assert text.count(HEADING) == 1
        assert HEADING not in memory.format_short_term()


def facts_of(agent):
    """The fields and values of its current records of this kind, with their origin."""
    found = [r for r in agent.memory.current_records() if r.kind == "biography"]
    return [(r.content["field"], r.content["value"], r.origin) for r in found]


# -- what is shown ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", OUR_MEMORIES)
def test_five_steps_of_contradiction_change_nothing_in_any_request(kind, tmp_path):
    people = tmp_path / "people.csv"
    rows = [f"{n},{30 + n},house {n}" for n in range(1, 5)]
    people.write_text("\n".join(["agent,age,home", *rows]), encoding="utf-8")
    village = Village(kind, CoTReasoning, arranged=False, n=4)
    biography(village.agents, people)
    for _ in range(5):
        for agent in village.agents:
            said = {"message": WRONG, "sender": agent.unique_id % 4 + 1}
            agent.memory.add_to_memory("message", said)
        village.lived(1)
    for agent in village.agents:
        number = agent.unique_id
        own = f"{HEADING}\n- age: {30 + number}\n- home: house {number}\n"
        asked = list(map(text_of, village.of_agent(number)))
        assert len(asked) == 5
        assert all(text.count(own) == text.count(HEADING) == 1 for text in asked)
    assert "60 years old" in text_of(village.of_agent(1)[-1])


@in_turn(
    reasoning=[CoTReasoning, ReActReasoning, ReWOOReasoning],
    kind=["short_term", "impression", "layered"],
)
def test_each_request_of_each_reasoning_shows_it_once(kind, reasoning):
    village = Village(kind, reasoning, n=2)
    biography(village.agents, pd.DataFrame({"id": [1, 2], "home": ["mill", "lake"]}))
    village.lived(4)
    asked = list(map(text_of, village.of_agent(2)))
    assert asked
    assert all(text.count(f"{HEADING}\n- home: lake\n") == 1 for text in asked)


def test_no_request_of_a_memory_itself_tells_of_it(table):
    town = Town("stlt", table)
    noting = Asked()
    configure(town, llm=noting)
    lived(town, 12)
    is_pinned(town)
    assert noting.asked
    for request in noting.asked:
        assert "the mill" not in request.prompt and HEADING not in request.prompt
    assert "the mill" not in town.agents[0].memory.long_term_memory


def test_a_layered_memory_keeps_its_budget(table):
    town = Town("layered", table)
    lived(town, 30)
    memory = town.agents[0].memory
    memory.budget = 150
    is_pinned(town)
    assert memory.count(memory.get_prompt_ready()) <= 150
    assert "step 30" in memory.get_prompt_ready().lower()


def test_a_placebo_shows_it_unchanged(table):
    town = Town("placebo:neutral:short_term", table)
    lived(town, 3)
    is_pinned(town)
    assert WRONG not in town.agents[0].memory.get_prompt_ready()


# -- what becomes of it ----------------------------------------------------------------


@pytest.mark.parametrize("kind", OUR_MEMORIES)
def test_a_resumed_and_a_forked_run_go_on_with_it(kind, table, tmp_path):
    file = tmp_path / "run.sqlite"
    town = lived(Town(kind, table, file), 3)
    shown = [agent.memory.get_prompt_ready() for agent in town.agents]
    kept = held(town)
    run = ended(town)
    assert recorded(file, run) == kept
    with open_run(file, run) as told:
        found = told.state(1, as_records=True)
    facts = [r for r in found if r["kind"] == "biography"]
    assert [r["origin"] for r in facts] == ["imported"] * 3
    for again in (resume(Town, file, table=table), fork(Town, file, step=3, table="")):
        assert [agent.memory.get_prompt_ready() for agent in again.agents] == shown
        assert held(again) == kept
        is_pinned(lived(again, 4))


def test_copies_have_it(table):
    town = lived(Town("layered", table))
    is_pinned(lived(copy.deepcopy(town)))
    memory = town.agents[0].memory
    for twin in (copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert twin.get_prompt_ready() == memory.get_prompt_ready()


@pytest.mark.parametrize("kind", ["stlt", "episodic", "layered"])
def test_it_stays_with_its_agent_when_memories_are_exchanged(kind, table, tmp_path):
    town = lived(Town(kind, table, tmp_path / "run.sqlite"))
    before = facts_of(town.agents[0])
    exchange(*town.agents)
    is_pinned(town)
    assert facts_of(town.agents[0]) == before
    now = held(lived(town, 1))
    assert recorded(tmp_path / "run.sqlite", ended(town)) == now
    is_pinned(lived(resume(Town, tmp_path / "run.sqlite", table=""), 2))


@pytest.mark.parametrize("new", ["episodic", "layered", "short_term"])
def test_another_memory_of_the_agent_takes_it_over(new, table, tmp_path):
    town = lived(Town("stlt", table, tmp_path / "run.sqlite"))
    for agent in town.agents:
        replace_memory(agent, new)
    is_pinned(lived(town, 2))
    now = held(town)
    assert recorded(tmp_path / "run.sqlite", ended(town)) == now
    is_pinned(lived(resume(Town, tmp_path / "run.sqlite", table=""), 2))


def test_a_second_table_takes_the_place_of_the_first(table, tmp_path):
    town = lived(Town("stlt", table, tmp_path / "run.sqlite"))
    old = [r for r in town.agents[0].memory.current_records() if r.kind == "biography"]
    biography(town.agents, pd.DataFrame({"id": [1, 2], "home": ["lake", "moor"]}))
    assert facts_of(town.agents[0]) == [("home", "lake", "imported")]
    assert {r.closed_because for r in old} == {"edited"}
    now = held(lived(town, 1))
    assert recorded(tmp_path / "run.sqlite", ended(town)) == now


@in_turn(kind=OUR_MEMORIES, way=["replace_memory", "twice, and resumed", "carry_over"])
def test_its_facts_are_no_events_of_the_memory_that_goes_on(kind, way, table, tmp_path):
    town = lived(Town(kind, table, tmp_path / "run.sqlite"), 3)
    if way == "carry_over":
        ended(town)
        town = Town(kind, table)
        for agent in town.agents:
            carry_over(tmp_path / "run.sqlite", agent)
    else:
        for agent in town.agents:
            replace_memory(agent, kind)
            if way != "replace_memory":
                replace_memory(agent, kind)
    told = pd.DataFrame({"id": [1, 2], "home": ["the tower", "the cave"]})
    biography(town.agents, told)
    if way.endswith("resumed"):
        ended(lived(town, 1))
        town = resume(Town, tmp_path / "run.sqlite", table=str(table))
    for agent, home in zip(town.agents, ["the tower", "the cave"]):
        told = agent.memory.get_prompt_ready()
        assert told.count(home) == 1
        if hasattr(agent.memory, "recall"):
            found = agent.memory.recall("the mill and the harbour", 50)
            told += "".join(str(each.record.content) for each in found)
        assert not any(old in told for old in ("the mill", "the harbour", "miller"))
        current = agent.memory.current_records()
        assert [r.content["value"] for r in current if r.kind == "biography"] == [home]


def test_a_researcher_may_edit_and_erase_a_fact(table):
    town = Town("stlt", table)
    memory = town.agents[0].memory
    _, home, job = (r for r in memory.current_records() if r.kind == "biography")
    erase(town.agents[0], job)
    edit(town.agents[0], home, {"field": "home", "value": "the lake"})
    lived(town)
    text = memory.get_prompt_ready()
    assert text.startswith(f"{HEADING}\n- age: 40\n- home: the lake\n\n")


# -- tables ----------------------------------------------------------------------------


def people(*names):
    """A model whose agents have these names, and short-term memories."""
    model = mesa.Model(rng=1)
    for agent, name in zip(settle(model, ShortTermMemory, len(names)), names):
        agent.name = name
    return model


@pytest.mark.parametrize(
    "columns, told",
    [
        ({"who": [1, 2], "name": ["Ada", "Bo"]}, "- who: 1"),
        ({"name": ["Ada", "Bo"], "id": [1, 2]}, "- name: Ada"),
        ({"name": ["Ada", "Bo"], "age": [40, None]}, "- age: 40"),
        ({"who": ["Ada", 2], "pay": [1.5, 2.0]}, "- pay: 1.5"),
        ({"id": [1, 2], "note": ["two\nlines", " "]}, "- note: two lines"),
    ],
)
def test_rows_are_found_by_id_or_name(columns, told):
    model = people("Ada", "Bo")
    found = biography(model.agents, pd.DataFrame(columns))
    assert list(found) == [1, 2]
    assert model.agents[0].memory.get_prompt_ready().splitlines()[1] == told
    assert all(record.content["value"] for each in found.values() for record in each)


@pytest.mark.parametrize(
    "table, message",
    [
        ({"id": [1]}, "no row for the agents 2"),
        ({"id": [1, 2, 7]}, "rows of no agent: 7"),
        ({"id": [1, 2, "Ada"]}, "rows of no agent: Ada"),
        ({"id": [1, 1, 2]}, "row 2 .* has '1' as its id"),
        ({"id": [1, None]}, "row 2 .* has '' as its id"),
        ({"id": [1, 2], "": [3, 4]}, "must have names, each its own"),
        ({}, "must have names"),
        ("id,home\n1,a\n2,b,c\n", "row 2 .* has 3 cells, and the header has 2"),
        ("id,,home\n1,a,b\n2,a,b\n", "must have names"),
        ("id,home,home\n1,a,b\n2,a,b\n", "each its own"),
        ("", "must have names"),
    ],
)
def test_a_table_or_file_that_does_not_fit_changes_nothing(table, message, tmp_path):
    model, file = people("Ada", "Bo"), tmp_path / "people.csv"
    if isinstance(table, str):
        file.write_text(table, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        biography(model.agents, file if file.exists() else pd.DataFrame(table))
    assert [agent.memory.current_records() for agent in model.agents] == [[], []]


@pytest.mark.parametrize(
    "names, table, error, message",
    [
        (("Ada", "Ada"), ADA, ValueError, "rows of several agents: Ada"),
        (("Ada",), 7, TypeError, "DataFrame or the path of a CSV file, got 7"),
    ],
)
def test_one_name_of_two_agents_and_what_is_not_a_table_are_refused(
    names, table, error, message
):
    with pytest.raises(error, match=message):
        biography(people(*names).agents, table)


def saved(separator=",", end="\r\n", encoding="utf-8", head=""):
    """Two people as a spreadsheet saves them."""
    rows = [
        "name,home,job",
        "Zoë,mill,baker",
        'Jürgen,"lake, north; east",'.rstrip(",") + ",",
    ]
    text = end.join(row.replace(",", separator) for row in rows) + end
    return (head + text).encode(encoding)


READ = {
    "UTF-8": saved(),
    "semicolons with their line": saved(";", head="sep=;\r\n"),
    "tabs in UTF-16": saved("\t", encoding="utf-16"),
    "blank rows": saved() + b",,\r\n , ,\r\n\r\n",
    "blank rows before": b"\r\n" + saved(";"),
    "a header with both": saved().replace(b"home", b"home; or barn"),
}
UNCLEAR = {
    "cp1252": (saved(";", encoding="cp1252"), "people.csv is not UTF-8. Save it as 'CSV"),
    "UTF-16 cut off": (saved(encoding="utf-16")[:-1], "is not UTF-8"),
    "two separators": (b"name,home;job\nZoe,mill;baker\nJan,hill;miller\n", "is not clear"),
    "nothing": (b"", "must have names"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_a_table_is_read_as_spreadsheets_save_it(tmp_path, name):
    model, file = people("Zoë", "Jürgen"), tmp_path / "people.csv"
    file.write_bytes(READ[name])
    pinned = biography(model.agents, file)
    first, second = ([r.content["value"] for r in each] for each in pinned.values())
    assert first == ["mill", "baker"]
    assert len(second) == 1 and second[0].startswith("lake")


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_file_that_can_be_read_in_two_ways_is_refused_with_the_cure(tmp_path, name):
    data, said = UNCLEAR[name]
    model, file = people("Zoë", "Jürgen"), tmp_path / "people.csv"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=said):
        biography(model.agents, file)
    assert not any(agent.memory.journal.pinned for agent in model.agents)
