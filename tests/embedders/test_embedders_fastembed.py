"""The fastembed embedder: offline, at once, and the same whatever stands beside."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from mesa_memory.embedders.fastembed import FastEmbedder
from mesa_memory.errors import EmbedderError, MissingExtra
from tests.support.network import elsewhere  # noqa: F401 - guards every test here

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
ROOT = Path(__file__).parents[2]
FOLDER = Path(
    os.environ.get("MESA_MEMORY_MINILM", ROOT / "../shared/models/minilm-onnx-int8")
)
TEXTS = [
    "The bakery is closed.",
    "The bread shop is shut today.",
    "Quarks have colour.",
]


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("fastembed")
    if not FOLDER.is_dir() and not os.environ.get("CI"):
        pytest.skip(f"no MiniLM in {FOLDER}; name its folder in MESA_MEMORY_MINILM")
    return FastEmbedder(MINILM, folder=FOLDER)


@pytest.fixture
def nothing_cached(tmp_path):
    pytest.importorskip("fastembed")
    return tmp_path


def test_vectors_are_float32_rows_of_length_one(minilm):
    vectors = minilm.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, minilm.dim) == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2]


def test_a_row_depends_on_its_own_text_only_although_the_model_is_quantised(minilm):
    long = "and then a long story about nothing in particular " * 8
    together = minilm.embed([TEXTS[0], long, "hi"])
    np.testing.assert_allclose(together[0], minilm.embed(TEXTS[:1])[0], atol=1e-6)


def test_blank_texts_have_rows_of_zeros(minilm):
    vectors = minilm.embed(["", TEXTS[0], " \n"])
    assert not vectors[[0, 2]].any()
    assert vectors[1].any()
    assert minilm.embed([""]).shape == (1, 384)
    assert minilm.embed([]).shape == (0, 384)


def test_a_pickle_loads_the_model_again(minilm):
    copied = pickle.loads(pickle.dumps(minilm))
    np.testing.assert_allclose(
        copied.embed(TEXTS[:1]), minilm.embed(TEXTS[:1]), atol=1e-6
    )


def test_a_model_that_is_not_here_fails_at_once_and_silently(
    nothing_cached,
    elsewhere,  # noqa: F811
    capfd,
):
    mine = FastEmbedder(cache_dir=nothing_cached)
    with pytest.raises(EmbedderError, match="download=True") as raised:
        mine.embed(TEXTS)
    assert "BAAI/bge-small-en-v1.5" in str(raised.value)
    assert not elsewhere
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_an_unknown_model_is_an_error_that_says_so(nothing_cached):
    with pytest.raises(EmbedderError, match="nobody/nothing"):
        FastEmbedder("nobody/nothing", cache_dir=nothing_cached).embed(TEXTS)


def test_a_download_that_fails_says_what_to_check(nothing_cached, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # as otherwise it would be tried
    mine = FastEmbedder(cache_dir=nothing_cached, download=True)
    with pytest.raises(EmbedderError, match="network"):
        mine.embed(TEXTS)


def test_a_folder_without_the_model_is_an_error(nothing_cached):
    with pytest.raises(EmbedderError, match="must hold"):
        FastEmbedder(MINILM, folder=nothing_cached).embed(TEXTS)
    with pytest.raises(EmbedderError, match="was not found"):
        FastEmbedder(MINILM, folder=nothing_cached / "absent").embed(TEXTS)


def test_without_the_package_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match=r'pip install "mesa-memory\[fastembed\]"'):
        FastEmbedder().embed(TEXTS)
