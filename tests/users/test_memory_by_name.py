"""A memory of somebody else's is taken by name, as ``module:class``."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mesa_memory import ScriptedLLM, open_run, resume
from mesa_memory.cli import main
from mesa_memory.errors import UnknownMemory
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.page import parameters
from mesa_memory.experiments import Study
from tests.support import mood
from tests.support.playing import lived
from tests.support.street import Street

#: with a purpose of its own: the module itself may be loaded here, too
MOOD = Path(mood.__file__).read_text().replace("temper", "of_package")
OTHERS = """

class NoMemoryAtAll:
    pass


class Demanding(MoodMemory):
    def __init__(self, agent, colour):
        super().__init__(agent)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder on the path with a package."""
    (tmp_path / "moodpackage.py").write_text(MOOD + OTHERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("moodpackage", None)


STUDY = """
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study

memories = ["none", "mypackage:MoodMemory"]
study = Study(RumorModel, {"memory": memories, "n_agents": 3}, seeds=range(2), steps=1)
"""


def test_every_third_step_it_asks_and_the_mood_is_in_the_prompt():
    llm = ScriptedLLM(rules={"temper": {"mood": "worried"}})
    street = Street(llm=llm, n=2, memory=mood.MoodMemory, execution="blocking")
    for agent in lived(street, 7).agents:
        assert agent.memory.layers[-1].mood.step == 6
        prompt = agent.memory.get_prompt_ready()
        assert "I feel worried." in prompt
        assert "Day 7: the bridge is broken!" in prompt
        assert "I feel worried." in agent.memory.format_long_term()
    assert [request.step for request in llm.history] == [3, 3, 6, 6]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def kind(name):
    made = type(RumorModel(3, memory=name).agents[0].memory)
    return f"{made.__module__}:{made.__name__}"


def test_a_model_takes_a_class_by_name(installed):
    assert kind("stlt") == "mesa_memory.memories.stlt:STLTMemory"
    for name in ("moodpackage:MoodMemory", "mesa_llm.memory.st_memory:ShortTermMemory"):
        assert kind(name) == name


def test_a_study_compares_it_with_ours(installed):
    memories = ["stlt", "moodpackage:MoodMemory"]
    factors = {"memory": memories, "n_agents": 3}
    store = installed / "study.sqlite"
    study = Study(
        RumorModel, factors, seeds=range(1), steps=3, store=store, record=False
    )
    assert not study.run("serial", progress=False).failed
    table = study.results().steps
    assert set(table["memory"]) == set(memories)
    asked = table[table["step"] == 3].set_index("memory")["calls"]
    assert asked["moodpackage:MoodMemory"] > 0


@pytest.mark.slow
def test_the_command_finds_a_class_in_the_current_folder_and_so_do_its_workers(
    tmp_path,
):
    (tmp_path / "mypackage.py").write_text(MOOD)
    command = Path(sys.executable).with_name("mesa-memory")
    (tmp_path / "towns.py").write_text(STUDY)
    ran = subprocess.run(
        [command, "study", "run", "towns.py", "--processes", "2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["study"]["finished"] == 4


def test_the_demo_plays_it_and_its_page_offers_it(installed):
    few = ("--headless", "--agents", 3, "--steps", 3)
    file = installed / "run.sqlite"
    given = "moodpackage:MoodMemory"
    result = call("demo", "--memory", given, *few, "--record", file)
    assert result.exit_code == 0, result.output
    assert f"Memory {given}" in result.stdout
    assert "I feel calm." in result.stdout
    assert {"stlt", given} <= set(parameters(memory=given)["memory"]["values"])
    with open_run(file) as run:
        assert "mood" in {row["kind"] for row in run.state(1, 3, as_records=True)}
    town = resume(RumorModel, str(file), memory=given, record=None)
    assert type(town.agents[0].memory).__name__ == "MoodMemory"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("moood", "'moood': choose from short_term, stlt, .*none; or give"),
        ("", "choose from"),
        (None, "choose from"),
        ("mood:", "such as mypackage:MoodMemory"),
        ("nowhere:Mood", "No module named 'nowhere'"),
        ("moodpackage:Moood", "no attribute 'Moood'"),
        ("moodpackage:NoMemoryAtAll", "not a class of memory.*MemoryModule"),
        ("moodpackage:FEEL", "not a class of memory"),
        ("mesa_llm.memory.memory:Memory", "abstract class and lacks .*process_step"),
        ("moodpackage:Demanding", "missing a required argument: 'colour'"),
    ],
)
def test_what_is_no_memory_is_refused_with_what_to_do(installed, name, message):
    with pytest.raises(UnknownMemory, match=message):
        RumorModel(3, memory=name)


@pytest.mark.parametrize(
    ("page", "most"), [("write_a_memory", 20), ("write_an_embedder", 8)]
)
def test_what_the_docs_write_is_short_and_uses_no_private_name(page, most):
    docs = Path(__file__).parents[2] / "docs" / "howto" / f"{page}.md"
    code = docs.read_text().split("```python\n")[1].split("```")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= most
    assert not re.search(r"(\.|import )_[a-z]", code)


@pytest.mark.parametrize(
    "own",
    [True, ["stlt"], {"stlt": 3}, property(lambda model: 1 / 0)],
    ids=["switch", "list", "numbers", "property"],
)
def test_an_attribute_own_memories_that_means_something_else_is_the_users(
    own, tmp_path
):
    model = type("Town", (Street,), {"own_memories": own})
    made = {"store": tmp_path / "study.sqlite", "outcomes": {"days": days}}
    study = Study(model, {"memory": ["stlt", "short_term"]}, seeds=[1], steps=1, **made)
    study.run("serial", progress=False)
    assert study.results().runs["state"].tolist() == ["finished"] * 2


def days(model):
    return model.steps
