"""What belongs to one talk, and what a newer statement does to an older one."""

import random

import numpy as np
import pytest

from mesa_memory import EpisodicMemory, interventions
from mesa_memory.core.records import MemoryRecord
from mesa_memory.retrieval.dialogue import Likeness
from mesa_memory.retrieval.index import RecordIndex
from mesa_memory.retrieval.scoring import Scoring, superseded_part
from tests.support.single import memory_of

BARE = Scoring(session_weights=(0, 0), question_penalty=0, superseded=0)
#: what Agent 7 and Agent 8 told in turn, one turn a step
WITH_7 = [
    "Did you hear of the fair?",
    "A juggler came.",
    "He threw nine torches.",
    "It rained later.",
]
WITH_8 = [
    "My cow is ill.",
    "She eats no hay.",
    "I sold her calf.",
    "The stable is cold.",
]


def record(number, step, kind="message"):
    return MemoryRecord(str(number), 1, "x", kind, step, {})


def index_of(told, vectors=None):
    """An index of (step, who, said)."""
    index = RecordIndex()
    for number, (step, who, said) in enumerate(told):
        vector = None if vectors is None else vectors[number]
        text = f"Step {step}: {who} says: {said}"
        index.add(record(number, step), text, vector, who, source="test")
    return index


def parts_of(index, query, name, scoring=None, **asked):
    found = index.recall(query, scoring=scoring, **asked)
    return {int(r.record.id): r.parts[name] for r in found}


# -- talks in a village -------------------------------------------------------------


def villager():
    """A villager who talks with two others at once, one turn with each a step."""
    memory = memory_of(lambda agent: EpisodicMemory(agent, importance="offline"))
    me = memory.agent.unique_id
    for turn, heard in enumerate(zip(WITH_7, WITH_8)):
        for other, text in zip((7, 8), heard):
            sender, recipient = (other, me) if turn % 2 == 0 else (me, other)
            said = {"message": text, "sender": sender, "recipients": [recipient]}
            memory.add_to_memory("message", said)
        memory.process_step()
        memory.agent.model.step()
    return memory


def test_a_talk_over_many_steps_is_one_session_and_two_talks_are_two():
    found = villager().recall("Who threw torches at the fair?")
    session = {r.record.content["message"]: r.parts["session"] for r in found}
    lifts = [{session[text] for text in talk} for talk in (WITH_7, WITH_8)]
    assert len(lifts[0]) == len(lifts[1]) == 1, "all turns of a talk share it"
    assert lifts[0].pop() > 2 * lifts[1].pop()


def test_a_turn_without_a_word_of_the_query_is_found_by_its_talk():
    memory, query = villager(), "Who threw torches at the fair in the cold?"
    places = []
    for scoring in (Scoring(), BARE):
        found = [r.record.content["message"] for r in memory.recall(query, 8, scoring)]
        places.append(found.index("It rained later."))
    assert places[0] < places[1]


def test_a_scene_of_many_speakers_is_a_talk_if_neighbours_are_alike():
    rng = np.random.default_rng(1)
    themes = rng.standard_normal((12, 16))
    for closeness, coherent in [(1.0, True), (0.0, False)]:
        rows = closeness * themes.repeat(5, axis=0) + rng.standard_normal((60, 16))
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
        scenes = np.arange(60) // 5
        assert Likeness.of(rows, scenes).coherent == coherent
        told = [(n // 5, f"Agent {n % 5}", f"w{n}") for n in range(60)]
        session = parts_of(index_of(told, rows), "w3", "session")
        assert any(session.values()) == coherent
    few = Likeness.of(rows[:20], scenes[:20])
    assert not few.coherent and 0 <= few.chance < 1


def test_published_formulas_and_a_weight_of_0_have_no_sessions():
    told = [(1, "Ann", "a wolf?"), (1, "Bo", "yes, a wolf"), (2, "Cy", "rain")]
    index = index_of(told)
    assert parts_of(index, "wolf", "session")[1] > 0
    for scoring in (BARE, Scoring.generative_agents(), Scoring.mesa_llm()):
        assert set(parts_of(index, "wolf", "session", scoring).values()) == {0.0}
        assert scoring.session_weights == (0, 0)
        assert scoring.question_penalty == scoring.superseded == 0


# -- questions, others, the past ------------------------------------------------------


def test_a_question_counts_less_than_a_statement_if_something_is_asked():
    index = index_of(
        [(1, "Ann", "A wolf?"), (2, "Bo", "狼がいる？"), (3, "Cy", "A wolf.")]
    )
    assert parts_of(index, "wolf", "question") == {0: -1, 1: -1, 2: 0}
    assert set(parts_of(index, None, "question").values()) == {0}


def test_nothing_is_more_recent_in_the_past():
    told = [
        (1, "Ann", "I live here"),
        (50, "Ann", "I live there"),
        (99, "Bo", "Ann left"),
    ]
    index = index_of(told)
    assert set(parts_of(index, "Where was Ann at step 60?", "recency").values()) == {0}
    assert set(parts_of(index, "Where was Ann before Bo?", "recency").values()) == {0}
    assert all(parts_of(index, "Where is Ann now?", "recency").values())


def test_a_statement_is_superseded_by_a_newer_one_like_it_up_to_the_time_asked_for():
    rows = np.array([[1, 0], [1, 0], [0.75, 0.6614], [0, 1], [1, 0]], dtype="f4")
    steps, who = np.array([1.0, 5, 7, 8, 9]), np.array([1, 1, 1, 1, 2])
    found = superseded_part(rows, steps, who, 9, 0.0)
    assert found.tolist() == pytest.approx([-1, -0.5, -0.3228, 0, 0], abs=1e-4)
    found = superseded_part(rows, steps, who, 4, 0.0)
    assert found.tolist() == [0] * 5, "nothing newer had been said by then"
    found = superseded_part(rows, steps, who, 9, 0.5)
    assert found.tolist() == pytest.approx([-1, 0, 0, 0, 0], abs=1e-4), "all are alike"


def test_the_newest_home_comes_first_and_an_old_one_at_its_time():
    told = [(1, "Ann", "I live at the mill"), (50, "Ann", "I live at the inn")]
    index = index_of(told, np.eye(2, dtype="f4")[[0, 0]])
    asked = {"vector": np.eye(2, dtype="f4")[0], "source": "test", "now": 60}
    older = parts_of(index, "Where does Ann live now?", "superseded", **asked)
    assert older == {1: 0, 0: -1}
    older = parts_of(index, "Where did Ann live at step 20?", "superseded", **asked)
    assert older == {0: 0, 1: 0}
    assert set(parts_of(index, "Ann", "superseded", **asked).values()) == {0}


# -- nothing is left of what is gone --------------------------------------------------

QUERIES = [
    "What did Agent 3 say of Agent 1 and w4 before w5?", "w1 w2 w3", "Where is Agent 2 now?",
    "What did Agent 0 say of w6 at step 20?", "w2?",
]  # fmt: skip


def added(index, number, told, row, late):
    step, who, place, said = told
    vector = None if late else row
    index.add(record(number, step), said, vector, who, source="test", place=place)
    if late:
        index.embed_all([record(number, step)], [row], "test")


@pytest.mark.parametrize("themes", [1, 40])
@pytest.mark.parametrize("seed", range(4))
def test_an_index_with_a_past_ranks_as_one_that_is_filled_anew(seed, themes):
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    index, live, now = RecordIndex(), {}, 0
    middle = rng.standard_normal((themes, 8))
    for number in range(500):
        now += draw.random() < 0.3
        if (
            live and draw.random() < 0.45
        ):  # forgotten, erased, or taken out to be edited
            gone = draw.choice([*live])
            index.remove(record(gone, 0))
            del live[gone]
        who = draw.choice(["Agent 0", "Agent 1", "Agent 2", "Agent 3", None])
        place = draw.choice([None, None, "with 1", "with 2"])
        mark = draw.choice([".", "?"])
        said = f"Step {now}: {who} says: Agent {draw.randrange(5)} w{draw.randrange(8)}{mark}"
        row = middle[now // 5 % themes] + rng.standard_normal(8)
        row = (row / np.linalg.norm(row)).astype("f4")
        live[number] = (now, who, place, said), row
        added(index, number, *live[number], late=draw.random() < 0.5)
        if number % 25 == 0:
            assert_same(index, live, now, row)


def assert_same(index, live, now, row):
    fresh = RecordIndex()
    for number, (told, vector) in live.items():
        added(fresh, number, told, vector, late=False)
    for query in QUERIES:
        asked = {"vector": row, "source": "test", "now": now}
        found, expected = (
            [(r.record.id, r.rank, r.parts) for r in each.recall(query, **asked)]
            for each in (index, fresh)
        )
        assert [each[:2] for each in found] == [each[:2] for each in expected]
        for (*_, one), (*_, other) in zip(found, expected):
            assert one == pytest.approx(other, abs=1e-9)


def recalls_of(memory):
    queries = ("Who threw torches at the fair?", "Whose cow is ill now?", None)
    return [
        [(r.record.id, r.rank, round(r.score, 9)) for r in memory.recall(query, 9)]
        for query in queries
    ]


@pytest.mark.parametrize("change", ["edit", "erase", "exchange", "implant"])
def test_a_changed_memory_recalls_as_one_that_is_indexed_anew(change):
    memory, other = villager(), villager()
    agent, before = memory.agent, recalls_of(memory)
    turns = {r.record.content["message"]: r.record for r in memory.recall("fair", 9)}
    if change == "edit":
        interventions.edit(agent, turns["A juggler came."], {"message": "A bear came."})
    elif change == "erase":
        interventions.erase(agent, turns["He threw nine torches."])
    elif change == "exchange":
        interventions.exchange(agent, other.agent)
    else:
        said = {"message": "The fair was loud.", "sender": 7}
        interventions.implant(agent, "message", said)
        memory.process_step()
    after = recalls_of(memory)
    assert after != before or change == "exchange"
    memory.rankers()[0].ranker.index.clear()
    assert recalls_of(memory) == after
