"""How much of its speed a running simulation keeps while a browser shows its memories.

    python -m benchmarks.watching [--turns 3] [--only NAME] [--json]

Needs the development packages and Chromium. Three models (``benchmarks.watched``):
agents that only note what happens, the example with 30 people without a network, and
the same with a local server that answers each request after 20 ms. All are recorded.
They are timed from their eleventh step on, with and without a page in turns, in two
situations:

file: the model is a program of its own and records into a file. With: ``mesa-memory
    dashboard`` serves the file, and Chromium shows its first view, which follows the
    newest step. Without: neither runs. ``server`` is the share of one processor that
    the server takes.
page: the model steps in the server of Mesa's page, with Play pressed and the least
    pause that Mesa has, so that nothing of what is added hides in the pause. With: the
    dashboard, its first view. Without: a component that says the step in its place, so
    that Mesa's controls and messages are in both. ``processor`` is what is kept by the
    processor time of the whole process, which other programs on the machine disturb
    less than the clock. ``program`` compares with a program that has no page at all.

``shown/s`` is how many states of the run the browser showed in a second, and ``Step``
how long the new state took to appear after a click on Mesa's Step button, without the
time of the step itself. By the clock, the figures mean little on a busy machine; its
load at the beginning and at the end is reported with them.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.programs import Took, chromium, go, page_server, program, said, seconds
from benchmarks.tables import show
from benchmarks.watched import FIRST, PAUSE
from tests.support.openai_server import ServerProcess

#: what must be kept of the speed
LEAST = 0.9
LATENCY = 0.02
#: by name: the model, how many steps are timed, whether it asks the server
CASES = {
    "readers": ("readers", 1000, False),
    "rumor, offline": ("rumor", 150, False),
    "rumor, 20 ms a call": ("rumor", 12, True),
}
NEWEST = ".mm-step strong"
#: counts how often the page shows another step
COUNT = """selector => {
    window.mmShown = 0;
    let last = null;
    const look = () => {
        const found = document.querySelector(selector);
        const text = found && found.innerText;
        if (text !== last) { window.mmShown += 1; last = text; }
        requestAnimationFrame(look);
    };
    look();
}"""
#: milliseconds from the next click until a text is shown, as a promise
CLICKED = """([selector, text]) => {
    window.mmTook = new Promise(done => {
        let from = null;
        const clicked = () => { from = performance.now(); };
        document.addEventListener("click", clicked, { capture: true, once: true });
        const look = () => {
            const found = document.querySelector(selector);
            if (found && found.innerText === text) done(performance.now() - from);
            else requestAnimationFrame(look);
        };
        look();
    });
}"""


class Case:
    """One model, timed in every way.

    Args:
        name: one of ``CASES``.
        base: address of the server that answers requests.
        browser: Chromium.

    Attributes:
        shown, server: states shown per second, and the share of a processor that the
            server took, of each time it was watched.
    """

    def __init__(self, name: str, base: str, browser: Any) -> None:
        model, self.steps, asks = CASES[name]
        self.model = [model, str(self.steps), *(["--base", base] if asks else [])]
        self.query = {"case": model, "steps": self.steps, "pause": PAUSE}
        self.query |= {"base": base} if asks else {}
        self.browser = browser
        self.shown: list[float] = []
        self.server: list[float] = []

    def alone(self) -> Took:
        """The model with Mesa's pause, in a program without a page."""
        pause = ("--pause", str(PAUSE / 1000))
        with program("-m", "benchmarks.watched", *self.model, *pause) as model:
            return go(model)

    def file(self, watched: bool) -> Took:
        """The model that records into a file."""
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "run.sqlite")
            command = ("-m", "benchmarks.watched", *self.model, "--file", path)
            with program(*command) as model:
                said(model, "(ready)")
                return self._watched(model, path) if watched else go(model)

    def _watched(self, model: Any, path: str) -> Took:
        options = ("--port", "0", "--no-open")
        with program("-m", "mesa_memory.cli", "dashboard", path, *options) as server:
            page = self._open(said(server, r"(http://\S+)"))
            before = seconds(server.pid)
            took = go(model)
            self.server.append((seconds(server.pid) - before) / took.clock)
            self._close(page, took)
            return took

    def page(self, dashboard: bool) -> Took:
        """The model in Mesa's page, with Play pressed."""
        with page_server() as (server, base):
            page = self._open(f"{base}/?{self._asked(dashboard)}", dashboard)
            page.get_by_role("button", name="▶", exact=True).click()
            took = Took.of(server)
            self._close(page, took, dashboard)
            return took

    def step(self, times: int = 9) -> float:
        """Milliseconds from a click on Step until its state is shown, a median."""
        with page_server() as (server, base):
            page = self._open(f"{base}/?{self._asked(True)}&tell=1")
            found = []
            for turn in range(times):
                page.wait_for_timeout(700)
                page.evaluate(CLICKED, [NEWEST, str(FIRST + turn)])
                page.get_by_role("button", name="Step", exact=True).click()
                found.append(page.evaluate("window.mmTook"))
            page.close()
            steps = FIRST - 1 + times
            own = [float(said(server, r"step (\S+)")) for _ in range(steps)]
        pairs = zip(found, own[-times:])
        return statistics.median(shown - 1000 * step for shown, step in pairs)

    def _asked(self, dashboard: bool) -> str:
        return urlencode(self.query | {"dashboard": int(dashboard)})

    def _open(self, address: str, dashboard: bool = True) -> Any:
        page = self.browser.new_page(viewport={"width": 1300, "height": 1000})
        page.set_default_timeout(60_000)
        page.goto(address)
        page.wait_for_selector(".mm-chart canvas" if dashboard else "text=step ")
        page.wait_for_timeout(2000)
        page.evaluate(COUNT, NEWEST)
        return page

    def _close(self, page: Any, took: Took, dashboard: bool = True) -> None:
        if dashboard:
            self.shown.append(page.evaluate("window.mmShown") / took.clock)
            # It shows the whole run in the end, and not only the beginning.
            last = f"{NEWEST}:text-is('{FIRST + self.steps}')"
            page.wait_for_selector(last, timeout=15_000)
        page.close()


def measure(name: str, turns: int, base: str, browser: Any) -> list[dict[str, Any]]:
    """Both situations of a model, as rows."""
    file, page = Case(name, base, browser), Case(name, base, browser)
    ways = {
        "file": lambda: file.file(False),
        "file, watched": lambda: file.file(True),
        "page": lambda: page.page(False),
        "page, watched": lambda: page.page(True),
        "alone": page.alone,
    }
    found: dict[str, list[Took]] = {way: [] for way in ways}
    for _ in range(turns):
        for way, act in ways.items():
            found[way].append(act())
    clock, spent = (
        {
            way: statistics.median(getattr(t, what) for t in all_)
            for way, all_ in found.items()
        }
        for what in ("clock", "processor")
    )
    rows = []
    for kind, case in (("file", file), ("page", page)):
        with_page = f"{kind}, watched"
        row: dict[str, Any] = {
            "model": name,
            "watched": kind,
            "step, ms": 1000 * clock[kind] / case.steps,
            "with, ms": 1000 * clock[with_page] / case.steps,
            "kept": clock[kind] / clock[with_page],
            "processor": "",
            "program": "",
            "server": "",
            "shown/s": statistics.median(case.shown),
            "Step, ms": "",
        }
        if kind == "file":
            row["server"] = statistics.median(case.server)
        else:
            row["processor"] = spent[kind] / spent[with_page]
            row["program"] = clock["alone"] / clock[with_page]
            row["Step, ms"] = case.step()
        rows.append(row)
    return rows


def watch(turns: int, names: list[str]) -> list[dict[str, Any]]:
    """The rows of some of ``CASES``."""
    with chromium() as browser, ServerProcess(LATENCY) as server:
        rows = []
        for name in names:
            rows += measure(name, turns, server.base, browser)
            # It takes minutes: whoever ends it early has something all the same.
            print(json.dumps(rows[-2:]), file=sys.stderr)
        return rows


def title(before: float) -> str:
    """Of the table: the limit, and how busy the machine was."""
    load = f"load {before:.1f} to {os.getloadavg()[0]:.1f}"
    return f"Watched simulations, kept must be at least {LEAST}; {load}"


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    rows = watch(given.turns, given.only or list(CASES))
    if given.json:
        print(json.dumps({"least": LEAST, "load": load, "rows": rows}))
    else:
        show(title(load), rows)


if __name__ == "__main__":
    main()
