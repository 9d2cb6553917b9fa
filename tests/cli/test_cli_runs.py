"""The commands that read recorded runs."""

import json
import sqlite3
import subprocess
import sys

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import EpisodicMemory, ShortTermMemory, configure, register_policy
from mesa_memory.cli import main
from mesa_memory.core.content import dollars
from mesa_memory.runs import open_run
from mesa_memory.stores import open_store
from tests.support.playing import play
from tests.support.recorded import Story
from tests.support.refusing import REFUSAL, REFUSER, REFUSES, Council
from tests.support.single import settle

ODD = "poison [/red] [bold]:smile: \x1b[31m\nStep 9: forged"


def call(*arguments):
    runner = CliRunner(env={"COLUMNS": "200"})
    return runner.invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A store with two runs: one is told by an agent who says odd things."""

    def odd(step, batch):
        if step == 2:
            batch.opened[0]["text"] = batch.opened[0]["content"]["message"] = ODD
            batch.prompts[0]["text"] = ODD

    place = tmp_path_factory.mktemp("cli") / "runs.sqlite"
    store = open_store(place)
    Story(store, name="first")
    Story(store, name="odd", edit=odd)
    store.close()
    return place


def test_the_overview_shows_the_run_its_agents_and_the_others(path):
    result = call("inspect", path)
    assert result.exit_code == 0, result.output
    for part in ("odd", "finished", "Runs of this store", "first", "LayeredMemory"):
        assert part in result.stdout
    assert "\x1b" not in result.stdout


@pytest.fixture
def doubted(tmp_path):
    """A run of which one request was asked again, one is doubtful, one given up."""

    def odd(step, batch):
        said = {1: {"repairs": True}, 2: {"doubtful": "adds nothing"},
                3: {"given_up": "the reply was empty", "cost": 0.0064}}  # fmt: skip
        for call in batch.calls[:1]:
            call.update(said.get(step, {}))

    store = open_store(tmp_path / "run.sqlite")
    Story(store, edit=odd)
    store.close()
    return tmp_path / "run.sqlite"


def test_replies_in_doubt_and_given_up_are_counted_by_purpose(doubted):
    shown = call("cost", doubted).stdout
    for heading in ("purpose", "calls", "asked again", "doubtful", "given up"):
        assert heading in shown
    rows = json.loads(call("cost", doubted, "--json").stdout)["cost"]
    for name in ("asked_again", "doubtful", "given_up"):
        assert sum(row[name] for row in rows if row["purpose"] != "total") == 1


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(path):
    command = [sys.executable, "-m", "mesa_memory.cli", "inspect", str(path)]
    reading = subprocess.Popen(
        [*command, "--agent", "7"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    reading.stdout.close()
    _, said = reading.communicate(timeout=100)
    assert (reading.returncode, said) == (0, b"")


def test_all_decisions_are_listed_with_the_end_of_the_question_and_the_answer(tmp_path):
    place = tmp_path / "council.sqlite"
    play(Council(str(place)), REFUSAL)
    shown = call("inspect", place, "--decisions").stdout
    for part in ("step", "agent", "question", "answer", REFUSES[:40]):
        assert part in shown
    with open_run(place) as run:
        (told,) = {
            r["question"][-30:]
            for r in run.decisions(REFUSER, REFUSAL, as_records=True)[1:2]
        }
        everything = run.decisions(as_records=True)
    assert told.split()[-1] in shown
    rows = json.loads(call("inspect", place, "--decisions", "--json").stdout)
    assert len(rows["decisions"]) == len(everything)
    one = call("inspect", place, "--decisions", "--agent", REFUSER, "--step", REFUSAL)
    assert 0 < one.stdout.count("│") < shown.count("│")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0.0064, "0.0064"), (0, "0.00"), (0.000012345, "0.000012"), (12.3456, "12.35"),
        (1234.5, "1,234.50"), (0.5, "0.50"), (None, "unknown"), (0.087, "0.087"),
    ],
)  # fmt: skip
def test_money_is_shown_in_the_digits_that_count(amount, shown):
    assert dollars(amount) == shown


def test_a_memory_is_shown_with_what_came_to_mind_and_the_prompt(path):
    result = call("inspect", path, "--agent", 7, "--step", 3)
    assert result.exit_code == 0, result.output
    for part in (
        "Agent 7 remembered at the end of step 3",
        "The mill of ward 3 is on fire",
        "Came to mind, read: fire?",
        "grade",
        "fire",
        "Was shown in that step:",
        "  long memory of 7 in step 3:",
    ):
        assert part in result.stdout
    assert "The well is poisoned" not in result.stdout  # deleted in step 3
    assert (
        "The well is poisoned"
        in call("inspect", path, "--agent", "b", "--step", 2).stdout
    )


class Asked(LLMAgent):
    """Is shown its memory for two questions in each step."""

    def step(self):
        day = {"text": f"Day {self.model.steps}: the bridge is broken."}
        self.memory.add_to_memory("observation", day)
        for question in self.model.questions:
            shown = self.memory.get_prompt_ready(about=question)
            self.llm.generate(f"{shown}\n\n{question}")
        self.memory.process_step()


class Bridge(mesa.Model):
    questions = "Is the bridge broken?", "Who sings in the choir?"

    def __init__(self, record, memory):
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        settle(self, memory, 1, Asked, register_policy("asked", lambda turn: "yes"))

    def step(self):
        self.agents.do("step")


@pytest.mark.parametrize("memory", [EpisodicMemory, ShortTermMemory])
def test_each_text_of_memory_is_shown_with_the_question_it_stood_in(tmp_path, memory):
    file = tmp_path / "run.sqlite"
    play(Bridge(file, memory), 3)
    shown = call("inspect", file, "--agent", 1, "--step", 3).stdout
    parts = shown.split("Was shown in that step for ")[1:]
    assert [part.splitlines()[0] for part in parts] == [
        f"“{question}”:" for question in Bridge.questions
    ]
    assert all(part.count("Day 3: the bridge is broken.") == 1 for part in parts)
    told = json.loads(call("inspect", file, "--agent", 1, "--step", 3, "--json").stdout)
    assert told["prompt"].count("Day 3: the bridge is broken.") == 2


def test_a_record_is_shown_with_its_history_and_evidence(path):
    result = call("inspect", path, "--record", "7/stlt/summary/2")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("UPDATE") == 4
    lines = result.stdout.splitlines()
    below = "    observation, step 2: I see field 2 [7/stlt/observation/2]"
    assert below in lines[lines.index("Because of:") :]
    assert any(line.startswith("      observation, step 1: I see") for line in lines)


def test_words_of_agents_are_shown_as_text(path):
    for arguments in (("--agent", 7, "--step", 2), ("--record", "7/stlt/summary/2")):
        shown = call("inspect", path, *arguments).stdout
        assert r"poison [/red] [bold]:smile: \x1b[31m\nStep 9: forged" in shown
        assert "\x1b" not in shown
        assert not [n for n in shown.splitlines() if n.startswith("Step 9")]


def test_cost_says_what_is_not_known(path):
    result = call("cost", path)
    assert result.exit_code == 0, result.output
    rows = {line.split()[1]: line for line in result.stdout.splitlines() if "│" in line}
    assert "3.00 " in rows["consolidate"]
    assert "unknown (12 calls)" in rows["reasoning"]
    assert "unknown (12 calls)" in rows["total"]
    steps = call("cost", path, "--by", "agent", "--by", "step").stdout
    assert steps.count("│ b ") == 6


def test_diff_answers_by_its_exit_code(path):
    equal = call("diff", f"{path}#1", f"{path}#1")
    assert (equal.exit_code, equal.stdout) == (0, "The runs are equal.\n")
    different = call("diff", f"{path}#1", f"{path}#2")
    assert different.exit_code == 1
    assert (
        "first difference is at step 2, in records: text, content." in different.stdout
    )
    assert r"smile: \x1b[31m\nStep 9" in different.stdout
    assert "The mill of ward 2 is on fire" in different.stdout
    assert "\x1b" not in different.stdout


def test_export_writes_files_and_says_where(path, tmp_path):
    result = call("export", path, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for name in ("records", "calls", "prompts"):
        assert str(tmp_path / "out" / f"{name}.csv") in result.stdout
        assert (tmp_path / "out" / f"{name}.csv").stat().st_size > 100
    again = call("export", path, "--out", tmp_path / "out")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("inspect", "{none}"), "the file does not exist"),
        (("inspect", "{path}#7"), "its runs are 1 'first', 2 'odd'"),
        (("inspect", "{path}", "--agent", "8"), "its agents are 7, b"),
        (("inspect", "{path}", "--agent", "7", "--step", "40"), "finished are 1, 2"),
        (("inspect", "{path}", "--record", "7/x/1"), "no record '7/x/1'"),
        (("inspect", "{path}", "--step", "1"), "--step needs --agent or"),
        (("inspect", "mysql://x/y"), "no store can be kept in 'mysql'"),
        (("cost", "{path}", "--by", "who"), "cost is by purpose, agent"),
        (("dashboard", "{none}"), "the file does not exist"),
        (("diff", "{path}", "{none}"), "the file does not exist"),
        (("export", "{path}"), "Missing option '--out'"),
        (("inspect", __file__), "not a SQLite file"),
    ],
)
def test_what_goes_wrong_ends_in_one_line_and_exit_code_2(
    path, tmp_path, arguments, message
):
    places = {"path": path, "none": tmp_path / "none.sqlite"}
    result = call(*(a.format(**places) if "{" in a else a for a in arguments))
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == (1 if "Usage" not in result.stderr else 4)
    assert not list(tmp_path.iterdir())


# -- for programs, and for narrow screens ---------------------------------------------


def test_a_run_is_told_to_programs_with_all_its_columns(path):
    told = json.loads(call("inspect", path, "--json").stdout)
    assert told["run"]["id"] == 2
    assert [run["name"] for run in told["runs"]] == ["first", "odd"]
    assert {"agent", "class", "memory", "records"} <= set(told["agents"][0])
    memory = json.loads(
        call("inspect", path, "--agent", 7, "--step", 3, "--json").stdout
    )
    assert any("mill of ward 3" in row["text"] for row in memory["state"])
    assert memory["recalls"][0]["rank"] == 1
    assert "\nlong memory of 7 in step 3:\n" in memory["prompt"]
    record = json.loads(
        call("inspect", path, "--record", "7/stlt/summary/2", "--json").stdout
    )
    assert record["history"] and record["provenance"][0]["depth"] == 0
    cost = json.loads(call("cost", path, "--json").stdout)["cost"]
    assert cost[-1]["purpose"] == "total"
    assert cost[-1]["cost"] is None  # some calls have no price: never zero


def test_a_table_ends_where_the_limit_says_and_says_so(path):
    shown = call("inspect", path, "--limit", 1).stdout
    assert "Agents (the first 1 of" in shown
    assert (
        len(json.loads(call("inspect", path, "--json", "--limit", 1).stdout)["runs"])
        == 1
    )
    assert call("inspect", path, "--limit", 0).stdout == call("inspect", path).stdout


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ((), "give --agent, or --outcome and --steps"),
        (("--outcome", "town:right"), "give --agent, or --outcome and --steps"),
        (
            ("--outcome", "town:right", "--steps", 9, "--decision", 1),
            "--decision needs --agent, and no --outcome",
        ),
    ],
)
def test_an_attribution_without_a_question_is_a_mistake_of_usage(path, given, told):
    result = call("attribute", path, "--model", "town:Town", "--step", 3, *given)
    assert result.exit_code == 2 and told in result.output


def test_on_a_narrow_screen_each_row_is_a_block(path):
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        main, ["inspect", str(path), "--agent", "7", "--step", "3"]
    )
    assert result.exit_code == 0, result.output
    assert "│" not in result.stdout
    said = "text        Agent b to you: The mill of ward 3 is on fire"
    assert said in result.stdout


def test_a_pipe_without_a_width_gets_a_table(path):
    piped = CliRunner(env={"COLUMNS": None})
    assert "│" in piped.invoke(main, ["inspect", str(path)]).stdout


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """The same town with two classes of memory."""
    place = tmp_path_factory.mktemp("towns") / "towns.sqlite"
    for memory in ("stlt", "short_term"):
        made = ("demo", "--headless", "--agents", 3, "--steps", 3, "--memory", memory)
        assert call(*made, "--record", place).exit_code == 0
    return place


def test_the_runs_of_a_store_are_told_apart_by_what_differs(towns):
    shown = call("inspect", towns).stdout
    for part in ("memory=stlt", "memory=short_term", "finished", "RumorModel"):
        assert part in shown
    assert shown.count("n_agents") == 1  # the same in both
    told = json.loads(call("inspect", towns, "--json").stdout)["runs"]
    assert [run["parameters"]["memory"] for run in told] == ["stlt", "short_term"]


def test_runs_with_different_memories_differ_where_something_else_happened(towns):
    result = call("diff", f"{towns}#1", f"{towns}#2")
    for part in ("A was made with memory=stlt", "B was made with memory=short_term"):
        assert part in result.stdout
    assert "Only the agents' events are compared" in result.stdout
    # A few days are too few for them to act differently.
    assert "The runs are equal." in result.stdout
    assert result.exit_code == 0
    strictly = call("diff", f"{towns}#1", f"{towns}#2", "--by", "record")
    assert strictly.exit_code == 1
    assert "first difference is at step 1" in strictly.stdout


def test_an_event_that_only_one_run_has_is_found_whatever_the_memory(towns):
    with open_run(towns, 1) as one, open_run(towns, 2) as other:
        assert one.differences(other, events=True) is None
    with sqlite3.connect(towns) as on:
        on.execute(
            "UPDATE records SET text = 'Agent 2 says: Hush!' WHERE seq = (SELECT min(seq)"
            " FROM records WHERE run = 2 AND step = 2 AND kind = 'message') AND run = 2"
        )
    on.close()
    with open_run(towns, 1) as one, open_run(towns, 2) as other:
        found = one.differences(other, events=True)
    assert (found.table, found.step, found.fields) == ("records", 2, ())


def test_reading_a_run_loads_neither_litellm_nor_mesa_llm(path, tmp_path):
    lines = [
        "--help", f"inspect {path}", f"inspect {path} --decisions", f"cost {path}",
        f"export {path} --out {tmp_path / 'tables'}", f"report {path} -o {tmp_path / 'run.html'}",
    ]  # fmt: skip
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom mesa_memory.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    ran = CliRunner().invoke(main, line.split())\n"
        "    assert ran.exit_code == 0, (line, ran.output)\n"
        "    assert not {'litellm', 'mesa_llm'} & set(sys.modules), line\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, *lines], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()


@pytest.mark.parametrize(
    ("does", "unused"),
    [
        ("import mesa; m.configure(mesa.Model(), llm='offline')", "sqlalchemy"),
        ("m.Budget(calls=1, cost=2.0)", "litellm"),
    ],
)
def test_what_is_not_used_is_not_loaded(does, unused):
    code = f"import sys, mesa_memory as m; {does}; assert {unused!r} not in sys.modules"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert ran.returncode == 0, ran.stderr.decode()
