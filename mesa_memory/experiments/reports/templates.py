"""Pages that are made from a template, and may run and load nothing else."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from mesa_memory.core.content import dollars


@cache
def template(package: str, name: str) -> Any:
    """A file of a package as a template; values are inserted as text."""
    from jinja2 import Environment

    text = (files(package) / name).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["dollars"] = dollars
    return environment.from_string(text)


def policy(style: str, script: str = "") -> str:
    """A Content-Security-Policy: this style, this script and pictures in the page."""
    scripts = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {scripts}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
