"""Templates of texts and pages; a page may run and load nothing else."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any

from mesa_memory import __version__
from mesa_memory.core.content import dollars
from mesa_memory.experiments.reports.facts import shown_value
from mesa_memory.statistics.difference import p_of

#: of curves and parts of scores; after Okabe and Ito
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
#: dots per inch of a plot
PLOT_DPI = 110
#: seeds that are listed one by one
MAX_LISTED_SEEDS = 12


@cache
def template(package: str, name: str, *, page: bool = True) -> Any:
    """A file of a package as a template.

    Args:
        page: True for HTML, into which values are inserted as text.
    """
    from jinja2 import Environment

    text = (files(package) / name).read_text(encoding="utf-8")
    environment = Environment(  # texts have no markup
        autoescape=page,  # noqa: S701
        trim_blocks=page,
        lstrip_blocks=page,
    )
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
    return environment.from_string(text)


def page(package: str, name: str, **values: Any) -> str:
    """A file of a package as a page in the common style, which loads nothing."""
    style = template("mesa_memory.experiments.reports", "study_report.css").render()
    own = {"style": style, "policy": policy(style), "version": __version__}
    return template(package, name).render(values | own)


def policy(style: str, script: str = "") -> str:
    """A Content-Security-Policy: this style, this script and pictures in the page."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {scripts}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def picture(figure: Any) -> str:
    """A matplotlib figure as an address that a page holds itself."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=PLOT_DPI)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _pairs(found: Mapping[str, Any], form: str) -> list[str]:
    """Each name and value in a form such as ``"{} = {}"``."""
    shown = (
        (name, ", ".join(value) if isinstance(value, list) else shown_value(value))
        for name, value in found.items()
    )
    return [form.format(*pair) for pair in shown]


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


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
