"""A recorded run from somebody else must not take the user's key anywhere.

A local server stands for the stranger's: it speaks OpenAI's protocol, and must never
hear of anybody who only reads, resumes, forks or repeats the stranger's file.
"""

import json
import shutil
import sqlite3

import mesa
import pytest
import solara
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    arrange_prompts,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.cli import main
from mesa_memory.errors import ParameterError
from mesa_memory.viz.explorer import Runs, open_feeds
from tests.support.openai_server import OpenAIServer
from tests.support.playing import ended, play
from tests.support.tables import names

KEY = "sk-victim-0123456789abcdefghij"


class Town(mesa.Model):
    """A user's model as many are: what it asks, and where, are arguments."""

    def __init__(self, n=2, llm="offline", api_base=None, options=None, embedder="static",
                 note="", plan=(), rng=None, replay=None):  # fmt: skip
        super().__init__(rng=rng)
        self.api_base = api_base
        options = dict(options or {})
        if isinstance(llm, dict):
            options |= {k: v for k, v in llm.items() if k != "model"}
            llm = llm["model"]
        if note.startswith("http"):
            options["api_base"] = note
        configure(self, llm=llm, options=options, embedder=embedder, attempts=1,
                  record=None if replay else "run.sqlite", replay=replay)  # fmt: skip
        for _ in range(n):
            model = register_policy("talk", lambda turn: "Hello!")
            if llm != "offline":
                model = llm
            agent = Person(self, CoTReasoning, model, api_base=api_base)
            agent.memory = EpisodicMemory(
                agent, llm_model=model, api_base=self.api_base
            )
            arrange_prompts(agent)

    def step(self):
        self.agents.shuffle_do("step")


class Person(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"The bridge is broken, day {self.model.steps}!", others)
        self.llm.generate("What now?")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A harmless run, as the stranger began with."""
    folder = tmp_path_factory.mktemp("harmless")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        play(Town(rng=1), 2)
    return folder / "run.sqlite"


@pytest.fixture
def file(recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with sqlite3.connect(recorded) as old, sqlite3.connect("run.sqlite") as new:
        old.backup(new)
    return tmp_path / "run.sqlite"


def parameters_of(file):
    with sqlite3.connect(file) as on:
        return json.loads(on.execute("SELECT parameters FROM runs").fetchone()[0])


def poison(file, **parameters):
    """Writes other parameters into a file, as a stranger would."""
    with sqlite3.connect(file) as on:
        (written,) = on.execute("SELECT parameters FROM runs").fetchone()
        new = json.dumps(json.loads(written) | parameters)
        on.execute("UPDATE runs SET parameters = ?", (new,))


def lived(town):
    try:
        town.step()
    finally:
        ended(town)


def hostile(base):
    """Ways to say an address in parameters: what, and which argument holds it."""
    host = base.removeprefix("http://")
    asked = {"llm": "openai/gpt-4o-mini"}
    return {
        "api_base": asked | {"api_base": base},
        "no scheme": asked | {"api_base": host},
        "upper case": asked | {"api_base": base.replace("http", "HTTP")},
        "nested": asked | {"options": {"api_base": base}},
        "deeply nested": asked | {"options": {"extra_body": [{"x": {"y": [base]}}]}},
        "in a key": asked | {"options": {base: 1}},
        "as a path": asked | {"options": {"$dict": [["$path", base]]}},
        "as a tuple": asked | {"options": {"x": {"$tuple": [base]}}},
        "in the model": {"llm": {"model": "openai/gpt-4o-mini", "base_url": base}},
        "in the name": {"llm": f"openai/{base}"},
        "in a note": asked | {"note": base},
        "embedder": {"embedder": f"litellm:openai/{base}"},
        "host and port": asked | {"note": host.partition("/")[0]},
        "a region": asked | {"options": {"vertex_location": "evil.example/"}},
        "a variable": asked | {"options": {"api_key": "os.environ/OPENAI_API_KEY"}},
        "DSN": asked | {"note": "host=evil.example user=me"},
        "DSN as address": asked | {"note": "postgresql://me@evil.example/db"},
        "a share": asked | {"note": "\\\\evil.example\\share"},
    }


def test_no_address_of_a_file_that_is_not_trusted_is_asked(file, server):
    recorded = parameters_of(file)
    for way, parameters in hostile(server.base).items():
        poison(file, **recorded | parameters)
        culprit = next(name for name in reversed(parameters))
        for go_on in (resume, fork):
            with pytest.raises(ParameterError, match=f"{culprit}: the file") as told:
                lived(go_on(Town, file))
            assert culprit in told.value.names, way
            assert f"{culprit}=…" in str(told.value)
            assert "trust=True" in str(told.value)
    with open_run(file) as run:
        assert run.steps == [1, 2], "nothing was cut"
        assert len(run.runs()) == 1, "no fork was begun"
    assert not server.log
    assert server.max_connections == 0


def test_an_address_of_a_file_that_is_trusted_is_asked(file, server):
    poison(file, llm="openai/gpt-4o-mini", api_base=server.base)
    lived(fork(Town, file, trust=True))
    asked = len(server.log)
    assert asked
    lived(resume(Town, file, run=1, trust=True))
    assert len(server.log) > asked


PLAIN = ["offline", "The bridge is broken.", "Zoë and 李雷, (both) don't know!", "", "gpt-4o",
         "first line\nsecond line?", "a_name-of 7 words; no more"]  # fmt: skip
NOT_PLAIN = ["data/map.csv", "C:map", "evil.example", "50%", "me@home", "$HOME", "a=b",
             "evil。example", "openai/gpt-4o", "1.2.3.4", "[::1]", "#3"]  # fmt: skip


def test_numbers_and_plain_words_are_taken_from_any_file(file):
    for text in PLAIN:
        poison(file, note=text, options={"temperature": 0.5, "stop": [text]})
        ended(fork(Town, file))
    for text in NOT_PLAIN:
        for parameters in ({"note": text}, {"note": "", "options": {"a": [text]}}):
            poison(file, **{"note": "", "options": None} | parameters)
            with pytest.raises(ParameterError, match="which may name an address"):
                fork(Town, file)


def test_trust_is_true_or_false_and_a_model_may_have_an_argument_of_that_name(file):
    for go_on in (resume, fork):
        with pytest.raises(TypeError, match=r"trust must be True or False, got 0.7"):
            go_on(Town, file, trust=0.7)

    class Trusting(Town):
        def __init__(self, trust=0.5, **more):
            super().__init__(**more)
            self.trust = trust

    model = resume(lambda: Trusting(trust=0.7, rng=1), file)
    assert model.trust == 0.7
    ended(model)


def test_an_address_that_the_class_has_itself_is_not_asked_for(file):
    class Local(Town):
        def __init__(self, api_base="http://localhost:11434", **more):
            super().__init__(api_base=api_base, **more)

    poison(file, api_base="http://localhost:11434")
    lived(resume(Local, file))
    poison(file, api_base="http://localhost:11435")
    with pytest.raises(ParameterError, match="api_base"):
        resume(Local, file)


JUNK = {
    "numbers": {"n": {"$number": "many"}},
    "digits": {"n": {"$number": "9" * 5000}},
    "a generator": {"rng": {"$generator": {"bit_generator": "os"}}},
    "a state": {"rng": {"$generator": {"bit_generator": "PCG64", "state": [1]}}},
    "a state of nothing": {"rng": {"$generator": 7}},
    "a tuple": {"n": {"$tuple": 7}},
    "a path": {"note": {"$path": {}}},
    "a number": {"note": {"$path": 7}},
}


def test_junk_in_the_parameters_is_told_by_name(file):
    recorded = parameters_of(file)
    for kind, parameters in JUNK.items():
        poison(file, **recorded | parameters)
        (name,) = parameters
        with pytest.raises(ParameterError, match=f"{name}: it cannot be made") as told:
            resume(Town, file)
        assert told.value.names == (name,), kind


def test_only_parameters_of_a_trusted_file_name_an_address(file, server, monkeypatch):
    """The provider's address is where the user's own settings say."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.base)
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    poison(file, llm="openai/gpt-4o-mini")
    with OpenAIServer() as strangers:
        with sqlite3.connect(file) as on:
            on.execute("UPDATE calls SET model = ?", (f"openai/{strangers.base}",))
            on.execute("UPDATE runs SET model = ?", (f"{strangers.base}.Town",))
        lived(resume(Town, file, trust=True))
        assert server.log
        assert strangers.max_connections == 0


#: fields of text that hold a file together
KEPT = (
    "id", "agent", "key", "state", "unique_id", "layers", "sources", "subject", "seed",
    "parameters", "versions", "superseded_by", "candidates", "scoring", "content",
    "prompt", "raw", "detail", "prompt_hash", "hash", "language", "application",
    "decision", "holder", "kind", "layer", "origin", "vector",
)  # fmt: skip


def everywhere(file, text):
    """Puts a text into every field of text that does not hold the file together."""
    with sqlite3.connect(file) as on:
        for table in names(on):
            columns = on.execute(f"PRAGMA table_info({table})").fetchall()
            for _, name, kind, *_ in columns:
                if kind == "TEXT" and name not in KEPT:
                    change = f'UPDATE "{table}" SET "{name}" = ?'
                    on.execute(f'{change} WHERE "{name}" IS NOT NULL', (text,))


def test_reading_a_file_asks_none_of_its_addresses(file, server, tmp_path):
    everywhere(file, f"litellm:openai/x@{server.base}")
    asking = {"llm": "openai/gpt-4o-mini", "embedder": f"litellm:openai/{server.base}"}
    poison(file, api_base=server.base, **asking)
    other = shutil.copy(file, tmp_path / "other.sqlite")
    for command in (
        ["inspect", str(file)],
        ["inspect", str(file), "--agent", "1"],
        ["cost", str(file)],
        ["diff", str(file), str(other)],
        ["export", str(file), "--out", str(tmp_path / "out")],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exception is None or isinstance(result.exception, SystemExit)
    with open_run(file) as run:
        assert run.state(agent=1, as_records=True)
        run.calls(as_records=True)
        run.cost(as_records=True)
        assert run.parameters["embedder"].endswith(server.base)
    feeds = open_feeds([(str(file), None)])
    _, context = solara.render(Runs(feeds), handle_error=False)
    context.close()
    for feed in feeds:
        feed.close()
    assert server.max_connections == 0


def test_a_replayed_file_sends_nothing_to_its_addresses(file, server):
    with sqlite3.connect(file) as on:
        (raw,) = on.execute("SELECT raw FROM calls WHERE raw IS NOT NULL").fetchone()
        evil = {"api_base": server.base}
        bad = json.loads(raw) | evil | {"_hidden_params": evil}
        on.execute("UPDATE calls SET raw = ? WHERE raw IS NOT NULL", (json.dumps(bad),))
        on.execute("UPDATE calls SET model = ?", (f"openai/{server.base}",))
    poison(file, **evil)
    Town(rng=1, replay=str(file)).step()
    assert server.max_connections == 0
