"""Objects that users print, as the last line of a notebook's cell."""

from dataclasses import fields
from html import escape
from typing import Any


class NotebookShown:
    """A dataclass that a notebook shows as its text, or else as a table of its fields."""

    def _repr_html_(self) -> str:
        kind: Any = type(self)
        as_table = kind.__dataclass_params__.repr  # it tells no text of its own
        if kind.__str__ is not object.__str__ or not as_table:
            style = "white-space: pre-wrap; text-align: left"
            return f'<pre style="{style}">{escape(str(self))}</pre>'
        rows = [
            f'<tr><th style="text-align: left">{escape(each.name.replace("_", " "))}</th>'
            f'<td style="text-align: left">{escape(str(getattr(self, each.name)))}</td></tr>'
            for each in fields(kind)
        ]
        return f"<table>{''.join(rows)}</table>"
