"""A recorded run of any size, written straight into the tables of a SQLite file.

Per agent and step: a message, an observation and what the agent did; every fifth step a
summary of them that takes the last one's place; a recall with five candidates, the
prompt it went into, and every fifth step the call that made the summary. Everybody has a
place on a grid, and a mood that changes now and then.
"""

import argparse
import json
import math
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.stores import open_store, schema

LAYER, EVERY, DIM = "episodic", 5, 256
_WHO = ("baker", "miller", "smith", "weaver", "farmer", "teacher", "mayor", "doctor")
_WHAT = (
    "bridge",
    "well",
    "market",
    "school",
    "tower",
    "garden",
    "mill",
    "harvest",
    "road",
    "river",
)
_HOW = (
    "broken",
    "closed",
    "full",
    "quiet",
    "safe",
    "poisoned",
    "new",
    "burning",
    "empty",
    "guarded",
)
_KINDS = ("message", "observation", "action")


class BigRun:
    """Makes the rows of each table, step by step, as a recorder would write them.

    Args:
        agents, steps: how many of each.
        seed: of what is said, and of the embeddings.
    """

    def __init__(self, agents: int, steps: int, seed: int = 1) -> None:
        self.agents, self.steps = agents, steps
        self.random = np.random.default_rng(seed)
        rows = self.random.standard_normal((1024, DIM))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self._vectors = [row.tobytes() for row in rows.astype("<f2")]
        self._seq = 0

    def write(self, path: Path) -> int:
        """Makes the file; returns how many records it holds."""
        open_store(path).close()
        with sqlite3.connect(path) as database:
            for line in ("synchronous=OFF", "cache_size=-400000"):
                database.execute(f"PRAGMA {line}")
            self._run_rows(database)
            for step in range(1, self.steps + 1):
                self._step(database, step)
        database.close()
        return self.records

    @property
    def records(self) -> int:
        """How many records the run has."""
        return self.agents * (self.steps * len(_KINDS) + self.steps // EVERY)

    def _run_rows(self, database: sqlite3.Connection) -> None:
        started = "2026-01-01T00:00:00+00:00"
        run = (1, "big", "Town", "{}", "1", "{}", started, "finished", None, None)
        _put(database, schema.runs, [run])
        people = [
            (1, str(a), str(a), "Citizen", "EpisodicMemory", f'["{LAYER}"]', None)
            for a in range(self.agents)
        ]
        _put(database, schema.agents, people)

    def _step(self, database: sqlite3.Connection, step: int) -> None:
        before = self._seq
        words = self.random.integers(0, 1 << 30, (self.agents, len(_KINDS)))
        closings: list[tuple] = []
        _put(database, schema.records, self._records(step, words.tolist(), closings))
        database.executemany(
            "UPDATE records SET valid_to = ?1, closed_at = ?1, closed_because = "
            "'superseded', superseded_by = ?2 WHERE run = 1 AND id = ?3",
            closings,
        )
        opened = self._seq - before
        agents = range(self.agents)
        _put(database, schema.recalls, [self._recall(step, a) for a in agents])
        _put(database, schema.prompts, [self._prompt(step, a) for a in agents])
        due = agents if step % EVERY == 0 else ()
        _put(database, schema.calls, [self._call(step, a) for a in due])
        _put(database, schema.scenes, self._scenes(step))
        done = (1, step, self._seq, opened, self.agents, len(due))
        _put(database, schema.steps, [done])

    def _records(
        self, step: int, words: list[list[int]], closings: list[tuple]
    ) -> Iterator[tuple]:
        for agent in range(self.agents):
            for kind, number in zip(_KINDS, words[agent]):
                said = _sentence(number, self.agents)
                content = {"message": said, "sender": number % self.agents}
                yield self._record(agent, kind, step, said, content, number)
            if step % EVERY == 0:
                yield self._summary(agent, step, words[agent][0], closings)

    def _summary(self, agent: int, step: int, number: int, closings: list) -> tuple:
        count = step // EVERY
        sources = [
            f"{agent}/{LAYER}/{kind}/{s}"
            for s in range(step - EVERY + 1, step + 1)
            for kind in _KINDS
        ]
        if count > 1:
            old = f"{agent}/{LAYER}/summary/{count - 1}"
            sources.insert(0, old)
            closings.append((step, f"{agent}/{LAYER}/summary/{count}", old))
        text = "So far: " + _sentence(number, self.agents)
        return self._record(
            agent, "summary", step, text, {"text": text}, number, count, sources
        )

    def _record(
        self, agent: int, kind: str, step: int, text: str, content: dict,
        number: int, count: int | None = None, sources: list[str] | None = None,
    ) -> tuple:  # fmt: skip
        self._seq += 1
        name = f"{agent}/{LAYER}/{kind}/{count or step}"
        return (
            *(1, self._seq, name, str(agent), LAYER, kind, step, text),
            *(json.dumps(content), float(1 + number % 5), None),
            json.dumps(sources or []),
            *(step, None, None, None),
            *(self._vectors[number % 1024], "static:mesa-memory-1", step),
            "derived" if sources else "event",
            *(None, None, None),
        )

    def _scenes(self, step: int) -> Iterator[tuple]:
        """A grid on which everybody has a place, and a tenth another mood."""
        side = math.isqrt(self.agents - 1) + 1
        told: dict[str, dict] = {"collected": {"moods": step % self.agents}}
        if step == 1:
            box = [-0.5, -0.5, side - 0.5, side - 0.5]
            space = {"kind": "grid", "box": box, "cells": [side, side], "ties": []}
            places = {str(a): [a % side, a // side] for a in range(self.agents)}
            told |= {"space": space, "places": places}
        moody = range(step % 10, self.agents, 10)
        told["outcomes/mood"] = {str(a): _HOW[(a + step) % 3] for a in moody}
        for kind, state in told.items():
            self._seq += 1
            yield (1, self._seq, step, None, kind, json.dumps(state))

    def _recall(self, step: int, agent: int) -> tuple:
        self._seq += 1
        past = [max(1, step - 7 * n) for n in range(5)]
        candidates = [
            {
                "id": f"{agent}/{LAYER}/message/{s}", "rank": n, "score": 1.2 - 0.1 * n,
                "relevance": 0.9, "dense": 0.51, "lexical": 7.25, "importance": 0.5,
                "recency": 0.97, "shown": n < 4,
            }
            for n, s in enumerate(past, 1)
        ]  # fmt: skip
        query = f"What do I know about the {_WHAT[step % 10]}?"
        own = (1, self._seq, step, str(agent), LAYER, "reasoning", query, "{}")
        return (*own, json.dumps(candidates))

    def _prompt(self, step: int, agent: int) -> tuple:
        self._seq += 1
        lines = "\n".join(f"- {_sentence(agent * n, 9)}" for n in range(1, 6))
        return (1, self._seq, step, str(agent), LAYER, "memory", lines, None)

    def _call(self, step: int, agent: int) -> tuple:
        self._seq += 1
        prompt = [{"role": "user", "content": "Summarise what happened. " * 20}]
        return (
            *(1, self._seq, step, str(agent), "consolidate", 0, "offline"),
            *(json.dumps(prompt), f"{step}-{agent}", "So far: nothing.", None),
            *(120, 12, 0.0001, 0.8, 1, False, None, "stop"),
            *(0, None, False, None, None),
        )


def arguments(doc: str | None, agents: int, steps: int) -> argparse.ArgumentParser:
    """The arguments of a benchmark of such a run: its size, its file, and ``--json``."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--agents", type=int, default=agents)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--file", type=Path, help="kept, and used if it is there")
    parser.add_argument("--json", action="store_true")
    return parser


@contextmanager
def big_file(given: argparse.Namespace) -> Iterator[Path]:
    """The file of such a run; made unless it is there, deleted unless it was named."""
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "big.sqlite"
        if not path.exists():
            BigRun(given.agents, given.steps).write(path)
        yield path


def _sentence(number: int, agents: int) -> str:
    who, what = _WHO[number % 8], _WHAT[number // 8 % 10]
    how, where = _HOW[number // 80 % 10], number // 800 % 97
    return f"The {who} {number % agents} says the {what} in ward {where} is {how}."


def _put(database: sqlite3.Connection, table: Any, rows: Any) -> None:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    marks = ", ".join("?" * len(table.columns))
    database.executemany(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", rows)
