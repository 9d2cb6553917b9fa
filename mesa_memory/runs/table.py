"""The answer to a query: named columns, as plain records or as a DataFrame."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Table:
    """Rows with the same keys.

    Attributes:
        columns: the keys in order, also without rows.
        rows: one dict for each.
    """

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> "Table":
        """A table with the columns of the rows; without rows, it is empty."""
        return cls(tuple(rows[0]) if rows else (), rows)

    def as_frame(self) -> "pandas.DataFrame":
        """As a DataFrame with a row number as index."""
        import pandas

        values = [tuple(row.values()) for row in self.rows]
        return pandas.DataFrame.from_records(values, columns=list(self.columns))

    def given(self, as_records: bool) -> Any:
        """The rows as a list of dicts if ``as_records``, else a DataFrame."""
        return self.rows if as_records else self.as_frame()


def table(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> Table:
    """A table of these columns of the rows, in this order."""
    return Table(columns, [{name: row[name] for name in columns} for row in rows])
