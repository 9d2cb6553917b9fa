"""Vectors are computed once, in memory, across processes and across runs."""

import pickle
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from mesa_memory.embedders.base import normalised
from mesa_memory.embedders.cached import CachedEmbedder
from mesa_memory.errors import EmbedderError


class Counting:
    """Remembers every text it had to embed."""

    batch = 10

    def __init__(self, name="counting", dim=4):
        self.name, self.dim, self.asked = name, dim, []

    def embed(self, texts):
        self.asked += texts
        rows = [[len(text), sum(map(ord, text)), 1, 2] for text in texts]
        return normalised(np.array(rows, np.float32).reshape(-1, 4)[:, : self.dim])


def test_a_text_is_embedded_once_and_duplicates_in_a_batch_too():
    inner = Counting()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a", "b", "a", "c"])
    assert inner.asked == ["a", "b", "c"]
    again = cached.embed(["c", "a", "d"])
    assert inner.asked == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(first[[0, 3]], again[[1, 0]])
    np.testing.assert_array_equal(first, Counting().embed(["a", "b", "a", "c"]))


def test_it_has_the_name_length_and_batch_of_the_one_behind():
    cached = CachedEmbedder(Counting())
    assert (cached.name, cached.dim, cached.batch) == ("counting", 4, 10)
    assert cached.embed([]).shape == (0, 4)


def test_changing_a_result_does_not_change_what_is_kept():
    cached = CachedEmbedder(Counting())
    vectors = cached.embed(["a"])
    kept = vectors.copy()
    vectors[:] = 0
    np.testing.assert_array_equal(cached.embed(["a"]), kept)


def test_the_least_used_goes_first_and_a_batch_may_exceed_the_capacity():
    inner = Counting()
    cached = CachedEmbedder(inner, capacity=2)
    cached.embed(["a", "b"])
    cached.embed(["a"])
    cached.embed(["c"])  # "b" goes
    inner.asked.clear()
    cached.embed(["a", "c"])
    assert inner.asked == []
    assert cached.embed(list("bdefg")).shape == (5, 4)
    assert inner.asked == list("bdefg")
    with pytest.raises(ValueError, match="capacity must be above 0"):
        CachedEmbedder(inner, capacity=0)


def test_a_file_keeps_vectors_for_the_next_run(tmp_path):
    path, texts = tmp_path / "vectors.sqlite", [f"t{n}" for n in range(1200)]
    first = CachedEmbedder(Counting(), path).embed(texts)
    inner = Counting()
    second = CachedEmbedder(inner, path).embed(texts)
    assert inner.asked == []
    np.testing.assert_array_equal(first, second)


def test_a_file_keeps_models_apart_and_no_text(tmp_path):
    path = tmp_path / "vectors.sqlite"
    CachedEmbedder(Counting("one"), path).embed(["a secret"])
    other = Counting("two")
    CachedEmbedder(other, path).embed(["a secret"])
    assert other.asked == ["a secret"]
    assert b"secret" not in path.read_bytes()


def test_a_file_holds_little_endian_float32(tmp_path):
    path = tmp_path / "vectors.sqlite"
    vectors = CachedEmbedder(Counting(), path).embed(["a"])
    connection = sqlite3.connect(path)
    [[stored]] = connection.execute("SELECT vector FROM vectors").fetchall()
    connection.close()
    assert stored == vectors.astype("<f4").tobytes()


def test_a_damaged_file_says_what_to_do_and_is_left_as_it_is(tmp_path):
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"this is no database, but long enough to be looked at " * 99)
    before = path.read_bytes()
    with pytest.raises(EmbedderError, match="Delete it"):
        CachedEmbedder(Counting(), path).embed(["a"])
    assert path.read_bytes() == before


def test_a_file_whose_vectors_have_another_length_is_refused(tmp_path):
    path = tmp_path / "vectors.sqlite"
    CachedEmbedder(Counting(dim=3), path).embed(["a"])
    with pytest.raises(EmbedderError, match="12 bytes where counting makes 16"):
        CachedEmbedder(Counting(), path).embed(["a"])


def test_a_file_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(EmbedderError, match="folder exists"):
        CachedEmbedder(Counting(), tmp_path / "no" / "folder.sqlite").embed(["a"])


def test_wrong_vectors_are_not_kept(tmp_path):
    class Broken(Counting):
        def embed(self, texts):
            return super().embed(texts) * np.nan

    path = tmp_path / "vectors.sqlite"
    with pytest.raises(EmbedderError, match="NaN"):
        CachedEmbedder(Broken(), path).embed(["a"])
    healed = Counting()
    CachedEmbedder(healed, path).embed(["a"])
    assert healed.asked == ["a"]


def test_threads_share_one_cache(tmp_path):
    cached = CachedEmbedder(Counting(), tmp_path / "vectors.sqlite", capacity=20)
    expected, wrong = Counting().embed([f"t{n}" for n in range(60)]), []

    def work(start):
        for n in range(start, start + 60):
            if not np.array_equal(cached.embed([f"t{n % 60}"])[0], expected[n % 60]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=[k * 9]) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_processes_share_one_file(tmp_path):
    path = tmp_path / "vectors.sqlite"
    code = (
        "import sys\n"
        "from mesa_memory.embedders.cached import CachedEmbedder\n"
        "from tests.contracts.test_embedders_cached import Counting\n"
        "cached = CachedEmbedder(Counting(), sys.argv[1])\n"
        "for n in range(40):\n"
        "    cached.embed([f't{n}', f'{sys.argv[2]} {n}'])\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    workers = [subprocess.Popen([*command, str(k)]) for k in range(3)]
    assert [worker.wait(timeout=600) for worker in workers] == [0, 0, 0]
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    cached.embed([f"{k} {n}" for k in range(3) for n in range(40)])
    cached.embed([f"t{n}" for n in range(40)])
    assert inner.asked == []


def test_a_pickle_holds_no_vectors_and_works(tmp_path):
    cached = CachedEmbedder(Counting(), tmp_path / "vectors.sqlite")
    vectors = cached.embed([f"t{n}" for n in range(500)])
    cached.inner.asked.clear()
    copied = pickle.dumps(cached)
    assert len(copied) < 2000
    again = pickle.loads(copied)
    np.testing.assert_array_equal(again.embed(["t0"])[0], vectors[0])
    assert again.inner.asked == []
