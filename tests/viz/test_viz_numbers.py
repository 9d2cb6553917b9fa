"""A number that stands in several places of a study is the same in each."""

import json
import re

import pytest
from click.testing import CliRunner

from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from mesa_memory.statistics.difference import number, p_of
from mesa_memory.viz.report import write_report
from mesa_memory.viz.views import compare
from tests.support.browser import Window
from tests.support.dashboards import dashboard

pytestmark = pytest.mark.slow
ARMS, SEEDS, STEPS, AGENTS = ("short_term", "stlt", "episodic"), range(6), 6, 6


def knowing(model):
    return float(model.knowing("correction"))


def misled(model):
    return float(model.believing("rumour"))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("study") / "study.sqlite"


@pytest.fixture(scope="module")
def study(store):
    """A study of three arms with two outcomes and a measure, and its report."""
    made = Study(
        RumorModel, {"memory": ARMS, "n_agents": AGENTS, "correction_step": 2},
        seeds=SEEDS, steps=STEPS, store=store,
        outcomes={"knowing": knowing, "misled": misled}, measures={"misled so far": misled},
    )  # fmt: skip
    made.run("serial", progress=False)
    return made


def said(*command):
    """A command's output as data."""
    result = CliRunner().invoke(main, [*map(str, command), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def words(html):
    """What one reads in a page, without its script and style."""
    bare = re.sub(r"<(script|style).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).split())


def test_a_run_has_the_same_numbers_in_pages_reports_and_commands(
    study, store, tmp_path, chromium
):
    """Calls, tokens, dollars, steps and agents of a run are the same wherever they stand."""
    with open_run(store) as run:
        total, place = run.cost((), as_records=True)[0], f"{store}#{run.id}"
        shown = {name: each.iloc[-1] for name, each in compare.numbers(run).items()}
        write_report(run, tmp_path / "run.html")
        facts = [len(run.steps), len(run.unique_ids)]
    calls, tokens = total["calls"], total["tokens_in"] + total["tokens_out"]
    assert facts == [STEPS, AGENTS]
    assert [shown[name] for name in ("calls", "tokens", "cost")] == [calls, tokens, 0]
    assert [shown[f"model:{name}"] for name in ("calls", "tokens")] == [calls, tokens]
    counted = said("cost", place)["cost"][-1]
    assert {name: counted[name] for name in total} == total
    told = said("inspect", place)
    assert [told["run"]["steps"], len(told["agents"])] == facts
    report = words((tmp_path / "run.html").read_text(encoding="utf-8"))
    sums = [
        f"{total[name]:,}"
        for name in ("calls", "tokens_in", "tokens_cached", "tokens_out")
    ]
    assert f"total {' '.join(sums)} 0.00" in report
    assert f"Agents {AGENTS} Steps {STEPS} " in report
    with dashboard(place) as base, Window(chromium, base) as window:
        head = window.open("?view=cost").text()
        assert f"{calls:,} calls had {tokens:,} tokens and cost $0.00" in head
        assert f"of {STEPS}" in head


def test_a_study_has_the_same_numbers_in_its_pages_and_its_report(
    study, store, tmp_path, chromium
):
    """Outcomes, p values and costs of a study are the same in table, report and pages."""
    runs = study.results().runs
    report = words(study.report(tmp_path / "study.html").read_text(encoding="utf-8"))
    for outcome in ("knowing", "misled"):
        means = runs.groupby("memory", sort=False)[outcome].mean()
        for each in study.compare(outcome=outcome).contrasts:
            assert each.mean == means[each.arm]
            row = f"{each.arm} {number(each.mean)} "
            assert row in report
            _, _, rest = report.partition(row)
            assert f"{p_of(each.difference.p)} {p_of(each.p_holm)} " in rest[:80]
    calls = tokens = 0
    for place in range(1, len(runs) + 1):
        with open_run(store, place) as run:
            total = run.cost((), as_records=True)[0]
            calls, tokens = calls + total["calls"], tokens + total["tokens_in"]
            last = compare.numbers(run)["measure:misled so far"].iloc[-1]
            assert last == runs.set_index("run")["misled"][run.name]
    assert f"Altogether {calls:,} calls used {tokens:,} tokens in prompts" in report
    assert study.status().calls == calls and f"calls {calls:,} " in report
    assert "misled so far" in report
    places = [f"{store}#{number}" for number in range(1, len(runs) + 1)]
    with dashboard(*places) as base, Window(chromium, base) as window:
        window.open("?view=compare&together=measure:misled+so+far", see=".mm-chart")
        means = runs.groupby("memory", sort=False)["misled"].mean()
        now = "; ".join(f"{means[arm]:,.4g} in memory {arm}" for arm in ARMS)
        window.until(lambda: f"misled so far, mean of runs: {now}." in window.text())
