"""The methods section and the checklist of a study or a run, to go into a paper.

They state facts from the store and nothing else; the sentences are in the two templates.
"""

from collections.abc import Mapping
from typing import Any

from mesa_memory.experiments.reports.templates import template

_PACKAGE = "mesa_memory.experiments.reports"


def methods(facts: Mapping[str, Any]) -> str:
    """The methods text, a paragraph for each subject.

    Args:
        facts: of ``facts_of_study`` or ``facts_of_run``.
    """
    text = template(_PACKAGE, "methods.jinja", page=False).render(facts)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(filter(None, paragraphs))


def checklist(facts: Mapping[str, Any]) -> str:
    """The core items of GUIDE-LLM, and what is recorded for an ODD description.

    Source: GUIDE-LLM, https://www.llm-checklist.com (2026).

    Args:
        facts: of ``facts_of_study``.

    Returns:
        Markdown. What only the author knows says "To be written by you."
    """
    text = template(_PACKAGE, "checklist.jinja", page=False).render(facts)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    kept = [line for line, before in zip(lines, ["", *lines]) if line or before]
    return "\n".join(kept).strip() + "\n"
