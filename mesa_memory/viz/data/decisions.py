"""The decisions of an agent in a step, with the lines of memory that were in them."""

from collections.abc import Sequence

from mesa_memory.core.content import brief
from mesa_memory.core.requests import REASONING
from mesa_memory.retrieval import overlap
from mesa_memory.runs import Run
from mesa_memory.runs.decisions import FOUND_CHARS, MEMORY_SIGN, bare
from mesa_memory.runs.past import Past, Row

#: marks of a line of memory; the later one in the alphabet counts
RECALLED, USED = "recalled", "used"
#: longest decision in one line, in characters
BRIEF_CHARS = 240
#: the end of a question in a table, in characters
END_CHARS = 120
#: the same where the decision stands in one line
SUBJECT_CHARS = 80
#: a mark, and the text that has it
type Piece = tuple[str, str]


def decided(run: Run, agent: object = None, step: float | None = None) -> list[Row]:
    """The decisions of all agents and steps, or of these, by step and agent.

    Each has ``step``, ``agent``, ``question`` (the end of what was asked, without the
    memory in it) and ``answer`` (or the tools called, or the error).
    """
    place = {name: n for n, name in enumerate(run.unique_ids.values())}
    found = [
        {name: row[name] for name in ("step", "agent")}
        | {"question": end_of(row["question_only"]), "answer": answer(row)}
        for row in run.decisions(agent, step, as_records=True)
    ]
    return sorted(found, key=lambda row: (row["step"], place.get(row["agent"], -1)))


def end_of(text: str) -> str:
    """The end of a question, which asks; on one line.

    What follows the memory, else what precedes it without the memory's heading.
    """
    parts = [part.strip() for part in text.split(MEMORY_SIGN)]
    if not parts[-1] and len(parts) > 1:
        *before, heading = parts[-2].splitlines() or [""]
        parts[-1] = "\n".join(before) if heading.endswith(":") else parts[-2]
    told = " ".join((parts[-1] or text).split())
    if len(told) <= END_CHARS:
        return told
    return "… " + told[-END_CHARS:].partition(" ")[2]


def decisions(run: Run, agent: object, step: float) -> list[Row]:
    """An agent's own requests of a step, in order of asking; see ``Run.decisions``."""
    found: list[Row] = run.decisions(agent, step, as_records=True)
    return found


def name_of(decision: Row, past: Past) -> str:
    """The kind of a decision: its own purpose, or else plan, tool call or answer.

    Args:
        past: of its agent; a request is for a plan if a plan followed it.
    """
    if decision["purpose"] != REASONING:
        return str(decision["purpose"])
    if decision["tool_calls"]:
        return "tool call"
    followed = (past.by_id.get(one["id"]) for one in decision["followed"])
    return (
        "plan" if any(row and row["kind"] == "plan" for row in followed) else "answer"
    )


def subject_of(decision: Row) -> str:
    """The question of a decision in a few words."""
    asked = end_of(decision["question_only"])
    if len(asked) > SUBJECT_CHARS:
        # Between words: half a number would name another agent.
        asked = f"{asked[:SUBJECT_CHARS].rpartition(' ')[0]} …"
    return f"asked “{asked}”"


def memory_lines(decision: Row) -> list[Piece]:
    """The lines of memory in a request; recalled ones that are worded differently last.

    The mark is ``USED`` if the answer has a line's words, else ``RECALLED`` if a recall
    found it, else empty. Lines that no recall found are marked, too: the memory may not recall at all.
    """
    texts = [line for line in decision["memory"].splitlines() if line.strip()]
    known: dict[str, Piece] = {}
    for one in decision["recalled"]:
        key = bare(one["text"])[:FOUND_CHARS]
        if key and known.get(key, ("", ""))[0] != USED:
            known[key] = (USED if one["used"] else RECALLED, one["text"])
    lines, found = [], set()
    for text, is_used in zip(texts, overlap.used(texts, said(decision))):
        whole = bare(text)
        here = [key for key in known if key in whole]
        found.update(here)
        marks = {known[key][0] for key in here}
        if not here and is_used and not whole.endswith(":"):
            marks.add(USED)
        lines.append((max(marks, default=""), text))
    return lines + [line for key, line in known.items() if key not in found]


def said(decision: Row) -> str:
    """The answer with the arguments of the tools that it calls."""
    calls: Sequence[Row] = decision["tool_calls"]
    arguments = (str(one.get("arguments") or "") for one in calls)
    return "\n".join([decision["answer"] or "", *arguments])


def answer(decision: Row) -> str:
    """A decision in one line: the answer, or the tools that it calls."""
    if decision["error"] is not None:
        return brief(f"no answer: {decision['error']}", BRIEF_CHARS)
    calls = (
        f"{c.get('name')} {c.get('arguments') or ''}" for c in decision["tool_calls"]
    )
    text = decision["answer"] or f"calls {'; '.join(calls)}"
    return brief(text, BRIEF_CHARS)
