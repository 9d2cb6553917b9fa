"""Drift of consolidation: what a summary lost, changed or added, against its sources.

A consolidated record is a summary, story, chapter, impression or insight that names its
sources. Each statement of these is kept, changed (another number, name or stance in like
words) or omitted. A sentence of the record is added if it has a name or number that its
sources lack. The generation counts rewritings: 1 is made from events alone.
"""

from collections.abc import Iterator
from typing import Any

from mesa_memory.core.records import DERIVED
from mesa_memory.runs.claims.claim import (
    MIN_SIMILARITY,
    Verdict,
    claim,
    is_stated,
    is_telling,
)
from mesa_memory.runs.claims.clauses import sentences, without_speaker
from mesa_memory.runs.claims.mentions import is_name, tokens
from mesa_memory.runs.queries import held, source_ids
from mesa_memory.runs.recorded import RecordedRun, Table, table

KEPT, CHANGED, OMITTED, ADDED = "kept", "changed", "omitted", "added"
SHOWN_COLUMNS = (
    "agent", "layer", "kind", "step", "generation", "record", "fate", "statement",
)  # fmt: skip


def drift(run: RecordedRun, agent: Any = None) -> Table:
    """See ``Run.drift``."""
    known: dict[str, dict[str, Any]] = {}
    generations: dict[str, int] = {}
    rows = []
    for row in run.records(held(run, agent)):
        known[row["id"]] = row
        sources = [known[name] for name in source_ids(row) if name in known]
        if row["origin"] != DERIVED or not sources:
            continue
        before = [generations.get(each["id"], 0) for each in sources]
        generations[row["id"]] = generation = 1 + max(before)
        place = {name: row[name] for name in ("agent", "layer", "kind", "step")}
        place |= {"generation": generation, "record": row["id"]}
        texts = [each["text"] or "" for each in sources]
        rows += [
            place | {"fate": fate, "statement": text}
            for fate, text in _fates(row["text"] or "", texts)
        ]
    return table(SHOWN_COLUMNS, rows)


def _fates(text: str, sources: list[str]) -> Iterator[tuple[str, str]]:
    """The fate of each statement of the sources, then the sentences that were added."""
    made = _statements(text)
    told = list(dict.fromkeys(s for each in sources for s in _statements(each)))
    changed = set()
    for statement in told:
        if is_stated(statement, made):
            yield KEPT, statement
            continue
        judged = list(zip(made, claim(statement).judge(made)))
        like = [
            sentence
            for sentence, judgement in judged
            if judgement.similarity >= MIN_SIMILARITY
            and judgement.verdict in (Verdict.DENIES, Verdict.OTHER)
            and _is_about_same(statement, sentence)
            and not any(is_stated(each, [sentence]) for each in told)
        ]
        changed.update(like)
        yield CHANGED if like else OMITTED, statement
    heard = {anchor for each in sources for anchor in _anchors(each, first=True)}
    for sentence in made:
        if sentence not in changed and not _anchors(sentence) <= heard:
            yield ADDED, sentence


def _statements(text: str) -> list[str]:
    """The statements of a text, without speakers and steps, each once."""
    found = [without_speaker(each) for each in sentences(text)]
    return list(dict.fromkeys(each for each in found if is_telling(each)))


def _is_about_same(one: str, other: str) -> bool:
    """True if two statements share a name or number, or one of them has neither."""
    mine, theirs = _anchors(one, first=True), _anchors(other, first=True)
    return not (mine and theirs) or not mine.isdisjoint(theirs)


def _anchors(text: str, first: bool = False) -> set[str]:
    """The names and numbers of a text.

    Args:
        first: a capital at the beginning makes a name, too.
    """
    said = tokens(text)
    return {
        token.number or token.word
        for n, token in enumerate(said)
        if token.number or ((n or first) and is_name(said, n))
    }
