"""Side by side with other memories: evidence recall on LoCoMo, and speed.

python -m benchmarks.recall.peers [--data FILE] [--records 10000]

All get the same events and, through their own embedder interfaces, the vectors of
the shipped static embedder. None asks a language model.

- ``concordia``: the associative memory bank of Concordia (``gdm-concordia``)
- ``langchain``: the time-weighted retriever over FAISS, one step as one hour
  (``langchain-classic langchain-community faiss-cpu``)
- ``mem0``: ``add(infer=False)`` and ``search`` with Qdrant in a local folder
  (``mem0ai langchain qdrant-client``); its keyword half needs a model from the network
  and is off
- ``rank_bm25``: ``BM25Okapi`` over lower-cased words (``rank-bm25``)
- ``cosine``: numpy, one product and a partial sort; the least that any of them can do

Those that are not installed are reported as such. They have requirements of their own,
so install them beside this package in an environment of their own:

    uv venv peers
    uv pip install --python peers -e . gdm-concordia mem0ai langchain langchain-classic \
        langchain-community faiss-cpu qdrant-client rank-bm25
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 peers/bin/python -m benchmarks.recall.peers

Speed is the median processor time of one query for the ten best, its vector included,
which all take from the same cache.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.recall.corpus import Ask, Corpus, Ranker, measure, ours
from benchmarks.recall.history import world
from benchmarks.recall.locomo import corpora
from benchmarks.recall.remembered import RememberedEmbedder
from benchmarks.tables import show
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.retrieval.scoring import Scoring

Embed = Callable[[str], np.ndarray]
#: the best so many are asked for on LoCoMo, and when the time is taken
DEPTH, BEST = 25, 10


def concordia(embed: Embed, k: int) -> Ranker:
    """Cosine over a pandas frame."""
    from concordia.associative_memory.basic_associative_memory import (
        AssociativeMemoryBank,
    )

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        bank = AssociativeMemoryBank(embed, allow_duplicates=True)
        bank.extend([item.text for item in corpus.items])
        named = {item.text: item.id for item in reversed(corpus.items)}

        def ask(question: str) -> list[str]:
            return [named[text] for text in bank.retrieve_associative(question, k)]

        return ask

    return ranker


def langchain(embed: Embed, k: int) -> Ranker:
    """Cosine distance plus ``0.99 ** hours`` since the last access."""
    import faiss
    from langchain_classic.retrievers import TimeWeightedVectorStoreRetriever
    from langchain_community.docstore import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        index = faiss.IndexFlatL2(embedder.dim)
        store = FAISS(_embeddings(embed), index, InMemoryDocstore({}), {})
        retriever = TimeWeightedVectorStoreRetriever(
            vectorstore=store, search_kwargs={"k": max(100, k)}, k=k
        )
        retriever.add_documents(_documents(corpus))

        def ask(question: str) -> list[str]:
            found = retriever.invoke(question)
            for document in found:  # one question must not change the next
                document.metadata["last_accessed_at"] = document.metadata["created_at"]
            return [document.metadata["item"] for document in found]

        return ask

    return ranker


def mem0(embed: Embed, k: int) -> Ranker:
    """Stored as they are, without a language model."""
    os.environ["MEM0_TELEMETRY"] = "False"
    from mem0 import Memory

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        folder = tempfile.TemporaryDirectory()
        store = {"path": folder.name, "embedding_model_dims": embedder.dim}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {
                    "provider": "langchain",
                    "config": {"model": _embeddings(embed)},
                },
                "llm": {"provider": "openai", "config": {"api_key": "not used"}},
                "history_db_path": ":memory:",
            }
        )
        for item in corpus.items:
            kept = {"item": item.id}
            memory.add(item.text, user_id="1", metadata=kept, infer=False)

        def ask(question: str) -> list[str]:
            mine = {"user_id": "1"}
            found = memory.search(question, top_k=k, filters=mine, threshold=0.0)
            return [one["metadata"]["item"] for one in found["results"]]

        ask.folder = folder  # type: ignore[attr-defined]  # lives as long as it is asked
        return ask

    return ranker


def rank_bm25(embed: Embed, k: int) -> Ranker:
    """BM25 over lower-cased words, neither stemmed nor filtered."""
    from rank_bm25 import BM25Okapi

    from mesa_memory.core.text.vocabulary import words

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        index = BM25Okapi([words(item.text) for item in corpus.items])

        def ask(question: str) -> list[str]:
            return _best(corpus, index.get_scores(words(question)), k)

        return ask

    return ranker


def cosine(embed: Embed, k: int) -> Ranker:
    """A bare scan with numpy."""

    def ranker(corpus: Corpus, embedder: Any) -> Ask:
        vectors = embedder.embed([item.text for item in corpus.items])
        return lambda question: _best(corpus, vectors @ embed(question), k)

    return ranker


def _best(corpus: Corpus, scores: np.ndarray, k: int) -> list[str]:
    k = min(k, len(scores))
    some = np.argpartition(-scores, k - 1)[:k]
    return [corpus.items[place].id for place in some[np.argsort(-scores[some])]]


def _embeddings(embed: Embed) -> Any:
    from langchain_core.embeddings import Embeddings

    class Shared(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return embed(text).tolist()

    return Shared()


def _documents(corpus: Corpus) -> list[Any]:
    from langchain_core.documents import Document

    now, documents = datetime.now(), []  # noqa: DTZ005 - as the retriever's own clock
    for item in corpus.items:
        then = now - timedelta(hours=corpus.now - item.step)
        times = {"created_at": then, "last_accessed_at": then}
        documents.append(
            Document(page_content=item.text, metadata={"item": item.id, **times})
        )
    return documents


PEERS: dict[str, Callable[[Embed, int], Ranker]] = {
    "ours": lambda embed, k: ours(Scoring(), k),
    "concordia": concordia,
    "langchain": langchain,
    "mem0": mem0,
    "rank_bm25": rank_bm25,
    "cosine": cosine,
}


def speed(ranker: Ranker, corpus: Corpus, embedder: Any) -> float:
    """Median processor time of one query in milliseconds."""
    ask = ranker(corpus, embedder)
    taken = []
    # The first round is not counted: all then find the embeddings in the cache.
    for question in [*corpus.questions, *corpus.questions]:
        started = time.process_time()
        ask(question.text)
        taken.append(time.process_time() - started)
    return 1000 * statistics.median(taken[len(corpus.questions) :])


def shortened(corpus: Corpus, records: int, questions: int) -> Corpus:
    """Its first so many items and so many of its questions, evenly chosen."""
    every = max(1, len(corpus.questions) // questions)
    asked = corpus.questions[::every][:questions]
    return Corpus(corpus.items[:records], asked, corpus.items[:records][-1].step)


def row(
    name: str, dialogues: Sequence[Corpus], corpus: Corpus, embedder: Any
) -> dict[str, float]:
    """Recall on the dialogues, if there are any, and the time of a query.

    Raises:
        ModuleNotFoundError: if the memory is not installed.
    """
    deep, quick = (
        PEERS[name](lambda text: embedder.embed([text])[0], k) for k in (DEPTH, BEST)
    )
    found = measure(dialogues, embedder, deep) if dialogues else {}
    return found | {"ms_per_query": speed(quick, corpus, embedder)}


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path))
@click.option("--records", default=10_000, show_default=True)
@click.option("--peer", "names", type=click.Choice(list(PEERS)), multiple=True)
def main(data: Path | None, records: int, names: tuple[str, ...]) -> None:
    """Compares with other memories."""
    embedder = RememberedEmbedder(embedder_of("static"))
    # A world has at least three records to a step.
    corpus = shortened(world(1, steps=max(100, records // 3)), records, 100)
    dialogues, rows = corpora(data) if data else [], []
    for name in names or PEERS:
        try:
            found = row(name, dialogues, corpus, embedder)
            rows.append({"memory": name} | found)
        except ModuleNotFoundError as error:
            click.echo(f"{name}: not installed ({error.name})")
    show("other memories", rows)


if __name__ == "__main__":
    main()
