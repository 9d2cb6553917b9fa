"""A recorded run in a notebook shows itself; a widget goes through its steps."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress

import nbformat
import pytest
from markupsafe import escape

from mesa_memory import open_run
from mesa_memory.stores import open_store
from mesa_memory.viz.notebook import RunWidget, memory_at, recalls_at
from tests.support.browser import ROOT, browser
from tests.support.playing import play
from tests.support.recorded import Story
from tests.support.recorded_town import RecordedTown
from tests.support.waiting import HUNG

ATTACK = "<img src=x onerror=alert(1)><script>alert(2)</script>{{1+1}}"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    file = str(tmp_path_factory.mktemp("notebook") / "town.sqlite")
    play(RecordedTown(file, n=7), 5)
    return file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A run whose every text, kind and name is an attack."""
    file = str(tmp_path_factory.mktemp("notebook") / "hostile.sqlite")
    store = open_store(file)

    def edit(step, batch):
        for row in batch.opened:
            row["text"] = row["kind"] = row["layer"] = f"{ATTACK}{step}"
            row["content"] = {"text": ATTACK}
        for row in batch.recalls:
            row["query"] = row["purpose"] = ATTACK
        for row in batch.agents:
            row["memory"] = row["name"] = row["class"] = ATTACK

    Story(store, edit=edit, name=ATTACK, model=ATTACK, parameters={ATTACK: ATTACK})
    store.close()
    return file


def test_a_run_says_what_it_is_and_who_is_in_it(town):
    with open_run(town) as run:
        shown = run._repr_html_()
    for part in ("RecordedTown", "finished", "5, to 5", "STLTMemory", "EpisodicMemory"):
        assert part in shown


def test_a_memory_at_a_step_is_that_of_the_record(town):
    with open_run(town) as run:
        for step in (1, 3, 5):
            shown = memory_at(run, 2, step)
            held = run.state(2, step, as_records=True)
            assert all(escape(row["text"] or "") in shown.data for row in held)
            assert f"step {step}" in shown.data
        assert memory_at(run, "2").data == shown.data
        with pytest.raises(ValueError, match="finished are 1, 2"):
            memory_at(run, 2, 99)
        with pytest.raises(ValueError, match="no agent 'x'"):
            recalls_at(run, "x")


def test_a_recall_shows_the_parts_of_its_scores(town):
    with open_run(town) as run:
        rows = run.recalls(5, 4, as_records=True)
        shown = recalls_at(run, 5, 4)
    assert rows and shown.data.count("<tr>\n") == len(rows)
    assert "relevance" in shown.data and "background: #0072B2" in shown.data


def test_the_widget_follows_its_agent_and_its_slider(town):
    with open_run(town) as run:
        widget = RunWidget(run, agent=2, step=2)
        agents, steps, recalls, memory = widget.children
        assert (widget.agent, widget.step) == (2, 2)
        assert "end of step 2" in memory.value
        steps.value = 5.0
        assert memory.value == memory_at(run, 2, 5).data
        agents.value = 5
        assert memory.value == memory_at(run, 5, 5).data
        assert recalls.value == recalls_at(run, 5, 5).data
        with pytest.raises(ValueError, match="finished are 1, 2"):
            RunWidget(run, step=99)


def test_hostile_texts_are_text_in_a_notebook(hostile):
    with open_run(hostile) as run:
        widget = RunWidget(run, agent="b")
        found = [run._repr_html_(), memory_at(run, "b").data, recalls_at(run, "b").data]
        found += [part.value for part in widget.children[2:]]
    assert len(found) == 5
    for shown in found:
        assert "<img" not in shown and "<script" not in shown
        assert "&lt;img src=x" in shown


# -- in a browser ---------------------------------------------------------------------


@contextmanager
def jupyter(folder):
    """JupyterLab in a process of its own; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (
        "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1",
        "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=", "--LabApp.extension_manager=readonly",
        "--ServerApp.port_retries=0",
    )  # fmt: skip
    own = {"PYTHONPATH": str(ROOT), "HOME": str(folder), "JUPYTER_NO_CONFIG": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        cwd=folder,
        env=os.environ | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + HUNG
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            with suppress(OSError):
                opener.open(f"{base}/api", timeout=5).close()
                break
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.2)
        yield base
    finally:
        process.terminate()
        process.wait(timeout=HUNG)


def notebook(path, file):
    """A notebook with a run, a recall and a widget."""
    first = f"""from mesa_memory import open_run
from mesa_memory.viz.notebook import RunWidget, recalls_at
from tests.support.playing import play
run = open_run({file!r})
run"""
    cells = (first, "recalls_at(run, 'b')", "RunWidget(run, agent='b')")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text) for text in cells],
        metadata={"kernelspec": kernel},
    )
    nbformat.write(book, path)


@pytest.mark.slow
def test_a_run_a_recall_and_the_widget_live_in_jupyterlab(tmp_path, hostile):
    notebook(tmp_path / "run.ipynb", hostile)
    dialogs = []
    with jupyter(tmp_path) as base, browser() as chromium:
        page = chromium.new_page(viewport={"width": 1300, "height": 4000})
        page.set_default_timeout(1000 * HUNG)
        page.on("dialog", lambda dialog: (dialogs.append(1), dialog.dismiss()))
        page.goto(f"{base}/lab/tree/run.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        # What is run before the kernel is there is not run at all.
        page.wait_for_function("document.body.innerText.includes('| Idle')")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        page.wait_for_selector(".jp-OutputArea-output .widget-hslider")
        output = page.locator(".jp-Notebook")
        page.wait_for_function(
            "document.querySelector('.jp-Notebook').innerText.includes('end of step 6')"
        )
        assert "Run 1" in output.inner_text()
        assert "Recalls of" in output.inner_text()
        assert "<img src=x onerror=alert(1)>" in output.inner_text()
        page.locator(".noUi-handle").first.focus()
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "document.querySelector('.jp-Notebook').innerText.includes('end of step 5')"
        )
        assert page.locator(".jp-OutputArea-output img[src='x']").count() == 0
    assert not dialogs
