"""Pages that are made from a template."""

from functools import cache
from importlib.resources import files
from typing import Any


@cache
def template(package: str, name: str) -> Any:
    """A file of a package as a template; values are inserted as text."""
    from jinja2 import Environment

    text = (files(package) / name).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(text)
