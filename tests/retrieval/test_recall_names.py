"""Who is named, who is spoken of, and which time is asked for."""

import numpy as np
import pytest

from mesa_memory.retrieval.bm25 import LexicalIndex
from mesa_memory.retrieval.dialogue import DialogueContext
from mesa_memory.retrieval.scoring import Scoring
from tests.retrieval.test_sessions import index_of

NAMED_ONLY = Scoring(1.0, 0.0, 0.0, time_match=0.0)


def numbers(found):
    return [int(recalled.record.id) for recalled in found]


def named(index, query, **filters):
    """Which records the naming of somebody lifts."""
    plain = {
        r.record.id: r.score
        for r in index.recall(query, scoring=Scoring(1.0, 0.0, 0.0, speaker_boost=0.0, time_match=0.0), **filters)
    }  # fmt: skip
    lifted = index.recall(query, scoring=NAMED_ONLY, **filters)
    return sorted(
        int(r.record.id) for r in lifted if r.score > plain[r.record.id] + 0.1
    )


# -- names ------------------------------------------------------------------------

TOWN = [
    (1, "Agent 4", "rain"), (1, "Agent 5", "snow"), (1, "Agent 6", "Agent 4 is ill"),
    (2, "Agent 7", "Agent 4 has a cart"), (2, "Agent 8", "Agent 44 has a dog"),
    (4, "Agent 9", "hail"),
]  # fmt: skip


def test_who_is_named_is_found_where_they_speak_and_where_others_speak_of_them():
    assert named(index_of(TOWN), "What of Agent 4?") == [0, 2, 3]
    assert named(index_of(TOWN), "What of Agent 9?") == [5], "step 4 is no agent 4"
    assert named(index_of(TOWN), "What of Agent 4?", until=1) == [0, 2]
    assert named(index_of(TOWN), "What of Agent 44?") == [], "it has said nothing"
    nameless = index_of([(1, None, "rain"), (2, "Bo", "snow")])
    assert named(nameless, "What did None say?") == []


def test_in_a_dialogue_of_theirs_a_name_is_an_address():
    talk = [(1, "Ann", "Hello Bo"), (1, "Bo", "Hello Ann"), (1, "Ann", "Fine, Bo")]
    absent = [*talk, (2, "Ann", "Bo was here"), (2, "Cy", "Bo was not")]
    assert named(index_of(absent), "What of Bo?") == [1, 3, 4]
    crowd = [*talk, (1, "Cy", "Hello Bo")]
    assert named(index_of(crowd), "What of Bo?") == [0, 1, 2, 3]


def test_names_of_all_kinds_are_found_in_what_others_say():
    cases = [
        ("李明", "我昨天见到了李明", "李明在哪里"),
        ("王小明", "我昨天见到王小明了", "王小明在哪里"),
        ("Zoë", "Zoë lost a shoe", "Where is Zoë?"),
        ("Caroline", "Caroline's cat ran away", "Where is caroline?"),
        ("Anna-Maria Lopez", "I met Anna-Maria Lopez", "Where is Anna-Maria Lopez?"),
        ("O'Brien", "I saw O'Brien", "Where is O'Brien?"),
    ]
    for who, said, query in cases:
        told = [(1, who, "rain"), (2, "B", said), (3, "C", "nothing at all")]
        assert named(index_of(told), query) == [0, 1]


def test_a_name_with_a_function_word_is_found_where_its_bearer_speaks_only():
    told = [(1, "Agent A", "rain"), (2, "Agent B", "the agent is here"), (3, "C", "no")]
    assert named(index_of(told), "Where is Agent A?") == [0]


def test_names_and_time_are_left_out_of_what_is_embedded_unless_switched_off():
    index = index_of([(1, "Agent 4", "rain"), (1, "王小明", "snow")])
    query = "Where does Agent 4 live now?"
    assert index.body(query, Scoring()) == "Where does live ?"
    assert index.body(query, Scoring(speaker_boost=0.0)) == "Where does Agent 4 live ?"
    assert index.body(query, Scoring(time_match=0.0)) == "Where does live now?"
    assert index.body(query, Scoring.generative_agents()) == query
    assert index.body("王小明住在哪里", Scoring()) == "住在哪里"
    assert index.body("Agent 44 and agent-4!", Scoring()) == "Agent 44 and !"
    for alone in ("Agent 4", "Agent 4 now", "now", "?", ""):
        assert bool(index.body(alone, Scoring())) == bool(alone)


# -- dialogues and crowds ---------------------------------------------------------


def test_a_talk_is_of_two_unless_the_memory_is_coherent():
    places = np.array([1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5])
    who = np.array([5, 0, 7, 1, 3, 2, 0, 0, 6, 4, 4], dtype="i4")
    company = DialogueContext.of(places, who)
    assert company.talk.tolist() == [True, False, False, False, False]
    assert company.where.tolist() == [0, 1, 2]
    assert company.joined.tolist() == [1, 1]
    assert company.session.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    company = DialogueContext.of(places, who, coherent=True)
    assert company.talk.tolist() == [True, True, True, False, True]


def test_talks_at_the_same_time_are_told_apart_and_long_ones_cut():
    places = np.array([0, 1] * 25 + [0])
    company = DialogueContext.of(places, np.array([1, 3, 2, 4] * 12 + [1, 3, 2]))
    assert company.lengths.tolist() == [20, 6, 20, 5]
    assert company.session.tolist() == [0, 2] * 20 + [1, 3] * 5 + [1]
    own = np.arange(51.0)
    found = np.zeros(51)
    found[company.where] = company.neighbours(own, (1, 0))
    assert found.tolist() == [0, 0, *range(49)]
    words = np.array([1.0, 3.0, 2.0, 1.0])
    lift = company.lift(own, words, (1.0, 10.0))
    assert lift.tolist() == [38.0] * 20 + [60.0] * 6 + [44.0] * 20 + [49.0] * 5


@pytest.mark.parametrize("others", [0, 1])
def test_turns_lean_on_each_other_in_a_dialogue_and_not_in_a_crowd(others):
    told = [(1, "Ann", "Where is the wolf?"), (1, "Bo", "Behind the barn.")]
    told += [(1, "Cy", "It snows."), (2, "Bo", "It rains.")][1 - others :]
    found = index_of(told).recall("wolf", scoring=Scoring.relevance_only())
    relevance = {n: r.parts["relevance"] for n, r in zip(numbers(found), found)}
    assert (relevance[1] > 0) == (not others)


# -- times ------------------------------------------------------------------------

MOVES = [
    (10, "Ann", "I live at the mill"), (20, "Bo", "I live at the inn"),
    (30, "Ann", "I live at the abbey"), (31, "Bo", "The inn is full"),
    (50, "Ann", "I live at the school"), (60, "Bo", "The abbey is cold"),
]  # fmt: skip


def test_the_time_that_is_asked_for_decides_between_what_is_alike():
    cases = [
        ("Where does Ann live now?", 4),
        ("Where did Ann live at step 45?", 2),
        ("Where did Ann live at step 30?", 2),
        ("Where did Ann live before step 30?", 0),
        ("Where did Ann live in step 12?", 0),
        ("Where did Ann live before the school?", 2),
        ("Where did Ann live until the abbey?", 0),
        ("Before the abbey, where did Ann live?", 0),
        ("Where did Ann live at step 9999?", 4),
    ]
    for query, answer in cases:
        assert numbers(index_of(MOVES).recall(query, 1)) == [answer]
        off = Scoring(time_match=0.0)
        scores = [
            r.parts["time_match"] for r in index_of(MOVES).recall(query, scoring=off)
        ]
        assert scores == [0.0] * len(MOVES)


def test_a_score_is_the_weighted_sum_of_its_parts_for_each_kind_of_question():
    scoring, index = Scoring(), index_of(MOVES)
    for query in (
        "Ann",
        "Ann now",
        "Ann at step 30",
        "Where does Ann live?",
        "home of Ann before the abbey",
        None,
    ):
        for found in index.recall(query, scoring=scoring, now=70):
            parts = found.parts
            total = parts["relevance"] + scoring.importance * parts["importance"]
            total += (
                scoring.recency * parts["recency"]
                + scoring.time_match * parts["time_match"]
                + scoring.superseded * parts["superseded"]
                + scoring.question_penalty * parts["question"]
            )
            assert found.score == pytest.approx(total, abs=1e-9)


def test_words_that_nobody_used_end_no_time():
    for found in index_of(MOVES).recall("Where did Ann live before the earthquake?"):
        assert found.parts["time_match"] == 0


@pytest.mark.parametrize(
    "name", ["relevance_only", "without_query", "generative_agents", "mesa_llm"]
)
def test_no_preset_but_the_default_reads_a_question_for_time(name):
    assert getattr(Scoring, name)().time_match == 0
    index = index_of(MOVES)
    for query in ("Ann now", "Ann at step 30", "home of Ann before the abbey"):
        for found in index.recall(query, scoring=getattr(Scoring, name)()):
            assert found.parts["time_match"] == 0


# -- the lexical index ------------------------------------------------------------


def test_a_name_is_looked_for_word_by_word_in_later_texts_too():
    index = LexicalIndex()
    texts = ["Agent 4 sings", "Step 4: Agent 5 sings", "4 agents", "an agent, 4 dogs"]
    for text in texts:
        index.add(text)
    assert index.holding(["agent", "4"]).tolist() == [0, 3]
    index.add("nobody")
    index.add("It is agent 4!")
    assert index.holding(["agent", "4"]).tolist() == [0, 3, 5]
    index.remove(1)
    index.compact()
    assert index.holding(["agent", "4"]).tolist() == [0, 2, 4]
    assert index.holding(["agent", "99"]).tolist() == []
    assert index.holding(["the"]).tolist() == []
