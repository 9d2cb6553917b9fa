"""``mesa-memory doctor`` on machines that are broken in one way each."""

import json
import socket
import sqlite3
import sys
from importlib.metadata import PackageNotFoundError

import pytest
from click.testing import CliRunner

from mesa_memory.cli import main
from tests.support.openai_server import Behaviour, OpenAIServer, always

SECRET = "sk-this-is-secret-0123456789"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def looked(folder, *arguments):
    """Exit code, and the findings by what was looked at."""
    store = () if "--store" in arguments else ("--store", folder / "run.sqlite")
    given = ["doctor", "--json", "--port", "0", *store, *arguments]
    result = CliRunner().invoke(main, list(map(str, given)))
    assert SECRET not in result.output
    assert list(folder.glob(".doctor*")) == []
    findings = json.loads(result.stdout)["findings"]
    return result.exit_code, {each["what"]: each for each in findings}


def installed(folder, monkeypatch, name, version, *lines):
    """Puts another version of a package first, as an environment may have it."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    head = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *lines]
    (info / "METADATA").write_text("\n".join(head))
    monkeypatch.syspath_prepend(str(folder))


def mesa_too_new(folder, monkeypatch):
    installed(folder, monkeypatch, "mesa", "4.0.0")


def package_missing(folder, monkeypatch):
    needs = "Requires-Dist: no-such-package>=2"
    installed(folder, monkeypatch, "mesa-memory", "0.1.0", needs)


def python_too_old(folder, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 4))


def no_front_end(folder, monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    # The package has the command under the module's name.
    module = sys.modules["mesa_memory.cli.doctor"]
    monkeypatch.setattr(module, "version", version)


def foreign_store(folder, monkeypatch):
    with sqlite3.connect(folder / "run.sqlite") as other:
        other.execute("CREATE TABLE diary (words TEXT)")


def damaged_store(folder, monkeypatch):
    (folder / "run.sqlite").write_bytes(b"SQLite format 3\0" + b"\1" * 2000)


def no_key(folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    return "--llm", "openai/gpt-4o-mini"


def no_such_provider(folder, monkeypatch):
    return "--llm", "gtp-4"


def folder_missing(folder, monkeypatch):
    return "--store", folder / "none" / "run.sqlite"


def folder_is_a_file(folder, monkeypatch):
    (folder / "file").write_text("")
    return "--store", folder / "file" / "run.sqlite"


@pytest.mark.parametrize(
    "broken, what, state, cure",
    [
        (mesa_too_new, "mesa", "wrong", 'pip install "mesa<4,>=3.5.1"'),
        (package_missing, "no-such-package", "wrong", "pip install"),
        (python_too_old, "Python", "wrong", "3.12"),
        (no_front_end, "front end", "note", "[dashboard]"),
        (foreign_store, "store", "wrong", ""),
        (damaged_store, "store", "wrong", ""),
        (no_key, "key", "wrong", "OPENAI_API_KEY"),
        (no_such_provider, "model", "wrong", "provider/model"),
        (folder_missing, "folder", "wrong", "--store"),
        (folder_is_a_file, "folder", "wrong", "--store"),
    ],
)
def test_the_doctor_names_what_is_wrong_and_its_cure(
    broken, what, state, cure, tmp_path, monkeypatch
):
    arguments = broken(tmp_path, monkeypatch) or ()
    code, found = looked(tmp_path, "--offline", *arguments)
    assert found[what]["state"] == state
    assert cure in found[what]["cure"]
    others = {each["state"] for name, each in found.items() if name != what}
    assert broken is no_front_end or "wrong" not in others
    assert code == (state == "wrong") or broken is no_front_end


def test_a_port_in_use_is_wrong(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        _, found = looked(tmp_path, "--port", port)
    assert found["port"]["state"] == "wrong" and "--port" in found["port"]["cure"]


def refusing(*names):
    """Refuses requests that have any of these settings."""

    def behave(received):
        if any(name in received.body for name in names):
            return Behaviour.status(400, f"{names[0]} is not supported")
        return None

    return behave


@pytest.mark.parametrize(
    "answer, behave, states",
    [
        ('{"days": 7}', None, {"request": "ok", "form": "ok", "seed": "ok"}),
        ("Seven, I think.", None, {"request": "ok", "form": "wrong"}),
        ('{"days": 7}', refusing("seed"), {"seed": "note", "form": "ok"}),
        ('{"days": 7}', refusing("response_format", "tools"), {"form": "note"}),
        ("", always(Behaviour.status(401)), {"request": "wrong"}),
        ("", always(Behaviour.status(503)), {"request": "wrong"}),
    ],
)
def test_one_request_tells_whether_a_model_can_serve_memories(
    answer, behave, states, tmp_path
):
    with OpenAIServer(lambda received: answer, behave=behave) as server:
        given = ("--llm", "openai/small", "--api-base", server.base)
        code, found = looked(tmp_path, *given)
        assert {name: found[name]["state"] for name in states} == states
        assert found["price"]["state"] == "note"  # of a name that nobody lists
        assert code == ("wrong" in states.values())
        server.clear()
        looked(tmp_path, "--offline", *given)
        assert server.requests == 0


def test_on_a_whole_machine_all_is_well(tmp_path):
    code, found = looked(tmp_path)
    assert code == 0 and {each["state"] for each in found.values()} == {"ok"}
    assert "mesa-llm" in found["packages"]["found"]
