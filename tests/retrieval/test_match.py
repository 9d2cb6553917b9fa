"""When a recall says that nothing fits its query."""

import json
import math
import sqlite3
from functools import partial

import numpy as np
import pytest

from mesa_memory import EpisodicMemory, LayeredMemory, Services, configure
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.grading import Grader
from mesa_memory.layers.stream.recalling import WEAK_MATCH, Recollection
from mesa_memory.memories.tools import search_memories
from mesa_memory.retrieval.index import best_match
from mesa_memory.retrieval.scoring import Scoring
from tests.retrieval.test_sessions import index_of
from tests.support.single import memory_of

NO_TALK, TALK = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
SAID = [
    "The mill burnt down last night.",
    "Apples are cheap on the market.",
    "A ship with silk came in.",
    "The bridge was painted green.",
]
#: the English mark, and the sentence of a prompt
MARK, UNSURE = "Weak match", "Not sure what matters here; these may help:"


def test_a_match_counts_cosines_in_standard_deviations_and_shares_of_words():
    dense = np.array([0.9] + 9 * [0.1])
    z, judged = np.array([3.0, -1 / 3, -1 / 3]), np.arange(3)
    found = best_match(dense, judged, np.array([0.5, 1.0, 0.0]), NO_TALK[:3])
    assert found == pytest.approx(z[0] + 4.5 - 1.8), "the largest share of words"
    found = best_match(
        np.tile(dense, 3), np.array([0, 1, 10, 20]), np.zeros(4), NO_TALK
    )
    assert found == pytest.approx(3.0 - 1.8), "the three highest among 30"
    found = best_match(np.tile(dense, 3), np.arange(4), np.zeros(4), NO_TALK)
    assert found == pytest.approx((3 - 2 / 3) / 3 - 1.8)
    assert best_match(np.ones(5), judged, np.zeros(3), NO_TALK[:3]) == -1.8
    assert best_match(dense, judged[:0], np.zeros(0), NO_TALK[:0]) == -math.inf


def test_in_a_talk_the_words_of_the_session_count():
    told = ["The mill burnt down.", "When was that?", "Last night, by lightning."]
    query = "mill burnt lightning night"
    talk = index_of([(1, "Ann" if n % 2 else "Bo", t) for n, t in enumerate(told)])
    alone = index_of([(n, "Bo", t) for n, t in enumerate(told)])
    found, apart = (index.search(query).match for index in (talk, alone))
    assert found == pytest.approx(4.5 - 1.8), "all words are in the session"
    assert apart < 4.5 * 0.8 - 1.8, "no record has more than three of four"


def test_only_records_by_or_about_the_agent_named_in_a_query_can_match():
    crowd = [(n, f"Agent {n}", text) for n, text in enumerate(SAID)]
    index = index_of(crowd)
    assert index.search("Who said that the mill burnt down?").match > 0
    assert index.search("Did Agent 0 say that the mill burnt down?").match > 0
    assert index.search("Did Agent 2 say that the mill burnt down?").match < 0
    assert index.search("Where is the dragon's gold?").match < 0


def test_without_a_query_and_in_published_formulas_nothing_is_judged():
    index = index_of([(1, "Ann", "A wolf.")])
    assert index.search(None).match == index.search("").match == 0
    assert index.search("gold", scoring=Scoring.generative_agents()).match == 0
    assert index.search("gold", scoring=Scoring.mesa_llm()).match == 0
    assert index.search("gold", 0).match == 0


def test_each_line_of_a_query_is_looked_for_by_itself():
    index = index_of([(n, f"Agent {n}", text) for n, text in enumerate(SAID)])
    heard = "A dragon sleeps below the hill.\nThe mill burnt down last night.\nHow wet!"
    assert index.search(heard, scoring=Scoring(time_match=0)).match > 0


# -- the mark -------------------------------------------------------------------------


def villager(memory, record=None):
    """A villager who has seen four things."""
    agent = memory_of(memory, record=record).agent
    for text in SAID:
        agent.memory.add_to_memory("observation", {"news": text})
        agent.memory.process_step()
        agent.model.step()
    return agent


def asked_about(agent, text):
    """The prompt while the agent hears a text."""
    agent.memory.add_to_memory("observation", {"news": text})
    return agent.memory.get_prompt_ready()


def episodic(agent, considered=30):
    return EpisodicMemory(agent, importance="offline", considered_entries=considered)


def layered(agent, considered=30):
    stream = EventStream(Grader("offline"), Recollection(considered))
    return LayeredMemory(agent, layers=[stream])


MEMORIES = [episodic, layered]


@pytest.mark.parametrize("considered", [2, 4, 30])
@pytest.mark.parametrize("memory", MEMORIES)
def test_a_prompt_is_unsure_if_no_memory_fits_and_lines_were_left_out(
    memory, considered
):
    def shown(news, language="en"):
        agent = villager(partial(memory, considered=considered))
        configure(agent.model, language=language)
        return asked_about(agent, news)

    assert UNSURE not in shown("The mill burnt down, they say.")
    left_out = considered < len(SAID)
    for news in ("Zebras gallop overhead", "Comets fell, the sailor moaned"):
        text = shown(news)
        assert f"Most important memories:\n{UNSURE}\n" in text if left_out else True
        assert (UNSURE in text) is left_out
        assert MARK not in text
    assert ("dies könnte helfen:" in shown("Zebras gallop overhead", "de")) is left_out
    assert (
        "役に立つかもしれないもの：" in shown("Zebras gallop overhead", "ja")
    ) is left_out
    cut = villager(partial(memory, considered=30))
    cut.memory.section_chars, cut.memory.budget = 230, 100
    assert UNSURE in asked_about(cut, "Zebras gallop overhead"), "no room for all"


def test_a_search_explain_and_the_record_say_so(tmp_path):
    agent = villager(MEMORIES[0], tmp_path / "run.db")
    told = search_memories(agent, "zebras"), search_memories(agent, "silk ship")
    assert told[0].startswith(f"({MARK}") and MARK not in told[1]
    score = "score = 1 relevance + 0.2 importance + 0.15 recency"
    assert agent.memory.explain("zebras").caption == f"{score}\n{WEAK_MATCH}"
    assert agent.memory.explain("silk ship").caption == score
    asked_about(agent, "Zebras gallop overhead")
    agent.model.step()
    Services.of(agent.model).recorder.close()
    with sqlite3.connect(tmp_path / "run.db") as file:
        rows = file.execute("SELECT query, scoring FROM recalls").fetchall()
    notes = {query: json.loads(scoring).get("note") for query, scoring in rows}
    assert notes.pop("silk ship") is None
    assert set(notes.values()) == {WEAK_MATCH} and len(notes) == 2
