"""The fastembed embedder where its model is not: at once, and with what to check."""

import pytest

from mesa_memory.embedders.local import FastEmbedder
from mesa_memory.errors import EmbedderError

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def installed():
    pytest.importorskip("fastembed")


def test_a_model_that_is_not_here_fails_at_once_and_silently(
    tmp_path, elsewhere, capfd
):
    mine = FastEmbedder(cache_dir=tmp_path)
    with pytest.raises(EmbedderError, match="download=True") as raised:
        mine.embed(["rain"])
    assert "BAAI/bge-small-en-v1.5" in str(raised.value)
    assert not elsewhere
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_an_unknown_model_is_an_error_that_says_so(tmp_path):
    with pytest.raises(EmbedderError, match="nobody/nothing"):
        FastEmbedder("nobody/nothing", cache_dir=tmp_path).embed(["rain"])


def test_a_download_that_fails_says_what_to_check(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # as otherwise it would be tried
    mine = FastEmbedder(cache_dir=tmp_path, download=True)
    with pytest.raises(EmbedderError, match="network"):
        mine.embed(["rain"])


def test_a_folder_without_the_model_is_an_error(tmp_path):
    with pytest.raises(EmbedderError, match="must hold"):
        FastEmbedder(MINILM, folder=tmp_path).embed(["rain"])
    with pytest.raises(EmbedderError, match="was not found"):
        FastEmbedder(MINILM, folder=tmp_path / "absent").embed(["rain"])
