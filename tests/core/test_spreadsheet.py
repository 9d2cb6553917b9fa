"""Cells of CSV files are not run as formulas, and numbers stay numbers."""

import csv

import numpy as np
import pandas as pd

from mesa_memory.runs.spreadsheet import cell, write_csv

FORMULAS = [
    "=1+1", "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "\n=1",
    "＝1＋1", "＋49 170", "－1－1", "＠home", "  =1+1", "\u00a0=1", "\ufeff=1", "\u3000＝1",
    "- a list item", "-", "=", "--1", "+-1", "-1_000", "-inf", "-٣",
]  # fmt: skip
PLAIN = ["", "a=1", "1+1", "-5", "+5", "-1.5e-3", "-3.", "3", "'=1", "(=1)", "é", "−1"]


def test_a_formula_gets_an_apostrophe():
    for text in FORMULAS:
        assert cell(text) == f"'{text}"


def test_everything_else_stays_as_it_is():
    for value in [*PLAIN, -5, -0.5, None, True, np.int64(-2)]:
        assert cell(value) is value


def test_a_table_has_no_formula_in_heads_and_cells(tmp_path):
    frame = pd.DataFrame({
        "=head": FORMULAS, "n": -1, "x": [-0.5] * len(FORMULAS),
        "kind": pd.Categorical(FORMULAS), "text": pd.array(FORMULAS, dtype="string"),
        "odd": [None, -3, "=2", float("nan"), True, *[("=", 1)] * (len(FORMULAS) - 5)],
    })  # fmt: skip
    before = frame.copy()
    write_csv(frame, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(frame, before)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    assert head == ["'=head", "n", "x", "kind", "text", "odd"]
    for row, text in zip(rows, FORMULAS):
        safe = f"'{text}"
        assert row[:5] == [safe, "-1", "-0.5", safe, safe]
    assert [row[5] for row in rows[:6]] == ["", "-3", "'=2", "", "True", "('=', 1)"]


def test_tables_without_rows_and_with_equal_heads_are_written(tmp_path):
    write_csv(pd.DataFrame(columns=["=a", "b"]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b"'=a,b\r\n"
    write_csv(pd.DataFrame([["=1", "+b"]], columns=["a", "a"]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b"a,a\r\n'=1,'+b\r\n"
