"""Search over recorded runs, by meaning and by words."""

import numpy as np
import pytest

from mesa_memory.embedders.static import StaticEmbedder
from mesa_memory.errors import StoreCorrupt
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.runs import open_run
from mesa_memory.stores import Batch, RunInfo, open_store
from tests.support.postgres import postgres  # noqa: F401 - a fixture

SAID = [
    "The well in the old town is poisoned",
    "My daughter plays the violin",
    "Wheat prices rose at the market",
    "The mayor was elected for a second term",
    "A storm broke the bridge over the river",
]


def write(store, texts=SAID, embed=None, **info):
    """A run in which agents 1 and 2 in turn hear one text in each step."""
    run = store.begin(RunInfo(model="Town", **info))
    vectors = embed.embed(texts) if embed else [None] * len(texts)
    for step, (text, vector) in enumerate(zip(texts, vectors), 1):
        agent = str(1 + step % 2)
        batch = Batch(step)
        batch.agents = [{"agent": agent, "unique_id": int(agent)}]
        row = {"id": f"{agent}/m/{step}", "agent": agent, "layer": "l", "kind": "message",
               "step": step, "valid_from": step, "text": text,
               "content": {"message": text, "sender": 9}}  # fmt: skip
        if vector is not None:
            row |= {"embedding": vector.astype("<f2").tobytes(), "embedder": embed.name}
        batch.opened = [row]
        if step == 3:
            batch.closed = [("2/m/1", 3, "evicted", None)]
        store.write(run, batch)
    store.end(run, "finished")
    return run


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("search") / "run.sqlite"
    if request.param == "postgresql":
        place = request.getfixturevalue("postgres").database()
    opened = open_store(place)
    write(opened, embed=StaticEmbedder(), name="embedded")
    write(opened, name="bare")
    yield opened
    opened.close()


def found(rows):
    return [row["text"] for row in rows]


@pytest.mark.parametrize("name", ["embedded", "bare"])
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("poisoned wells", SAID[0]),  # words
        ("a girl makes music", SAID[1]),  # meaning
        ("Who won the vote?", SAID[3]),
        ("STORM", SAID[4]),
    ],
)
def test_the_record_that_is_meant_comes_first(store, name, query, text):
    with open_run(store, name) as run:
        rows = run.search(query, k=2, as_records=True)
    assert rows[0]["text"] == text
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["score"] >= rows[1]["score"]


def test_a_search_may_be_of_an_agent_a_kind_or_what_was_current(store):
    with open_run(store, "embedded") as run:
        rows = run.search("the well", agent=2, as_records=True)
        assert {row["agent"] for row in rows} == {2}
        assert found(rows)[0] == SAID[0]
        now = found(run.search("the well", step=3, as_records=True))
        assert sorted(now) == sorted(SAID[1:3])  # the first was evicted in step 3
        assert SAID[0] in found(run.search("the well", step=2, as_records=True))
        assert run.search("the well", kinds="summary", as_records=True) == []
        assert len(run.search("the well", kinds=["message", "x"], k=None)) == 5


def test_a_search_across_runs_finds_both(store):
    with open_run(store, "bare") as run:
        rows = run.search("poisoned well", across=True, k=2, as_records=True)
        assert [(row["run"], row["text"]) for row in rows] == [
            (1, SAID[0]),
            (2, SAID[0]),
        ]
        of_one = run.search(
            "poisoned well", agent="2", across=True, k=2, as_records=True
        )
        assert [row["run"] for row in of_one] == [1, 2]


def test_what_another_embedder_made_does_not_count(tmp_path):
    class Other:
        name, dim, batch = "other", 3, 8

        def embed(self, texts):
            return np.tile(np.array([[1, 0, 0]], dtype=np.float32), (len(texts), 1))

    store = open_store(tmp_path / "run.sqlite")
    write(store, embed=Other())
    with open_run(store) as run:
        assert run.search("a girl makes music", as_records=True)[0]["text"] == SAID[1]
        rows = run.search("storm", embedder=Other(), as_records=True)
        assert rows[0]["text"] == SAID[4]
        assert rows[0]["dense"] == pytest.approx(1)
    store.close()


def test_an_embedding_that_is_none_is_a_damaged_file(tmp_path):
    class Broken(StaticEmbedder):
        def embed(self, texts):
            return np.full((len(texts), 256), np.nan, dtype=np.float32)

    store = open_store(tmp_path / "run.sqlite")
    write(store, embed=Broken())
    with open_run(store) as run, pytest.raises(StoreCorrupt, match="finite numbers"):
        run.search("storm")
    store.close()


def test_a_search_that_names_a_speaker_prefers_what_it_said(store):
    with open_run(store, "embedded") as run:
        by_nine = run.search("What did agent 9 say of music?", k=1, as_records=True)[0]
        by_nobody = run.search("What did agent 8 say of music?", k=1, as_records=True)[
            0
        ]
    assert by_nine["text"] == by_nobody["text"] == SAID[1]
    more = by_nine["relevance"] - by_nobody["relevance"]
    assert more == pytest.approx(Scoring.relevance_only().speaker_boost, abs=0.05)
