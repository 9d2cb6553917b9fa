"""The methods section and the checklist of a study or a run, to go into a paper.

They state facts from the store and nothing else; the sentences are in the two templates.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from mesa_memory.core.content import dollars
from mesa_memory.experiments.reports.facts import shown_value
from mesa_memory.statistics.difference import p_of

#: seeds that are listed one by one
MAX_LISTED_SEEDS = 12


def methods(facts: Mapping[str, Any]) -> str:
    """The methods text, a paragraph for each subject.

    Args:
        facts: of ``facts_of_study`` or ``facts_of_run``.
    """
    text = _template("methods.jinja").render(facts)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(filter(None, paragraphs))


def checklist(facts: Mapping[str, Any]) -> str:
    """The core items of GUIDE-LLM and the sections of ODD, filled as far as recorded.

    Sources: GUIDE-LLM, https://www.llm-checklist.com (2026); ODD: Grimm et al. (2020),
    JASSS 23(2) 7.

    Args:
        facts: of ``facts_of_study``.

    Returns:
        Markdown. What only the author knows says "To be written by you."
    """
    text = _template("checklist.jinja").render(facts)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    kept = [line for line, before in zip(lines, ["", *lines]) if line or before]
    return "\n".join(kept).strip() + "\n"


@cache
def _template(name: str) -> Any:
    from jinja2 import Environment

    environment = Environment(autoescape=False)  # noqa: S701 - it is plain text
    environment.filters |= {
        "dollars": dollars,
        "listed": _listed,
        "number": "{:,}".format,
        "pairs": _pairs,
        "ps": lambda found: [f"{p_of(p)} ({arm})" for arm, p in found.items()],
        "seeds": _seeds,
        "times": lambda number: {1: "once", 2: "twice"}.get(
            number, f"{number:,} times"
        ),
    }
    file = files("mesa_memory.experiments.reports") / name
    return environment.from_string(file.read_text(encoding="utf-8"))


def _pairs(found: Mapping[str, Any], form: str) -> list[str]:
    """Each name and value in a form such as ``"{} = {}"``."""
    return [form.format(name, shown_value(value)) for name, value in found.items()]


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _seeds(seeds: Sequence[Any]) -> str:
    numbers = [int(s) for s in seeds if str(s).lstrip("-").isdigit()]
    several = len(numbers) == len(seeds) > 2
    if several and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(seeds) > MAX_LISTED_SEEDS:
        return f"{len(seeds)} different ones, which are in the store"
    return _listed([shown_value(seed) for seed in seeds])
