"""Retention in a user's own model: what agents are shown of what they were told."""

import json
from pathlib import Path

import pytest

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Retention, Study, retention
from mesa_memory.runs import open_run
from mesa_memory.runs.claims.claim import is_stated
from mesa_memory.runs.claims.clauses import sentences

PAIRS = Path(__file__).parent.parent / "data" / "shown.json"


def agreeing(statements, memory):
    """The number of statements that the rule judges as a person did."""
    lines = sentences(memory["text"])
    judged = [is_stated(text, lines) for text in statements]
    by_hand = [label == "+" for label in memory["has"]]
    return sum(one == other for one, other in zip(judged, by_hand, strict=True))


def test_the_rule_agrees_with_judgements_by_hand():
    """Those held out were drawn by a seed and labelled before the rule was asked."""
    pairs = json.loads(PAIRS.read_text("utf-8"))
    known, held_out = (
        [agreeing(each.get("statements") or pairs["statements"][each["plot"]], each)
         for each in pairs[name]]
        for name in ("memories", "held_out")
    )  # fmt: skip
    # The guide says these figures.
    assert (sum(known[:5]), sum(known[5:])) == (88, 96)
    assert (sum(held_out[:10]), sum(held_out[10:])) == (25, 27)


def town(folder, seeds=(1,), measures=None, memories=("short_term",), steps=15):
    study = Study(
        RumorModel,
        {"memory": list(memories), "n_agents": 5},
        seeds=seeds,
        steps=steps,
        measures=measures,
        store=folder / "study.sqlite",
    )
    study.run("serial", progress=False)
    return study


def test_a_window_of_five_steps_falls_to_the_floor_and_a_record_has_the_same_numbers(
    tmp_path,
):
    given = {"intervals": (1, 3, 8), "every": 3}
    kinds = ("short_term", "episodic")
    measures = {"kept": Retention(**given)}
    steps = town(tmp_path, (1, 2), measures, kinds).results().steps
    for number, (_, live) in enumerate(steps.groupby(["memory", "seed"], sort=False)):
        with open_run(tmp_path / "study.sqlite", number + 1) as run:
            found = retention(run, **given)
            memory = run.parameters["memory"]
        rows = [row for kept in live["kept"] for row in kept]
        assert rows
        totals = {}
        for row in rows:
            own = totals.setdefault(row["interval"], [0, 0, 0, 0])
            names = ("old", "old_shown", "new", "new_shown")
            totals[row["interval"]] = [n + row[x] for n, x in zip(own, names)]
        curve = found.curve.set_index("interval")
        assert {n: list(curve.loc[n].iloc[1:5]) for n in curve.index} == totals
        if memory == "short_term":
            assert curve.loc[1, "retention"] > 0.9
            assert curve.loc[8, "kept"] == curve.loc[8, "false"] == 0
        assert set(found.statements["memory"]) == set(found.curve["memory"])


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(20), marks=pytest.mark.slow)]
)
def test_a_measure_of_retention_leaves_no_trace(seeds, tmp_path):
    (tmp_path / "with").mkdir(), (tmp_path / "without").mkdir()
    measures = {"kept": Retention(every=2)}
    town(tmp_path / "with", seeds, measures, ["stlt"], 6)
    town(tmp_path / "without", seeds, None, ["stlt"], 6)
    for number in range(1, len(seeds) + 1):
        runs = [
            open_run(tmp_path / name / "study.sqlite", number)
            for name in ("with", "without")
        ]
        assert runs[0].differences(runs[1]) is None
        assert len(runs[0].calls()) == len(runs[1].calls())
        [run.close() for run in runs]


def test_retention_needs_a_record_and_whole_numbers():
    model = RumorModel(n_agents=3)
    model.step()
    with pytest.raises(Exception, match="not recorded: use Study"):
        Retention(every=1)(model)
    with pytest.raises(ValueError, match="every"):
        Retention(every=0)
