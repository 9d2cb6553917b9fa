"""Models by purpose, and all settings on record: what was asked how can be told later."""

import json

import pytest

from mesa_memory import (
    EpisodicMemory,
    LayeredMemory,
    Services,
    STLTMemory,
    configure,
    open_run,
)
from mesa_memory.errors import ReplayMismatch
from mesa_memory.runs.recording.rows import memory_settings
from tests.support import playing
from tests.support.openai_server import OpenAIServer
from tests.support.town import Town

CHEAP = "openai/gpt-4.1-nano"
SENT = {"temperature": 0.2, "seed": 7, "max_tokens": 300}
OPTIONS = {"top_p": 0.9, "api_key": "sk-of-a-test-0123456789", "timeout": 50}


def lived(town, steps=2):
    playing.lived(town, steps)
    Services.of(town).flush()
    return town


def made(base, memory, **given):
    return Town(2, memory, base, lambda model: configure(model, **given))


def short(agent):
    return STLTMemory(agent, short_term_capacity=1, consolidation_capacity=1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run at a server, with settings; the server is gone."""
    file = tmp_path_factory.mktemp("settings") / "run.sqlite"
    with OpenAIServer() as server:
        given = {"record": file, "options": OPTIONS, **SENT}
        town = lived(made(server.base, short, **given), 4)
        configure(town, record=None)
        bodies = [received.body for received in server.log]
    return file, server.base, bodies


def test_each_purpose_has_its_model_on_the_wire_in_the_ledger_and_on_record(tmp_path):
    file = tmp_path / "run.sqlite"
    with OpenAIServer() as server:
        given = {"models": {"grade": CHEAP}, "record": file}
        town = lived(made(server.base, EpisodicMemory, **given))
        sent = {received.body["model"] for received in server.log}
    assert sent == {"gpt-4.1-nano"}
    assert {*Services.of(town).ledger.by("purpose", "model")} == {("grade", CHEAP)}
    configure(town, record=None)
    asked = open_run(file).calls(as_records=True)
    assert {(row["purpose"], row["asked"]) for row in asked} == {("grade", CHEAP)}


def test_the_default_is_that_of_all_other_purposes():
    with OpenAIServer() as server:
        models = {"grade": CHEAP, "default": "openai/big"}
        given = {"models": models, "options": {"api_base": server.base}}
        lived(made(None, short, **given), 4)
        assert {received.body["model"] for received in server.log} == {"big"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": {"graed": CHEAP}}, "purposes of memories are: default, .*grade"),
        ({"models": {"grade": "nano"}}, "must be 'provider/model', got 'nano'"),
        ({"models": "nano"}, "a mapping by purpose"),
        ({"models": {"grade": CHEAP}, "llm": "offline"}, "give models alone"),
    ],
)
def test_wrong_models_change_nothing(given, said):
    town = made(None, EpisodicMemory, llm="offline")
    with pytest.raises((TypeError, ValueError), match=said):
        configure(town, **given)
    assert Services.of(town).models == {}


def test_what_a_report_asks_for_is_in_the_file(recorded):
    file, base, bodies = recorded
    calls = open_run(file).calls(as_records=True)
    assert len(calls) == len(bodies) > 0
    sent = {**SENT, "top_p": 0.9}
    for row, body in zip(calls, bodies):
        assert row["settings"] == {name: body[name] for name in sent} == sent
        assert (row["asked"], row["address"]) == ("openai/local", base)
        assert (row["client"], row["form"]) == ("direct", "json_schema")
        assert row["answered"] and row["response_id"]
        assert row["date"].startswith("20")
    assert "sk-of-a-test" not in file.read_bytes().decode("utf-8", "replace")


def test_each_memory_has_its_class_and_settings(recorded):
    (row,) = open_run(recorded[0]).memories(as_records=True)
    assert (row["class"], row["memory"], row["agents"]) == ("Citizen", "STLTMemory", 2)
    told = row["settings"]["layers"]["summary"]
    assert told["due"] == {"capacity": 1, "size": 1, "policy": None}


def test_all_memories_tell_plain_settings():
    for kind in (EpisodicMemory, short, LayeredMemory.unimatrix):
        town = made(None, kind, llm="offline")
        told = memory_settings(town.citizens[0].memory)
        assert json.loads(json.dumps(told)) == told and told["layers"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"temperature": 0.7}, "temperature was 0.2, is 0.7"),
        ({"options": {"top_p": 0.5}}, "top_p was 0.9, is 0.5"),
        ({"llm": "openai/other"}, "model was 'openai/local', is 'openai/other'"),
    ],
)
def test_a_replay_with_another_setting_fails_at_its_first_call(recorded, other, said):
    file, base, _ = recorded
    given = {"options": OPTIONS, **SENT, **other, "replay": file}
    with pytest.raises(ReplayMismatch, match=said):
        lived(made(base, short, **given, on_failure="raise"), 4)


def test_a_replay_with_the_same_settings_needs_neither_server_nor_key(recorded):
    file, base, bodies = recorded
    given = {**SENT, "options": {"top_p": 0.9, "timeout": 3}, "replay": file}
    town = lived(made(base, short, **given), 4)
    assert Services.of(town).ledger.total.calls == len(bodies)
