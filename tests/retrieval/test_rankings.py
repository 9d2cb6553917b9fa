"""The same vectors and words are ranked the same, in every process and on every machine.

    python -m tests.retrieval.test_rankings [--write]

prints the rankings that ``tests/data/rankings.json`` holds; with ``--write``, it writes
them there, which is right only after a change that is meant to change rankings.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mesa_memory.core.records import MemoryRecord
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.bm25 import LexicalIndex
from mesa_memory.retrieval.index import RecordIndex
from mesa_memory.retrieval.scoring import Scoring, top_k
from mesa_memory.retrieval.table import rounded

GOLDEN = Path(__file__).parent.parent / "data" / "rankings.json"

WHO = ["Agent 1", "Agent 2", "Agent 12", "Caroline", "李明"]
DID = [
    "the mill is on fire", "we sold bread at the market", "a wolf killed two sheep",
    "the bridge is closed", "taxes rise in spring", "my sister plays the violin",
    "图书馆今天关门", "I will vote for the baker", "the river floods the fields",
]  # fmt: skip
WHEN = ["", " again", ", as I feared", " since yesterday", " near the church"]

#: every field is given, so that other defaults do not change what is checked here
BARE = {"session_weights": (0.0, 0.0), "question_penalty": 0.0, "superseded": 0.0}
SCORINGS = [
    Scoring(1.0, 0.1, 0.1, 0.995, 0.4, (0.3, 0.15), 0.2, False, 0.0, "off", 10, 0.3, **BARE),
    Scoring(1.0, 0.0, 0.0, 1.0, 0.0, (0.3, 0.15), 0.2, False, 0.0, "off", 10, 0.3, **BARE),
    Scoring(1.0, 0.5, 2.0, 0.9, 1.0, (0.0, 0.0), 0.0, False, 0.0, "off", 10, 0.3, **BARE),
    Scoring(1.0, 1.0, 1.0, 0.995, 0.0, (0.0, 0.0), 0.0, True, 0.0, "off", 10, 0.0, **BARE),
    Scoring(0.0, 1.0, 1.0, 0.995, 0.0, (0.0, 0.0), 0.0, True, 0.5, "off", 10, 0.0, **BARE),
    Scoring(1.0, 0.1, 0.1, 0.995, 0.4, (0.3, 0.15), 0.2, False, 0.0, "off", 10, 0.3,
            session_weights=(0.4, 0.3), question_penalty=0.05, superseded=0.2),
]  # fmt: skip
FILTERS = [{}, {"kinds": ["message"], "since": 10, "until": 80, "subject": 1}]
QUERIES = [
    "Is the mill safe?", "What did Agent 2 say about the wolf?", "bread", "sheep",
    "Who plays the violin?", "Was Caroline at the market yesterday?", "图书馆", "李明说了什么",
    "the river and the bridge", "vote", "taxes", "What did Agent 12 fear?", "Step 40",
    "church fire", "fields flooded again", "music", "animals", "politics", "money", "?",
    "What did Agent 2 do at step 30?", "Where is Caroline now?", "now",
    "What did 李明 do before the wolf?", "Before step 60, what did Agent 1 fear?",
]  # fmt: skip


def village():
    """An index of 400 events, of which some say the same and some are forgotten."""
    texts, records = [], []
    for n in range(400):
        at = n * n + 3 * n  # neither random nor regular
        who, did, when = WHO[at % 5], DID[at % 9], WHEN[at % 7 % 5]
        texts.append(f"Step {n // 4}: {who} says: {did}{when}")
        kind, subject = ("message", "action")[n % 3 == 0], n % 2
        records.append(
            MemoryRecord(str(n), 1, "x", kind, n // 4, {}, 1 + at % 5, subject)
        )
    texts[200:208] = texts[8:16]  # ties for every query
    embedder, index = embedder_of("static"), RecordIndex()
    for n, (record, text) in enumerate(zip(records, texts, strict=True)):
        index.add(record, text, who=WHO[(n * n + 3 * n) % 5])
    index.embed_all(records, embedder.embed(texts), embedder.name)
    for record in records[5::11]:
        index.remove(record)
    return index, embedder


def rankings():
    """The ids of the first ten, for each query, scoring and filter."""
    index, embedder = village()
    found = []
    for query, scoring, narrowed in product(QUERIES, SCORINGS, FILTERS):
        vector = embedder.embed([index.body(query, scoring)])[0]
        asked = {"vector": vector, "source": embedder.name, "scoring": scoring}
        recalled = index.recall(query, 10, now=99, **asked, **narrowed)
        found.append([int(r.record.id) for r in recalled])
    return found


def test_rankings_are_those_of_the_golden_file():
    expected = json.loads(GOLDEN.read_text())
    assert len(expected) == 300
    assert rankings() == expected


def test_rankings_do_not_depend_on_the_process_hashes_or_threads():
    """Beside this process, which has other hashes and as many threads as it likes."""
    answer = subprocess.run(
        [sys.executable, "-m", "tests.retrieval.test_rankings"],
        env=os.environ | {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "1"},
        cwd=GOLDEN.parents[2],
        capture_output=True,
        check=True,
        timeout=600,
    )
    assert json.loads(answer.stdout) == json.loads(GOLDEN.read_text())


# -- against the formula ------------------------------------------------------------


def spread(values):
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high - low > 1e-9 else 0 * values


def by_the_formula(rows, texts, steps, grades, asked, query, scoring, now):
    """Scores of all, plainly and in double precision."""
    words = LexicalIndex()
    for text in texts:
        words.add(text)
    share = scoring.lexical_share
    dense = rows.astype(float) @ asked.astype(float)
    if share:
        lexical = words.scores(query).astype(float)
        dense = (1 - share) * spread(dense) + share * spread(lexical)
    relevance = dense.copy()
    for n in range(1, len(rows)):
        if steps[n] == steps[n - 1]:
            relevance[n] += scoring.context_weights[0] * dense[n - 1]
            relevance[n - 1] += scoring.context_weights[1] * dense[n]
    best, words = scoring.session_weights
    joined = LexicalIndex()
    for step in range(max(steps) + 1):
        joined.add(" ".join(texts[n] for n in np.flatnonzero(steps == step)))
    said = spread(joined.scores(query).astype(float))
    for n in range(len(rows)):
        relevance[n] += best * max(dense[steps == steps[n]]) + words * said[steps[n]]
    relevance /= 1 + best + words
    parts = [relevance, (grades - 1) / 4, scoring.decay ** np.maximum(0, now - steps)]
    if scoring.min_max:
        parts = [spread(part) for part in parts]
    weights = [scoring.relevance, scoring.importance, scoring.recency]
    return sum(weight * part for weight, part in zip(weights, parts, strict=True))


@pytest.mark.parametrize(
    "scoring",
    [*SCORINGS[:4], SCORINGS[5], replace(SCORINGS[0], importance=0, recency=0)],
)
def test_ten_come_in_the_order_of_the_formula_also_where_floats_cannot_tell(scoring):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((300, 16)).astype(np.float32)
        # Cosines within the noise of single precision, and equal ones.
        rows[99:198] = rows[:99] + 1e-7 * rng.standard_normal((99, 16))
        rows[198:219] = rows[:21]
        rows = rounded(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        steps, grades = np.arange(300) // 3, np.ones(300)
        texts = [f"w{n % 3} w{n % 9}" for n in range(300)]
        index = RecordIndex()
        for n in range(300):
            record = MemoryRecord(str(n), 1, "x", "message", int(steps[n]), {}, 1)
            who = ("Ann", "Bo")[n % 2]
            index.add(record, texts[n], rows[n], who, source="test")
        for asked in rounded(rng.standard_normal((30, 16)).astype(np.float32) / 4):
            given = (rows, texts, steps, grades, asked, "w2 w7", scoring, 99)
            expected = by_the_formula(*given)
            order = sorted(range(300), key=lambda at: (-round(expected[at], 9), at))
            found = index.recall(
                "w2 w7", 10, vector=asked, source="test", scoring=scoring, now=99
            )
            assert [int(r.record.id) for r in found] == order[:10]
            exact = 1e-9 if scoring.min_max else 1e-5
            scores = [r.score for r in found]
            assert scores == pytest.approx(expected[order[:10]].tolist(), abs=exact)


def test_cosines_are_exact_in_single_precision_and_near_those_of_the_embeddings():
    rng = np.random.default_rng(5)
    for dim in (16, 256, 384, 1024):
        rows = rng.standard_normal((2000, dim)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        kept, asked = rounded(rows), rounded(rows)[7]
        exact = kept.astype(float) @ asked.astype(float)
        assert np.array_equal(kept @ asked, exact)
        assert np.array_equal(kept[::-1, ::-1] @ asked[::-1], exact[::-1])
        assert np.abs(exact - rows.astype(float) @ rows[7]).max() < 0.001


def test_the_first_k_do_not_depend_on_how_many_are_asked_for():
    index, embedder = village()
    for query, vector in zip(QUERIES, embedder.embed(QUERIES), strict=True):
        asked = {"vector": vector, "source": embedder.name, "scoring": SCORINGS[0]}
        every = [r.record.id for r in index.recall(query, **asked)]
        assert len(every) == len(index)
        for k in (1, 2, 9, 150, 250):
            assert [r.record.id for r in index.recall(query, k, **asked)] == every[:k]


def test_scores_closer_than_a_billionth_are_ties():
    scored = np.array([1.0, 2.0, 2.0 + 1e-12, 0.5, 2.0])
    order = np.array([0.0, 3.0, 3.0, 0.0, 1.0])
    assert top_k(scored, 2, order).tolist() == [4, 1]
    assert top_k(scored, None, order).tolist() == [4, 1, 2, 0, 3]


if __name__ == "__main__":
    if "--write" in sys.argv:
        rows = ",\n".join(json.dumps(row) for row in rankings())
        GOLDEN.write_text(f"[\n{rows}\n]\n")
    print(json.dumps(rankings()))
