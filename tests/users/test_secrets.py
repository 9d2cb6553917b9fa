"""A planted key is nowhere in what the package writes or shows.

Each scenario brings the key to another place; then it is looked for in the store, its
exports, what was logged, warned and raised, the command line and the page.
"""

import glob
import json
import logging
import os
import sqlite3
import traceback
import warnings

import ipywidgets
import litellm
import mesa
import pytest
import solara
from click.testing import CliRunner
from mesa.experimental.scenarios import Scenario
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    LLMUnavailable,
    Recording,
    ScriptedLLM,
    Services,
    STLTMemory,
    arrange_prompts,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.cli import main
from mesa_memory.errors import MesaMemoryError, ParameterError
from mesa_memory.interventions import edit, implant
from mesa_memory.llm import Reply
from mesa_memory.viz.explorer import Runs, open_feeds
from tests.support.openai_server import Behaviour, OpenAIServer, always

ENV_KEY = "sk-planted-env-0123456789"
KEY = "sk-planted-own-abcdefghij"
HEADER_KEY = "sk-planted-header-klmnopqrst"
PASSWORD = 'pl4nted"pass\\wörd'
URL_PASSWORD = "pl4ntedUrlPassword"
NEEDLES = (ENV_KEY, KEY, HEADER_KEY, PASSWORD, URL_PASSWORD)
MODEL = "openai/gpt-4o-mini"


#: the models of a scenario
MADE = []


class Person(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        said = self.model.says or f"The bridge is broken, day {self.model.steps}!"
        self.send_message(said, others)
        if self.model.speaks:
            self.llm.generate("What now?")


class Town(mesa.Model):
    """A model whose arguments hold what models' arguments hold."""

    def __init__(self, llm="offline", api_base=None, memory=EpisodicMemory, api_key=None,
                 db=None, options=None, says="", speaks=False, record="run.sqlite",
                 password=None, rng=1, scenario=None, **services):  # fmt: skip
        super().__init__(rng=None if scenario else rng, scenario=scenario)
        MADE.append(self)
        self.password, self.says, self.speaks = password, says, speaks
        options = dict(options or {}) | ({"api_key": api_key} if api_key else {})
        configure(self, llm=llm, options=options, attempts=1, backoff=0.01,
                  record=record, **services)  # fmt: skip
        named = llm if isinstance(llm, str) and "/" in llm else None
        name = named or register_policy("talk", lambda turn: "Hello!")
        for _ in range(2):
            agent = Person(self, CoTReasoning, name, api_base=api_base)
            agent.memory = memory(agent, llm_model=name, api_base=api_base)
            if speaks:
                arrange_prompts(agent)

    def step(self):
        self.agents.shuffle_do("step")


class Diary(Town):
    def get_state(self):
        return {"note": f"my key is {ENV_KEY}"}

    def set_state(self, state):
        self.note = state["note"]


def lived(model, steps=2):
    for _ in range(steps):
        model.step()
    model.agents[0].memory.get_prompt_ready()
    return model


def told_back(text, **more):
    """A provider that says a text to everyone."""
    return OpenAIServer(answer=lambda received: text, **more)


def refusing(code, key):
    said = f"Incorrect API key provided: {key}. Header 'Authorization: Bearer {key}'."
    return OpenAIServer(behave=always(Behaviour.status(code, said)))


class OwnLLM:
    """A user's own client, with a key of its own."""

    def __init__(self, fails):
        self.api_key, self.fails = KEY, fails

    def complete(self, request):
        if self.fails:
            raise LLMUnavailable(f"no answer for the key {self.api_key}")
        return Reply(
            text=json.dumps({"grades": [3], "note": self.api_key}), model="own"
        )


# -- the scenarios -------------------------------------------------------------------


def arguments_of_each_kind(_):
    lived(
        Town(
            api_key=KEY,
            options={"extra_headers": {"Authorization": f"Bearer {HEADER_KEY}"}},
            db=f"postgresql://me:{URL_PASSWORD}@db.example/town",
            password=PASSWORD,
            says=f"I use {KEY}, {HEADER_KEY}, {PASSWORD} and {ENV_KEY}.",
        )
    )


def a_mesa_scenario(_):
    lived(Town(scenario=Scenario(rng=1, access_token=KEY)))


def an_attribute_that_was_changed(_):
    model = Town()
    model.password = PASSWORD
    lived(model)


def a_state_of_the_models_own(_):
    Services.of(lived(Diary())).recorder.close()
    lived(resume(Diary, "run.sqlite"), 1)


def a_provider_that_refuses_the_key(_):
    with refusing(401, ENV_KEY) as server:
        lived(Town(MODEL, server.base))


def a_provider_that_is_out_of_order(_):
    with refusing(500, ENV_KEY) as server:
        lived(Town(MODEL, server.base, max_pending_steps=2), 4)


def a_provider_that_refuses_a_key_of_options(_):
    with refusing(401, KEY) as server:
        lived(Town(MODEL, server.base, api_key=KEY))


def a_provider_that_refuses_reasoning(_):
    with refusing(401, ENV_KEY) as server:
        lived(Town(MODEL, server.base, speaks=True))


def a_key_in_litellm_itself(_):
    litellm.openai_key = KEY
    try:
        with refusing(401, KEY) as server:
            lived(Town(MODEL, server.base))
    finally:
        litellm.openai_key = None


def a_key_in_a_reply(_):
    with told_back(f"You use {ENV_KEY}, do you?") as server:
        lived(Town(MODEL, server.base, speaks=True, max_pending_steps=9))


def a_key_in_a_summary(_):
    with told_back(json.dumps({"summary": f"They all shout {ENV_KEY} by the bridge"})) as server:  # fmt: skip
        lived(Town(MODEL, server.base, memory=STLTMemory, max_pending_steps=99), 9)


def a_scripted_reply(_):
    lived(Town(ScriptedLLM(rules={"*": f"grades for {ENV_KEY}"}), max_pending_steps=9))


def an_own_client_that_fails(_):
    lived(Town(OwnLLM(fails=True), max_pending_steps=2), 4)


def an_own_client_that_answers(_):
    lived(Town(OwnLLM(fails=False), max_pending_steps=9))


def what_is_said_of_the_recording(_):
    given = {"api_key": KEY, "more": [{"token": KEY}], "url": f"x://u:{URL_PASSWORD}@h"}
    name = f"with {ENV_KEY}"
    lived(Town(record=Recording("run.sqlite", name=name, parameters=given)))


def changes_by_hand(_):
    model = lived(Town())
    new = implant(model.agents[0], "news", {"text": f"The key is {ENV_KEY}"})
    lived(model, 1)
    edit(model.agents[0], new, {"text": f"It was {ENV_KEY}"})
    lived(model, 1)


def a_resumed_and_a_forked_run(_):
    Services.of(lived(Town(api_key=KEY))).recorder.close()
    with pytest.raises(ParameterError, match=r"api_key=…") as demanded:
        resume(Town, "run.sqlite")
    assert demanded.value.names == ("api_key",)
    Services.of(lived(resume(Town, "run.sqlite", api_key=KEY), 1)).recorder.close()
    Services.of(lived(fork(Town, "run.sqlite", api_key=KEY, password=PASSWORD), 1)).recorder.close()  # fmt: skip
    with pytest.raises(ParameterError, match="password"):
        resume(Town, "run.sqlite", api_key=KEY)


def an_embedder_that_is_refused(_):
    with refusing(401, ENV_KEY) as server:
        from mesa_memory.embedders.litellm import LiteLLMEmbedder

        there = LiteLLMEmbedder("openai/embed", server.base, attempts=1)
        lived(Town(embedder=there), 4)


def a_database_that_is_not_there(_):
    Town(record=f"postgresql://me:{URL_PASSWORD}@127.0.0.1:1/town?connect_timeout=2")


def a_password_behind_a_question_mark(_):
    Town(record=f"postgresql://127.0.0.1:1/town?user=me&password={URL_PASSWORD}")


def a_file_of_somebody_else(_):
    """That file has the key; what was exported of it not."""
    Services.of(lived(Town())).recorder.close()
    with sqlite3.connect("run.sqlite") as on:
        on.execute("UPDATE runs SET parameters = ?", (json.dumps({"api_key": KEY}),))
    exported = CliRunner().invoke(main, ["export", "run.sqlite", "--out", "exported"])
    assert exported.exit_code == 0
    for name in glob.glob("run.sqlite*"):
        os.remove(name)
    Services.of(lived(Town())).recorder.close()


def demo(server, *more):
    """What the demo prints."""
    with server as started:
        few = ["--steps", "3", "--agents", "4", "--record", "run.sqlite"]
        model = ["--llm", MODEL, "--api-base", started.base, *more]
        return CliRunner().invoke(main, ["demo", "--headless", *few, *model]).output


def the_demos_report(out):
    out.append(demo(told_back(f"You use {ENV_KEY}, do you?"), "--memory", "stlt"))


def the_demo_that_is_refused(out):
    out.append(demo(refusing(401, ENV_KEY)))


SCENARIOS = [
    arguments_of_each_kind, a_mesa_scenario, an_attribute_that_was_changed,
    a_state_of_the_models_own, a_provider_that_refuses_the_key,
    a_provider_that_is_out_of_order, a_provider_that_refuses_a_key_of_options,
    a_provider_that_refuses_reasoning, a_key_in_litellm_itself, a_key_in_a_reply,
    a_key_in_a_summary, a_scripted_reply, an_own_client_that_fails,
    an_own_client_that_answers, what_is_said_of_the_recording, changes_by_hand,
    a_resumed_and_a_forked_run, an_embedder_that_is_refused,
    a_database_that_is_not_there, a_password_behind_a_question_mark,
    a_file_of_somebody_else, the_demos_report, the_demo_that_is_refused,
]  # fmt: skip
#: those that end without a recorded run
NO_RUN = (a_database_that_is_not_there, a_password_behind_a_question_mark)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_a_planted_key_is_nowhere(scenario, tmp_path, monkeypatch, caplog, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", ENV_KEY)
    caplog.set_level(logging.DEBUG, "mesa_memory")
    said = []
    MADE.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            scenario(said)
        except MesaMemoryError as error:
            said += traceback.format_exception(error)
        for model in MADE:
            if Services.of(model).recorder:
                Services.of(model).recorder.close()
            said.append(str(Services.of(model).ledger.by("purpose", "model", "agent")))
    said += [str(each.message) for each in warned]
    if scenario not in NO_RUN:
        said += shown()
    assert said
    handler = logging.Formatter("%(message)s")
    said += [handler.format(record) for record in caplog.records]
    said += [str(record.args) for record in caplog.records]
    said += capfd.readouterr()
    for needle in NEEDLES:
        forms = (needle, json.dumps(needle)[1:-1], json.dumps(needle, ensure_ascii=False)[1:-1])  # fmt: skip
        for form in forms:
            assert not [text for text in said if form in text]
            for path in tmp_path.rglob("*"):
                raw = path.read_bytes() if path.is_file() else b""
                assert form.encode() not in raw, path


def shown():
    """What the command line, the exports and the page make of the run."""
    run = CliRunner().invoke
    commands = [
        ["inspect", "run.sqlite"],
        ["inspect", "run.sqlite", "--agent", "1"],
        ["cost", "run.sqlite"],
        ["export", "run.sqlite", "--out", "csv"],
    ]
    out = [run(main, command).output for command in commands]
    with open_run("run.sqlite") as opened:
        out.append(str(opened.parameters) + str(opened.runs(as_records=True)))
    feeds = open_feeds([("run.sqlite", None)])
    box, context = solara.render(Runs(feeds), handle_error=False)
    out += texts(box)
    context.close()
    for feed in feeds:
        feed.close()
    return out


def texts(widget):
    """Every text below a widget."""
    for child in getattr(widget, "children", ()):
        if isinstance(child, str):
            yield child
        elif isinstance(child, ipywidgets.Widget):
            yield from texts(child)


def test_ordinary_words_in_the_environment_are_no_secrets(tmp_path, monkeypatch):
    """A key that is "none-needed" must not make holes in what agents say."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("OPENAI_API_KEY", "none-needed"), ("DB_PASSWORD", "postgres")):
        monkeypatch.setenv(name, value)
    secret = "the mill is sold"  # in the town, not of the user
    told = f"none-needed, says postgres, {secret}"
    model = lived(Town(says=told, password=secret))
    Services.of(model).recorder.close()
    with open_run("run.sqlite") as run:
        state = run.state(agent=1, as_records=True)
        assert any(told in row["text"] for row in state)


def test_what_is_said_of_a_secret_argument_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match=r"api_key \(it is a secret.*api_key=…"):
        model = Town(api_key=KEY)
    Services.of(lived(model)).recorder.close()
    with open_run("run.sqlite") as run:
        assert run.parameters["api_key"] == "[secret]"
        assert run.parameters["rng"] == 1


def test_the_logs_of_the_provider_packages_have_no_keys(monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", ENV_KEY)
    import mesa_memory.llm.litellm_sender  # noqa: F401

    for name in ("LiteLLM", "httpx"):
        with caplog.at_level(logging.INFO, name):
            logging.getLogger(name).warning("GET https://x.example/?key=%s", ENV_KEY)
            try:
                raise ValueError(f"bad key {ENV_KEY}")
            except ValueError:
                logging.getLogger(name).exception("failed")
    assert ENV_KEY not in caplog.text
    assert "GET https://x.example/" in caplog.text
    assert "bad key [secret]" in caplog.text
