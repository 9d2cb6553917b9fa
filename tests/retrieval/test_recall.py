"""Recall: what comes to mind, in which order, and why."""

import asyncio
import io
import random
from collections import deque
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from mesa_llm.memory.episodic_memory import EpisodicMemory as MesaEpisodic
from mesa_llm.memory.memory import MemoryEntry
from rich.console import Console

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    LayeredMemory,
    MemoryStalled,
    Scoring,
    Services,
    open_run,
)
from mesa_memory.core.records import MemoryRecord
from mesa_memory.errors import EmbedderError
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.recalling import Recollection
from mesa_memory.memories.host.recalls import USUAL_PARTS
from mesa_memory.memories.registry import OUR_MEMORIES
from mesa_memory.retrieval.index import RecordIndex
from tests.support.single import memory_of, settle


def record(number, step=0, grade=None, kind="message"):
    return MemoryRecord(f"1/x/{kind}/{number}", 1, "x", kind, step, {}, grade)


def index_of(rows):
    """An index of (step, grade, vector) rows, with the number as text."""
    index = RecordIndex()
    for number, (step, grade, vector) in enumerate(rows):
        index.add(record(number, step, grade), str(number), vector, source="test")
    return index


def numbers(found):
    return [int(recalled.record.id.rpartition("/")[2]) for recalled in found]


# -- scoring ----------------------------------------------------------------------


def test_generative_agents_gives_the_published_formula():
    # cosines 1, 0, 0.5; grades 1, 5, 2; ages 2, 0, 1 with a decay of 0.5
    rows = [(8, 1, [1, 0, 0, 0]), (10, 5, [0, 1, 0, 0]), (9, 2, [0.5, 0.5, 0.5, 0.5])]
    found = index_of(rows).recall(
        "anything",
        vector=[1, 0, 0, 0],
        source="test",
        scoring=Scoring.generative_agents(decay=0.5),
        now=10,
    )
    recency = [0, 1, (0.5 - 0.25) / (1 - 0.25)]
    expected = {
        0: 1 + 0 + recency[0],
        1: 0 + 1 + recency[1],
        2: 0.5 + 0.25 + recency[2],
    }
    scores = dict(zip(numbers(found), [r.score for r in found], strict=True))
    assert scores == pytest.approx(expected, abs=1e-9)
    assert numbers(found) == [1, 2, 0]
    assert found[1].parts["recency"] == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_mesa_llm_scoring_orders_as_mesa_llm_does(seed):
    draw = random.Random(seed)
    rows = [(draw.randrange(30), draw.randint(1, 5)) for _ in range(40)]
    rows.sort()
    theirs = SimpleNamespace(
        memory_entries=deque(
            MemoryEntry(content={"n": n, "importance": grade}, step=step, agent=None)
            for n, (step, grade) in enumerate(rows)
        ),
        agent=SimpleNamespace(model=SimpleNamespace(steps=30)),
        recency_decay=0.995,
        _extract_importance=lambda entry: entry.content["importance"],
    )
    expected = [e.content["n"] for e in MesaEpisodic.retrieve_top_k_entries(theirs, 25)]
    index = index_of([(step, grade, None) for step, grade in rows])
    found = index.recall(None, 25, scoring=Scoring.mesa_llm(), now=30)
    assert numbers(found) == expected


def test_a_scoring_that_makes_no_sense_is_refused():
    cases = [
        ("relevance", -1),
        ("importance", float("nan")),
        ("recency", float("inf")),
        ("decay", 0),
        ("decay", 1.1),
        ("lexical_share", 2),
        ("context_weights", (1,)),
        ("context_weights", (-1, 0)),
        ("session_weights", (1,)),
        ("session_weights", (-1, 0)),
        ("session_weights", (0, float("nan"))),
        ("speaker_boost", -0.1),
        *(("time_match", wrong) for wrong in (-0.1, float("nan"), float("inf"))),
        ("refresh", "daily"),
        ("refresh_every", 0),
    ]
    for field, value in cases:
        with pytest.raises(ValueError, match=field):
            Scoring(**{field: value})


@pytest.mark.parametrize(
    ("refresh", "step", "seen"), [("off", 0, 0), ("always", 4, 4), ("throttled", 4, 0)]
)
def test_being_recalled_counts_as_an_access_if_the_scoring_says_so(refresh, step, seen):
    index = index_of([(0, 3, None)])
    scoring = Scoring(decay=0.5, refresh=refresh, refresh_every=5)
    index.recall(None, scoring=scoring, now=step)
    again = index.recall(None, scoring=scoring, now=5)[0]
    assert again.parts["recency"] == pytest.approx(0.5 ** (5 - seen))


# -- the index --------------------------------------------------------------------


def test_importance_is_a_share_of_the_highest_grade():
    index = RecordIndex()
    index.top = 10
    for number, grade in enumerate([1, 10, 5.5, None]):
        index.add(record(number, grade=grade), "mill")
    index.grade(record(0), 4)
    parts = {r.record.id[-1]: r.parts["importance"] for r in index.recall("mill")}
    assert parts == pytest.approx({"0": 1 / 3, "1": 1, "2": 0.5, "3": 0.5})


def test_what_changed_since_the_last_recall_counts_in_the_next():
    index = index_of([(n, 3, None) for n in range(40)])
    scoring = Scoring.without_query()

    def best():
        return numbers(index.recall(None, 1, scoring=scoring, now=50))

    assert best() == [39]
    index.grade(record(7), 5)
    assert best() == [7]
    index.add(record(50, 50, 5), "new")
    assert best() == [50]
    index.remove(record(50))
    index.remove(record(7))
    assert best() == [39]
    always = Scoring(0.0, 1.0, 1.0, refresh="always")
    index.recall(None, 1, scoring=always, now=50, until=0)
    assert best() == [0]


# -- the memory -------------------------------------------------------------------


class Counting:
    """An embedder of two dimensions that fails when told to."""

    dim, batch = 2, 100

    def __init__(self, name="counting"):
        self.name, self.calls, self.broken = name, [], None

    def embed(self, texts):
        if self.broken:
            raise self.broken
        self.calls.append(list(texts))
        return np.array([[float("mill" in t), 1.0] for t in texts], dtype=np.float32)


EVENTS = [
    (1, "The baker sells bread at dawn."),
    (2, "A wolf was seen near the old mill."),
    (3, "Taxes are due in the spring."),
    (4, "My sister plays the violin."),
]


def memory_with(events=EVENTS, services=None, **arguments):
    """A memory after these (step, text)."""
    kind = partial(EpisodicMemory, importance="offline", **arguments)
    memory = memory_of(kind, **(services or {}))
    for step, text in events:
        while memory.agent.model.steps < step:
            memory.agent.model.step()
        says(memory, text)
        memory.process_step()
    return memory


def says(memory, text, sender=7):
    memory.add_to_memory("message", {"message": text, "sender": sender})


def test_a_query_finds_what_it_is_about_and_says_why():
    memory = memory_with()
    found = memory.recall("Who makes music?", k=2)
    assert "violin" in found[0].record.content["message"]
    assert found[0].parts["dense"] > found[1].parts["dense"]
    assert memory.recall("wolves?", 1)[0].record.step == 2
    best = memory.retrieve_top_k_entries(1, query="bread")[0]
    assert "baker" in best.content["message"]["message"]
    assert [r.record.step for r in memory.recall("bread", since=2, until=3)] == [2, 3]


def test_the_prompt_recalls_what_was_just_said():
    memory = memory_with(considered_entries=1)
    assert "wolf" not in memory.format_long_term()
    memory.add_to_memory("message", {"message": "Is the mill safe?", "sender": 9})
    assert "wolf" in memory.format_long_term()
    assert "safe" not in memory.format_long_term(), "shown in another section"


def test_without_query_and_focus_importance_and_recency_decide():
    memory = memory_with()
    for recalled in memory.recall():
        parts = recalled.parts
        assert recalled.score == pytest.approx(parts["importance"] + parts["recency"])
        assert parts["relevance"] == 0


def test_what_the_agent_said_itself_is_no_focus():
    memory = memory_with()
    memory.add_to_memory("message", {"message": "The wolf!", "sender": 1})
    assert all(recalled.parts["relevance"] == 0 for recalled in memory.recall())
    says(memory, "Is it at the mill?")
    assert any(recalled.parts["relevance"] > 0 for recalled in memory.recall())


#: what the speaker has said before, what answers, by whom, and what is asked
TALKS = {
    "en": (
        ["I owe you three hundred.", "The meeting is at ten.", "You get it on day 5."],
        "Between us: I was offered a job in Bergen.",
        "You knew that she goes to Bergen, and said nothing to me?",
    ),
    "de": (
        ["Ich schulde dir Geld.", "Das Treffen ist um zehn.", "Du hast recht."],
        "Die Zwillinge haben das Fenster der Schule zerbrochen.",
        "Wer hat denn nun das Fenster in der Schule zerbrochen?",
    ),
    "ja": (
        ["お金を借りています。", "会議は十時です。", "あなたは正しい。"],
        "学校の窓を割ったのは双子です。",
        "学校の窓を割ったのは誰ですか。",
    ),
}


@pytest.mark.parametrize("language", TALKS)
def test_a_prompt_recalls_by_the_words_and_not_by_who_says_them(language):
    said, answer, question = TALKS[language]
    memory = memory_of(partial(EpisodicMemory, importance="offline"), language=language)
    asker, other = settle(memory.agent.model, EpisodicMemory, 2)
    asker.name, other.name = "Jonas", "Ines"
    for line in said:
        says(memory, line, asker.unique_id)
    says(memory, answer, other.unique_id)
    memory.process_step()
    says(memory, question, asker.unique_id)
    (recalls,) = memory.rankers()
    assert recalls.ranker.focus(memory.view()) == question
    assert memory.recall()[0].record.content["message"] == answer


@pytest.mark.parametrize("speaker", [3, 4, 5])
def test_of_equal_lines_that_of_who_speaks_is_recalled_first(speaker):
    apart = partial(EpisodicMemory, importance="offline", repetitions="keep")
    memory = memory_of(apart)
    for sender in (5, 3, 4, 6):
        says(memory, "It is a quiet day.", sender)
    memory.process_step()
    says(memory, "Good morning.", speaker)
    assert memory.recall()[0].record.sender == speaker
    assert f"by or about Agent {speaker}, who spoke" in memory.explain().caption
    assert "who spoke" not in memory.explain("A quiet day?").caption


@pytest.mark.parametrize("kind", [*OUR_MEMORIES, "user's"])
def test_a_prompt_may_be_read_about_a_question(kind):
    """Also one of a class that knows nothing of questions."""

    class Own(EpisodicMemory):
        def get_prompt_ready(self):
            return f"Mine: {super().get_prompt_ready()}"

    memory = memory_of(OUR_MEMORIES.get(kind, Own))
    says(memory, "The bridge is broken.")
    memory.process_step()
    asked = memory.get_prompt_ready(about="The bridge?")
    assert memory.get_prompt_ready() == asked
    awaited = asyncio.run(memory.aget_prompt_ready("The bridge?"))
    assert awaited == memory.get_prompt_ready()
    with pytest.raises(TypeError, match="about must be a question or None, got 5"):
        memory.get_prompt_ready(about=5)


@pytest.mark.parametrize(
    "kind",
    [
        partial(EpisodicMemory, considered_entries=1, importance="offline"),
        partial(FactMemory, n=1, direct_tokens=5, considered_facts=1),
        partial(ConversationMemory, idle_steps=0, recent=0, recall=1),
        lambda agent: LayeredMemory(agent, [EventStream(None, Recollection(1))]),
    ],
)
def test_what_is_recalled_for_a_question_answers_it_and_is_recorded(kind, tmp_path):
    memory = memory_of(kind, record=str(tmp_path / "run.sqlite"))
    for name, line in (("Bo", "I live in the mill."), ("Di", "I live in the abbey.")):
        (agent,) = settle(memory.agent.model, EpisodicMemory)
        agent.name = name
        says(memory, line, agent.unique_id)
    memory.process_step()
    for _ in range(3):
        memory.agent.model.step()
        memory.process_step()
    for question, answer in (
        ("Who is in the abbey?", "abbey"),
        ("And the mill?", "mill"),
    ):
        shown = memory.format_long_term(about=question)
        assert answer in shown and ("abbey" in shown) + ("mill" in shown) == 1
    Services.of(memory.agent.model).recorder.close()
    recalls = open_run(tmp_path / "run.sqlite").recalls()
    asked = dict(zip(recalls["query"], recalls["purpose"], strict=True))
    assert asked == {"Who is in the abbey?": "prompt", "And the mill?": "prompt"}


def test_the_memorys_own_scoring_is_used_and_checked():
    scoring = Scoring.generative_agents()
    memory = memory_with(scoring=scoring)
    assert memory.recall("wolf")[0].score <= 3
    with pytest.raises(TypeError, match="scoring"):
        EpisodicMemory(memory.agent, scoring="generative_agents")
    with pytest.raises(TypeError, match="scoring"):
        memory.recall("wolf", scoring="generative_agents")
    with pytest.raises(TypeError, match="query"):
        memory.recall(5)


def test_a_question_is_read_for_time_and_the_focus_is_not():
    moves = [(n, f"I live at the {p}.") for n, p in enumerate(["mill", "inn", "abbey"])]
    memory = memory_with(moves)
    for query, step in [("now", 2), ("at step 1", 1), ("before the inn", 0)]:
        found = memory.recall(f"Where does Agent 7 live {query}?")
        nearest = max(found, key=lambda recalled: recalled.parts["time_match"])
        assert nearest.record.step == step
        assert nearest.parts["time_match"] > 0.9
    says(memory, "Do you live here now?")
    assert all(r.parts["time_match"] == 0 for r in memory.recall(scoring=Scoring()))


def test_explain_prints_each_part():
    memory = memory_with([*EVENTS, (5, "[b]bold[/x] wolf")])
    console = Console(file=io.StringIO(), width=200)
    console.print(memory.explain("wolf at the mill"))
    shown = console.file.getvalue()
    assert "score = 1 relevance + 0.2 importance + 0.15 recency" in shown
    assert "[/x]" in shown
    best = memory.recall("wolf at the mill")[0]
    for number in (best.score, *(best.parts[part] for part in USUAL_PARTS)):
        assert f"{number:.3f}" in shown


def test_all_events_of_a_step_are_embedded_in_one_request_as_what_was_said():
    embedder = Counting()
    memory = memory_with([], {"embedder": embedder, "execution": "deferred"})
    for text in ("one", "two", "three"):
        says(memory, text)
    memory.process_step()
    assert memory.messages()
    assert embedder.calls == [["one", "two", "three"]]
    assert memory.recall("Agent 7")[0].parts["lexical"] > 0, "words say who and when"


def test_forgotten_events_leave_the_index():
    events = [(step, f"Event number {step}") for step in range(1, 30)]
    memory = memory_with(events, max_capacity=5)
    assert len(memory.memory_entries) == 5
    assert len(memory.recall("event", 99)) == 5


def test_entries_made_elsewhere_are_recalled_by_their_words():
    memory = memory_with()
    content = {"message": {"message": "The chapel bell is cracked.", "importance": 2}}
    memory.memory_entries.append(
        MemoryEntry(content=content, step=4, agent=memory.agent)
    )
    assert memory.retrieve_top_k_entries(1, "chapel")[0].content == content
    memory.memory_entries.pop()
    assert len(memory.recall("chapel")) == 4


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_an_outage_of_the_embedder_leaves_events_pending_until_it_is_over(execution):
    embedder = Counting()
    memory = memory_with(EVENTS[:1], {"embedder": embedder, "execution": execution})
    assert memory.messages(), "a read waits for unfinished work"
    embedder.broken = EmbedderError("no answer", passing=True)
    says(memory, "The mill burns")
    memory.process_step()
    assert "mill burns" in memory.get_prompt_ready()
    assert memory.recall(scoring=Scoring())[0].record
    with pytest.raises(EmbedderError, match="no answer"):
        memory.recall("mill")
    embedder.broken = None
    says(memory, "And now rain")
    memory.process_step()
    assert memory.recall("mill", 1)[0].parts["dense"] > 0.9
    assert [len(texts) for texts in embedder.calls[:2]] == [1, 2]


def test_an_outage_that_does_not_end_stops_the_run_and_a_lasting_fault_does_at_once():
    embedder = Counting()
    memory = memory_with(EVENTS[:1], {"embedder": embedder, "on_failure": "raise"})
    embedder.broken = EmbedderError("no answer", passing=True)
    memory.add_to_memory("message", {"message": "The mill burns"})
    with pytest.raises(MemoryStalled, match="embed has failed"):
        memory.process_step()
    embedder.broken = EmbedderError("no such model")
    memory.add_to_memory("message", {"message": "Still"})
    with pytest.raises(EmbedderError, match="no such model"):
        memory.process_step()
