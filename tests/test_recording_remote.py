"""A recorded run whose embedder is remote."""

import numpy as np

from benchmarks.town import Town
from mesa_memory import EpisodicMemory, Services, configure, resume
from mesa_memory.embedders import embedder
from tests.support.tables import assert_equal, tables


class Remote:
    """The shipped table under another name, so that it counts as a remote embedder."""

    name, batch = "remote:table", 64

    def __init__(self):
        self.table = embedder("static")
        self.dim = self.table.dim
        self.asked = 0

    def embed(self, texts):
        self.asked += 1
        return np.asarray(self.table.embed(texts))


class RemoteTown(Town):
    """Citizens whose events are embedded elsewhere; each reads its memory."""

    def __init__(self, file):
        self.file = file
        super().__init__(
            4,
            EpisodicMemory,
            setup=lambda model: configure(
                model, llm="offline", embedder=Remote(), record=file
            ),
        )

    def step(self):
        for citizen in self.citizens:
            citizen.memory.get_prompt_ready()
        super().step()


def test_a_resumed_run_embeds_again_and_recalls_the_same(tmp_path):
    files = [str(tmp_path / "whole.sqlite"), str(tmp_path / "halves.sqlite")]
    town = RemoteTown(files[0])
    for _ in range(8):
        town.step()
    Services.of(town).recorder.close()
    town = RemoteTown(files[1])
    for _ in range(4):
        town.step()
    Services.of(town).recorder.close()
    town = resume(RemoteTown, files[1])
    for _ in range(4):
        town.step()
    Services.of(town).recorder.close()
    assert_equal(*(tables(file) for file in files))
    embedded = tables(files[0])["records"][0]
    assert embedded["embedder"] == "remote:table"
    assert len(embedded["embedding"]) == 2 * Remote().dim
