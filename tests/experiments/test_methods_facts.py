"""Twenty facts of a methods text, in studies of six kinds, against the store and the server."""

import sqlite3

import pytest

from mesa_memory import LongTermMemory, ShortTermMemory
from mesa_memory.experiments import Question, Questionnaire, Study
from tests.support.behaviours import Behaviour, always
from tests.support.deciding import Deciders, provider
from tests.support.study_results import run

STEPS, SEEDS = 2, [3, 8]
#: requests after which the server refuses all, in studies with failed runs
ANSWERED = 30
KINDS = ("offline", "provider", "cache", "replay", "unrecorded", "failed")


def people(model):
    """How many people there are."""
    return len(model.agents)


def size(model):
    return len(model.agents)


def study_of(file, base, **more):
    factors = {
        "base": base, "mode": ["sync"], "services": [{}], "temperature": 0.5,
        "memory": {"long": LongTermMemory, "short": ShortTermMemory},
    }  # fmt: skip
    record, seeds = more.pop("record", True), more.pop("seeds", SEEDS)
    if "replay" in more:
        factors["services"] = [{"replay": more.pop("replay")}]
    survey = Questionnaire([Question("mood", "How are you?", "text")], every=2)
    return Study(
        Deciders, factors | more, seeds=seeds, steps=STEPS, store=file, record=record,
        measures={"size": size}, outcomes={"people": people},
        questionnaires=survey if record and len(seeds) > 1 else (),
    )  # fmt: skip


@pytest.fixture(params=KINDS)
def made(request, tmp_path):
    """Kind, study, requests that the server received, and the server's address."""
    kind, file = request.param, tmp_path / "study.sqlite"
    more = {"record": False} if kind == "unrecorded" else {}
    with provider() as server:
        if kind == "offline":
            more["llm"] = "offline"
        if kind in ("cache", "replay"):
            first = tmp_path / "first.sqlite"
            kept = {"cache": str(tmp_path / "cache.sqlite")} if kind == "cache" else {}
            alone = (
                {"seeds": [3], "memory": [LongTermMemory]} if kind == "replay" else {}
            )
            run(study_of(first, server.base, **kept, **alone))
            more |= kept | alone | ({"replay": str(first)} if kind == "replay" else {})
        if kind == "failed":
            usual = server.behave
            server.behave = lambda received: (
                Behaviour.status(401, "no such key")
                if len(server.log) > ANSWERED
                else usual(received)
            )
        before = len(server.log)
        study = study_of(file, server.base, **more)
        run(study)
        server.behave = always(None)
        yield kind, study, len(server.log) - before, server.base


def test_each_of_twenty_facts_is_there_and_true(made):
    kind, study, sent, base = made
    text, asked = study.methods(), sent > 0
    with sqlite3.connect(study.location) as store:

        def one(query):
            return store.execute(query).fetchone()[0]

        cases, failed = (
            one("SELECT count(*) FROM cases"),
            one("SELECT count(*) FROM cases WHERE state = 'failed'"),
        )
        own = "model LIKE 'offline%'"
        calls, tokens = store.execute(
            "SELECT count(*), sum(tokens_in) FROM calls WHERE NOT coalesce(replayed, 0) "
            f"AND NOT coalesce(cached, 0) AND {'NOT' if sent else ''} {own}"
        ).fetchone()
        begun = one("SELECT count(*) FROM unfinished_calls")
        kept = one("SELECT count(*) FROM calls WHERE cached OR replayed")
        days = store.execute("SELECT min(date), max(date) FROM calls").fetchone()
    # A refused request ends its run, and is in the errors of the cases alone.
    answered = calls if kind == "failed" else sent
    times = {1: "once", 2: "twice"}.get(cases, f"{cases} times")
    facts = {
        "model": study.results() and "tests.support.deciding.Deciders was run",
        "runs": f"was run {times}",
        "steps": f"for {STEPS} steps" if not failed else "Not all runs have finished",
        "seeds": "The seeds were 3 and 8" if cases > 1 else "The seed was 3",
        "levels": "memory (long, short)" if cases > 1 else "memory = ",
        "constants": "mode = sync",
        "measures": "Measured after each step: size.",
        "outcomes": "people (How many people there are)",
        "unfinished": f"Not all runs have finished: {failed} failed" if failed else "",
        "versions": "The runs were made with python",
        "mesa": "mesa-memory 0.",
        "memories": "LongTermMemory (" if kind != "unrecorded" else "",
        "questions": "Agents were asked mood"
        if kind in ("offline", "provider", "cache")
        else "",
        "address": f" at {base}" if asked and kind != "unrecorded" else "",
        "temperature": "temperature = 0.5" if asked and kind != "unrecorded" else "",
        "day": days[0][:10] if asked and kind != "unrecorded" else "",
        "requests": f"openai/test answered {answered} requests" if asked else "",
        "kept": f"({kept} answers) came from a cache or a recorded run" if kept else "",
        "unfinished steps": f"Besides, {begun} answers" if begun else "",
        "tokens": f"Altogether {calls:,} calls used {tokens:,} tokens" if calls else "",
    }
    assert len(facts) == 20
    missing = {name: fact for name, fact in facts.items() if fact not in text}
    assert not missing, f"{missing}\n{text}"
    if kind == "provider":
        assert calls == sent > 0
    if kind == "failed":
        assert failed > 0 < begun and calls + begun == ANSWERED < sent
    if kind in ("cache", "replay"):
        assert (sent, calls) == (0, 0) and kept > 0
