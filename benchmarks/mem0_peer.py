"""Mem0's own code among the systems of ``benchmarks.facts``; its model is scripted.

    uv run --with mem0ai==0.1.115 python -m benchmarks.facts --mem0

Mem0 extracts, looks for the five nearest memories, asks a judge for ADD, UPDATE, DELETE
or NONE, and keeps what comes of it in its own local vector store, all by its own code.
What a sentence states is known, as for the other systems; the judge is our offline one;
the embedder is the shipped one. Step and speaker are given to it as metadata. It has no
way to ask for the value at a step: the present one is its answer.
"""

import ast
import json
import os
import random
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from benchmarks.facts import NAMES, Told, World
from mesa_memory.embedders.static import StaticEmbedder
from mesa_memory.tasks import JUDGE

#: under which everything is kept
USER = "observer"
_FENCED = re.compile(r"```\n(.*?)\n\s*```", re.DOTALL)


class Answers:
    """In the place of mem0's language model."""

    def __init__(self) -> None:
        self.told = ""  # what the message states

    def generate_response(self, messages: Sequence[Any], **_: Any) -> str:
        """The facts of a message, or what is to be done with them."""
        text = messages[-1]["content"]
        if len(messages) > 1:
            return json.dumps({"facts": [self.told]})
        known, new = map(ast.literal_eval, _FENCED.findall(text)[:2])
        return json.dumps({"memory": [judged(fact, known) for fact in new]})


def judged(new: str, known: Sequence[dict[str, str]]) -> dict[str, str]:
    """The operation for a fact, by our offline judge; ``known`` have mem0's ids."""
    subject = new.partition(": ")[0]
    near = [old for old in known if old["text"].partition(": ")[0] == subject]
    added = {"id": str(len(known)), "text": new, "event": "ADD"}
    if not near:
        return added
    inputs = {
        "new": [_row(new) | {"may_be": list(range(len(near)))}],
        "known": [_row(old["text"]) for old in near],
    }
    assert JUDGE.offline is not None
    (decision,) = JUDGE.offline(inputs)["decisions"]
    if decision["operation"] == "ADD":
        return added
    old = near[decision["fact"] - 2]
    event = decision["operation"]
    return {"id": old["id"], "text": new, "event": event, "old_memory": old["text"]}


class Vectors:
    """In the place of mem0's embedder."""

    def __init__(self) -> None:
        self._embedder = StaticEmbedder()

    def embed(self, text: str, *_: Any, **__: Any) -> list[float]:
        """The vector of a text."""
        vector = self._embedder.embed([text])[0]
        return [float(value) for value in vector]


class Mem0:
    """Mem0's memory after the world's events; one way it answers questions."""

    def __init__(self, world: World, seed: int, offline: bool) -> None:
        self._folder = tempfile.TemporaryDirectory()
        memory, answers = made(self._folder.name)
        dice = random.Random(seed)
        for told in sorted(world.told, key=lambda told: told.step):
            name = dice.choice(NAMES[told.attribute])
            answers.told = f"{told.subject}: {name}: {told.value}"
            given = {"step": told.step, "speaker": f"Agent {told.speaker}"}
            memory.add(told.text, user_id=USER, metadata=given)
        self.kept = [
            (*str(row["memory"]).split(": ", 2), row["metadata"]["speaker"])
            for row in memory.get_all(user_id=USER, limit=10_000)["results"]
        ]

    def value(self, topic: tuple[str, str], step: int | None = None) -> str | None:
        """What is kept; it does not say since when."""
        subject, names = topic[0], NAMES[topic[1]]
        found = [v for s, a, v, _ in self.kept if s == subject and a in names]
        return found[-1] if found else None

    def doubts(self, told: Told) -> bool:
        """Nothing rests on anything."""
        return not any(told.subject == subject for subject, *_ in self.kept)

    def named(self, subject: str) -> str:
        """What is kept of a disputed subject, with who said it last."""
        return "\n".join(" ".join(kept) for kept in self.kept if kept[0] == subject)


def made(folder: str) -> tuple[Any, Answers]:
    """A memory of mem0's with nothing in it, and what answers in place of its model."""
    # Read when mem0 is imported: nothing is sent, and nothing is written at home.
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", folder)
    from mem0.memory import main  # type: ignore[import-not-found]
    from qdrant_client import QdrantClient  # type: ignore[import-not-found]

    main.capture_event = lambda *_, **__: None
    store = {"client": QdrantClient(":memory:"), "embedding_model_dims": 256}
    memory = main.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": {**store, "path": folder}},
            "history_db_path": f"{folder}/history.db",
            "custom_fact_extraction_prompt": "Extract.",
            "custom_update_memory_prompt": "Update.",
        }
    )
    memory.llm, memory.embedding_model = answers, _ = Answers(), Vectors()
    return memory, answers


def _row(fact: str) -> dict[str, Any]:
    _, attribute, value = fact.split(": ", 2)
    return {"line": fact, "attribute": attribute, "value": value, "holds": True}
