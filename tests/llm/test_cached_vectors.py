"""``configure(cache=…)`` embeds each text once: across agents, runs and processes."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from mesa_memory import EpisodicMemory
from mesa_memory.embedders.base import normalised
from tests.support.models import hear
from tests.support.single import memory_of


class Counting:
    """Remembers every text it had to embed."""

    batch = 10

    def __init__(self, name="counting", dim=4):
        self.name, self.dim, self.asked = name, dim, []

    def embed(self, texts):
        self.asked += texts
        rows = [[len(text), sum(map(ord, text)), 1, 2] for text in texts]
        return normalised(np.array(rows, np.float32).reshape(-1, 4)[:, : self.dim])


@pytest.fixture
def file(tmp_path):
    return tmp_path / "cache.sqlite"


def town(embedder, cache):
    """A run in which an agent hears three things and recalls one."""
    memory = memory_of(EpisodicMemory, embedder=embedder, cache=cache)
    for said in ("The mill burns.", "Zoë buys müsli.", "The mayor of 東京 left."):
        hear(memory, (9, said))
    return [r.record.id for r in memory.recall("Who left?", k=2)]


def test_a_second_run_embeds_nothing_and_recalls_the_same(file):
    first, second = Counting(), Counting()
    found = town(first, file)
    assert len(first.asked) >= 4
    assert town(second, file) == found
    assert second.asked == []
    assert len(first.asked) == len(set(first.asked))


def test_models_are_told_apart_and_no_text_is_stored(file):
    one, other = Counting("one"), Counting("other")
    town(one, file)
    town(other, file)
    assert one.asked == other.asked
    assert (
        b"mill" not in file.read_bytes() and "müsli".encode() not in file.read_bytes()
    )


def test_damaged_vectors_are_embedded_again(file):
    town(Counting(), file)
    for value in (b"odd", np.full(4, np.nan, "<f4").tobytes(), "text"):
        with closing(sqlite3.connect(file)) as on, on:
            on.execute("UPDATE cached SET value = ?", (value,))
        again = Counting()
        town(again, file)
        assert len(again.asked) >= 4
