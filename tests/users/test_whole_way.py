"""The whole way of a user with the tutorial's village: no line of it is a way round."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.examples import CODE, ROOT

WAY = '''
from mesa_memory import EpisodicMemory, close, configure, fork, open_run, resume
from mesa_memory.experiments import Study, attribute, placebo, verify
from mesa_memory.interventions import implant
from village import NEWS, Village


def right(model):
    """Villagers who would come on the right day."""
    return model.right


def plans(model):
    return len({agent.plan for agent in model.agents})


study = Study(
    Village, {"memory": ["short", "episodic"], "n": 6}, seeds=range(2), steps=12,
    outcomes={"right": right, "plans": plans}, store="study.sqlite",
)
if __name__ == "__main__":
    study.run("serial", progress=False)
    for outcome in study.outcomes:
        print(study.compare(outcome=outcome))

    # A fork of a run at a step, and what would have been.
    name = "Village/memory=short,seed=0"
    branch = fork(Village, study.location, step=8, run=name, memory="episodic")
    assert branch.steps == 8 and len(branch.agents) == 6
    implant(branch.agents[2], "news", {"text": NEWS})
    while branch.steps < 12:
        branch.step()
    plan = branch.agents[2].plan
    close(branch)
    assert plan == "Sunday", plan
    again = resume(Village, study.location)
    assert [type(agent.memory) for agent in again.agents] == [EpisodicMemory] * 6
    again.step()
    close(again)

    # One decision, and the memory on which it depends.
    name = "Village/memory=episodic,seed=0"
    with open_run(study.location, name) as run:
        said = run.decisions(step=8)
    agent = next(row.agent for row in said.itertuples() if row.answer == "Sunday")
    found = attribute(
        Village, study.location, run=name, agent=agent, step=8, screen=2, progress=False
    )
    print(found)
    assert found.exact and found.decision == "Sunday" and found.blamed
    assert {each.instead for each in found.blamed} == {"Saturday"}

    # Does it depend on the wording, or on the length?
    audit = study.audit(
        "episodic", outcome="right", base="short", executor="serial", progress=False
    )
    print(audit)
    shams = Study(
        Village, {"memory": {"episodic": "episodic", "sham": placebo(EpisodicMemory, "neutral")}, "n": 6},
        seeds=range(2), steps=12, outcomes={"right": right}, store="study.sqlite",
        name="shams",
    )
    shams.run("serial", progress=False)
    print(shams.compare())

    study.report("study.html", outcome="right", audit=audit)
    folder = study.archive("archive", texts=False)
    assert verify(folder) == []
    for shown in (study.compare(outcome="right"), found, audit):
        assert shown._repr_html_()
'''


@pytest.mark.slow
def test_the_whole_way_on_the_tutorials_village(tmp_path):
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    (code,) = re.findall(CODE["docs/tutorial.md"], page, re.DOTALL)
    (tmp_path / "village.py").write_text(code, encoding="utf-8")
    (tmp_path / "way.py").write_text(WAY, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "way.py"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "right by memory, against short: 2 seeds" in done.stdout
    assert "largest shift" in done.stdout and Path(tmp_path / "study.html").exists()
    lines = ["attribute", "study.sqlite#Village/memory=episodic,seed=0"]
    lines += [
        "--model",
        "village:Village",
        "--step",
        "8",
        "--agent",
        "1",
        "--screen",
        "2",
    ]
    command = [sys.executable, "-m", "mesa_memory.cli", *lines]
    said = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert said.returncode == 0 and "Decision “" in said.stdout, said.stderr[-3000:]
