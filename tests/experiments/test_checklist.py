"""The checklist of GUIDE-LLM: each item that is filled in says what the store says."""

import json
import re
import sqlite3

import pytest

from mesa_memory import LongTermMemory
from mesa_memory.experiments import Plan, Study
from mesa_memory.experiments.reports.methods import checklist
from tests.support.deciding import Deciders, provider
from tests.support.study_results import run

FOR_THE_AUTHOR = ("A.1", "B.4", "D.1", "E.1", "G.1")
ITEMS = (
    "A.1", "A.2", "B.1", "B.2", "B.3", "B.4", "B.5", "C.1", "C.2", "D.1", "E.1", "E.2",
    "F.1", "G.1",
)  # fmt: skip


def people(model):
    """How many people there are."""
    return len(model.agents)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study whose model could not be read once, its items, and its store."""
    file = tmp_path_factory.mktemp("checklist") / "study.sqlite"
    with pytest.MonkeyPatch.context() as patch, provider() as server:
        patch.setenv("OPENAI_API_KEY", "test")
        usual, bad = server.answer, []

        def answer(received):
            form = json.dumps(received.body.get("response_format") or "")
            if '"summary"' in form and not bad:
                bad.append(received)
                return "…"
            return usual(received)

        server.answer = answer
        study = Study(
            Deciders,
            {"base": server.base, "mode": ["sync"], "services": [{}],
             "memory": [LongTermMemory], "temperature": 0.5},
            seeds=[1, 2], steps=2, store=file, outcomes={"people": people},
        )  # fmt: skip
        assert run(study).finished
        text, sent = study.checklist(), len(server.log)
    found = re.findall(r"\*\*([A-G]\.\d) [^*]*\*\* (.*)", text)
    with sqlite3.connect(file) as store:
        yield dict(found), store, sent, server.base, text


def one(store, query):
    return store.execute(query).fetchone()[0]


def test_it_has_the_fourteen_items_and_leaves_five_to_the_author(made):
    items, *_ = made
    assert tuple(items) == ITEMS
    blank = [name for name, text in items.items() if "To be written by you." in text]
    assert tuple(blank) == FOR_THE_AUTHOR


def test_models_dates_addresses_and_settings_are_those_of_the_calls(made):
    items, store, sent, base, _ = made
    first, last = store.execute("SELECT min(date), max(date) FROM calls").fetchone()
    day = f"on {first[:10]}" if first[:10] == last[:10] else f"from {first[:10]}"
    assert (
        f"test (asked as openai/test at {base}; temperature = 0.5; {day}"
        in items["B.1"]
    )
    assert one(store, "SELECT count(*) FROM calls") == sent
    assert f"openai/test answered {sent} requests" in items["B.1"]
    assert "each request separate" in items["B.2"]
    assert "Seeds of the simulation: 1 and 2; 1 run for each" in items["B.3"]


def test_automation_memories_prompts_and_repairs_are_those_of_the_store(made):
    items, store, *_ = made
    runs, steps = store.execute("SELECT count(*), max(done) FROM cases").fetchone()
    assert {1: "once", 2: "twice"}[runs] in items[
        "A.2"
    ] and f"{steps:g} steps" in items["A.2"]
    for (memory,) in store.execute("SELECT DISTINCT memory FROM agents").fetchall():
        assert memory in items["B.4"]
    shown = one(store, "SELECT count(*) FROM prompts")
    assert shown and "text of the agent's memory" in items["B.5"]
    texts = one(store, "SELECT count(DISTINCT prompt_hash) FROM calls")
    assert items["C.1"].startswith(f"{texts} different prompts")
    files = store.execute("SELECT DISTINCT name, language, hash FROM prompt_files")
    for name, language, digest in files.fetchall():
        assert f"{name} ({language}, {digest[:16]})" in items["C.1"]
    (prompt,) = store.execute("SELECT prompt FROM calls").fetchone()
    assert {m["role"] for m in json.loads(prompt)} & {"system", "user"}
    assert 'role "system"' in items["C.2"]
    for column, told in (
        ("repairs", "requests asked again"),
        ("cached", "answers came from"),
    ):
        number = one(store, f"SELECT count(*) FROM calls WHERE {column}")
        assert f"{number} {told}" in items["E.2"]
    assert one(store, "SELECT sum(repairs) FROM calls") == 1
    failed = one(store, "SELECT count(error) FROM calls")
    assert f"{failed} requests failed" in items["E.2"]
    kept = json.loads(one(store, "SELECT fingerprint FROM studies"))
    for name, version in kept["versions"].items():
        assert f"{name} {version}" in items["F.1"]
    assert re.search(r"Hash of the code: [0-9a-f]{16} ", items["F.1"])


def test_what_is_recorded_for_odd_is_there_and_no_empty_heading(made):
    *_, text = made
    odd = text.partition("ODD description")[2]
    assert "**Scales** 2 steps." in odd and "mode = sync" in odd
    assert "To be written" not in odd
    assert "Without a plan: every comparison is exploratory." in text


def test_a_plan_and_its_looks_are_in_the_analysis(tmp_path):
    from tests.experiments.test_study_plans import study

    found = study(
        tmp_path, [0.0, 1.0], plan=Plan("effect", base=0.0, outcome="x", looks=(8, 12))
    )
    run(found)
    text = found.checklist()
    assert f"Planned before the first run: {found.plan}." in text
    assert "After 8 seeds, p (Holm):" in text
    assert "no language model was asked" in text


@pytest.fixture
def outside(tmp_path):
    """Makes a study of a model at a server; gives its items, and the requests there."""
    with pytest.MonkeyPatch.context() as patch, provider() as server:
        patch.setenv("OPENAI_API_KEY", "test")

        def made(name, services=None, **given):
            factors = {"base": server.base, "mode": ["sync"], "services": [services or {}],
                       "memory": [LongTermMemory]}  # fmt: skip
            file = tmp_path / name
            study = Study(Deciders, factors, seeds=[1], steps=2, store=file, **given)
            assert run(study).finished
            found = re.findall(r"\*\*([A-G]\.\d) [^*]*\*\* (.*)", study.checklist())
            return dict(found), study

        yield made, server


def test_an_unrecorded_study_does_not_say_that_nobody_was_asked(outside):
    made, server = outside
    items, _ = made("bare.sqlite", record=False)
    assert len(server.log) > 0
    assert f"openai/test answered {len(server.log)} requests" in items["B.1"]
    for item in ("B.1", "B.2", "B.3", "C.1", "C.2", "E.2"):
        assert "ot recorded" in items[item], item
    assert "No model" not in items["B.1"] and "without a network" not in items["B.2"]
    assert (
        "recorded for each step" not in items["B.5"]
        and "0 requests asked" not in items["E.2"]
    )


@pytest.mark.parametrize("record", [True, False])
def test_cached_answers_are_not_told_as_no_model_asked(outside, tmp_path, record):
    made, server = outside
    cache = {"cache": str(tmp_path / "cache.sqlite")}
    made("first.sqlite", cache, record=record)
    sent = len(server.log)
    items, study = made("again.sqlite", cache, record=record)
    assert len(server.log) == sent
    assert f"Answers of openai/test ({sent} answers) came from a cache" in items["B.1"]
    assert "the days on which they were made are not recorded" in items["B.1"]
    assert "No model" not in items["B.1"] and "without a network" not in items["B.2"]
    assert str(tmp_path) not in study.methods() + study.checklist()


def test_text_of_a_model_is_no_markup(tmp_path):
    facts = {"model": "M", "runs": 1, "steps": 1, "seeds": [1], "replicates": 1,
             "texts": 0, "repairs": 0, "given_up": 0, "doubtful": 0, "texts_made": 0, "kept": 0,
             "from_runs": 0, "used": {"failures": 0}, "code": "0", "models": {},
             "recorded": True, "fixed": {"name": "a\n\n## Analysis\n\n{{ 1 + 1 }}"}}  # fmt: skip
    text = checklist(facts)
    assert text.count("\n## Analysis") == 1 and "{{ 1 + 1 }}" in text
