"""A recorded run whose embedder is remote."""

import sqlite3

import numpy as np
import pytest

from mesa_memory import EpisodicMemory, configure, resume
from mesa_memory.embedders import embedder
from mesa_memory.errors import EmbedderError, ReplayMismatch, StoreCorrupt
from tests.support.playing import lived, play
from tests.support.tables import assert_equal, tables
from tests.support.town import Town


class Remote:
    """The shipped table under another name, so that it counts as a remote embedder."""

    name, batch = "remote:table", 64

    def __init__(self):
        self.table = embedder("static")
        self.dim = self.table.dim
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        return np.asarray(self.table.embed(texts))


class RemoteTown(Town):
    """Citizens whose events are embedded elsewhere; each reads its memory."""

    def __init__(self, file, **given):
        self.file, self.remote = file, given.pop("embedder", None) or Remote()
        how = {"llm": "offline", "embedder": self.remote, "record": file} | given
        super().__init__(4, EpisodicMemory, setup=lambda model: configure(model, **how))

    def step(self):
        for citizen in self.citizens:
            citizen.memory.get_prompt_ready()
        super().step()


def test_a_resumed_run_does_not_embed_again_and_recalls_the_same(tmp_path):
    files = [str(tmp_path / "whole.sqlite"), str(tmp_path / "halves.sqlite")]
    play(RemoteTown(files[0]), 8)
    first = play(RemoteTown(files[1]), 4).remote.texts
    second = play(resume(RemoteTown, files[1]), 4).remote.texts
    assert second and not set(first) & set(second)
    assert_equal(*(tables(file) for file in files))


class Gone(Remote):
    """Cannot be reached any more."""

    def embed(self, texts):
        raise EmbedderError("the network is forbidden")


def test_a_replay_needs_no_embedder(tmp_path):
    files = [str(tmp_path / "first.sqlite"), str(tmp_path / "again.sqlite")]
    play(RemoteTown(files[0]), 5)
    play(RemoteTown(files[1], embedder=Gone(), replay=files[0]), 5)
    assert_equal(*(tables(file, ignore=("replayed", "cost")) for file in files))


def test_a_vector_that_was_not_recorded_is_a_mismatch_or_asked_for(tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(RemoteTown(file), 3)
    with sqlite3.connect(file) as on:
        on.execute("DELETE FROM vectors WHERE key IN (SELECT max(key) FROM vectors)")
    town = RemoteTown(None, replay=file)
    said = "lacks the vectors by remote:table of 1 texts"
    with pytest.raises(ReplayMismatch, match=said):
        lived(town, 3)


@pytest.mark.parametrize("written", ["no base64", "AAAA", "AADAfw=="])
def test_a_vector_that_is_none_is_a_damaged_file(tmp_path, written):
    file = str(tmp_path / "run.sqlite")
    play(RemoteTown(file), 2)
    with sqlite3.connect(file) as on:
        on.execute("UPDATE vectors SET vector = ?", [written])
    town = RemoteTown(None, replay=file)
    with pytest.raises(StoreCorrupt, match="vector"):
        lived(town, 2)


def test_what_the_shipped_embedder_says_is_not_kept(tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(RemoteTown(file, embedder=embedder("static")), 2)
    with sqlite3.connect(file) as on:
        assert on.execute("SELECT count(*) FROM vectors").fetchone() == (0,)
