"""The contract of embedders, how one is named, and the shipped table."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder, check_vectors, clean, normalised
from mesa_memory.embedders.static import SHIPPED, StaticEmbedder
from mesa_memory.errors import EmbedderError, MesaMemoryError, MissingExtra
from tests.support.network import elsewhere  # noqa: F401 - guards every test here

TEXTS = [
    "Alice told Bob that the bakery is closed.",
    "The shop where they sell bread is shut, she said to him.",
    "Quantum chromodynamics describes quarks.",
]


@pytest.fixture(scope="module")
def static():
    return StaticEmbedder()


def test_vectors_are_float32_rows_of_length_one(static):
    vectors = static.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, static.dim) == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert isinstance(static, Embedder)


def test_what_means_the_same_is_nearer_than_what_does_not(static):
    bakery, bread, quarks = static.embed(TEXTS)
    assert bakery @ bread > 0.3 > abs(bakery @ quarks)


@pytest.mark.parametrize("text", ["", "  \n\t", "🜁🜂", "\x00", "\u200b"])
def test_a_text_that_says_nothing_has_a_row_of_zeros(static, text):
    vectors = static.embed([TEXTS[0], text, TEXTS[1]])
    assert not vectors[1].any()
    np.testing.assert_array_equal(vectors[[0, 2]], static.embed(TEXTS[:2]))
    assert not static.embed([text]).any()


def test_no_texts_give_no_rows(static):
    assert static.embed([]).shape == (0, 256)


def test_a_row_depends_on_its_own_text_only(static):
    many = [f"{text} {n}" for n in range(700) for text in TEXTS]
    together = static.embed(many)
    for n in (0, 1, 1023, 1024, 2099):
        np.testing.assert_array_equal(together[n], static.embed([many[n]])[0])


def test_a_text_of_any_length_and_any_characters_has_a_finite_row(static):
    odd = ["word " * 100_000, "x" * 200_000, "\ud800 lone", "日本語", "e\u0301" * 99]
    vectors = static.embed(odd)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.isfinite(vectors).all()
    assert np.all((lengths == 0) | (abs(lengths - 1) < 1e-6))


@pytest.mark.parametrize("wrong", ["one text", b"bytes", [b"bytes"], [None], ["a", 3]])
def test_anything_but_a_sequence_of_texts_is_a_type_error(static, wrong):
    with pytest.raises(TypeError, match="texts must"):
        static.embed(wrong)


def test_threads_get_the_same_vectors_from_one_table():
    expected, found = StaticEmbedder().embed(TEXTS), []

    def work():
        for _ in range(30):
            found.append(StaticEmbedder().embed(TEXTS))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 240
    assert all(np.array_equal(vectors, expected) for vectors in found)


def test_a_pickle_of_the_static_embedder_is_small_and_works(static):
    copied = pickle.dumps(static)
    assert len(copied) < 1000
    np.testing.assert_array_equal(
        pickle.loads(copied).embed(TEXTS), static.embed(TEXTS)
    )


def test_the_shipped_table_needs_no_network_no_torch_and_no_hub_client():
    code = (
        "import sys\n"
        "import mesa_memory, mesa_memory.embedders\n"
        "assert not {'numpy', 'model2vec', 'litellm'} & set(sys.modules)\n"
        "import mesa_memory.embedders.static\n"
        "assert not {'model2vec', 'tokenizers'} & set(sys.modules)\n"
        "assert mesa_memory.embedders.embedder('static').embed(['hello']).any()\n"
        "found = {'torch', 'transformers', 'huggingface_hub.hf_api'}\n"
        "assert not found & set(sys.modules), found & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_the_model_comes_with_its_notice():
    notice = (SHIPPED / "NOTICE").read_text()
    for needed in ("all-MiniLM-L6-v2", "Apache", "WordNet", "CC BY 4.0", "Taskmaster"):
        assert needed in notice


def test_an_embedder_is_named_by_kind_and_model():
    assert embedder("static").name == "static:mesa-memory-1"
    assert embedder("fastembed").name == "fastembed:BAAI/bge-small-en-v1.5"
    assert embedder("fastembed:a/b").name == "fastembed:a/b"
    assert embedder("litellm:openai/a:b").name == "litellm:openai/a:b"


def test_an_object_that_embeds_is_taken_as_it_is(static):
    class Mine:
        name = "mine"

        def __init__(self):
            self.dim = 3

        def embed(self, texts):
            return np.zeros((len(texts), 3), np.float32)

    mine = Mine()
    assert embedder(mine) is mine
    assert embedder(static) is static


def test_anything_else_lists_what_is_possible():
    cases = [
        "",
        "Static",
        "openai",
        "litellm",
        "litellm:",
        "static:",
        "static:folder",
        None,
        3,
        object,
    ]
    for wrong in cases:
        with pytest.raises(ValueError, match="'litellm:<provider/model>'"):
            embedder(wrong)


def test_a_class_is_no_embedder():
    with pytest.raises(ValueError, match="an embedder is"):
        embedder(StaticEmbedder)


def test_unusable_vectors_are_a_typed_error():
    cases = [
        ([[1, 2], [3, np.nan]], "NaN or infinite numbers for 1 of 2 texts"),
        ([[np.inf, 2], [3, 4]], "first for number 0"),
        ([[1, 2]], r"shape \(1, 2\) where \(2, 2\)"),
        ([[1, 2, 3], [4, 5, 6]], "shape"),
        ([[1, 2], [3]], "not a table of numbers"),
        ([["a", "b"], ["c", "d"]], "not a table of numbers"),
        (None, "not a table of numbers|shape"),
    ]
    for vectors, said in cases:
        with pytest.raises(EmbedderError, match=said):
            check_vectors(vectors, 2, 2, "test")


def test_usable_vectors_become_float32():
    assert check_vectors([[1, 2]], 1, 2, "test").dtype == np.float32
    assert check_vectors([], 0, 2, "test").shape == (0, 2)


def test_normalising_keeps_zeros_and_survives_huge_and_tiny_numbers():
    rows = normalised(np.array([[0, 0], [3, 4], [1e38, 1e38], [1e-40, 0]], np.float32))
    np.testing.assert_allclose(rows[0], 0)
    np.testing.assert_allclose(rows[1], [0.6, 0.8], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(rows[2:], axis=1), 1, atol=1e-6)


def test_cleaning_leaves_good_texts_alone():
    assert clean(("a", "ü", "\ud800")) == ["a", "ü", "\ufffd"]


def test_the_new_errors_are_of_the_packages_tree_and_travel_as_pickles():
    missing = pickle.loads(pickle.dumps(MissingExtra("fastembed", "fastembed")))
    assert isinstance(missing, MesaMemoryError)
    assert 'pip install "mesa-memory[fastembed]"' in str(missing)
    passing = pickle.loads(pickle.dumps(EmbedderError("later", passing=True)))
    assert (str(passing), passing.passing) == ("later", True)
