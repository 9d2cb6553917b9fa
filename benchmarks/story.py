"""How fast the Story view of a big recorded run is.

    python -m benchmarks.story [--agents 200] [--steps 500] [--file PATH] [--json]

Needs the development packages and Chromium. Makes a SQLite file of that size unless
there is one at PATH, serves it, and measures in a browser: from the request of the page
until agents and arrows are drawn; from an arrow key until the picture, and the person
beside it, are of the next step; and how many steps a second are drawn while it plays at
ten. What a step takes of the processor, in the server and in the page, says how it would
be on a machine that is not busy.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.big_run import BigRun
from benchmarks.programs import chromium, program, said, seconds

#: what must not be exceeded; played must be reached
LIMITS = {"first paint, ms": 2000, "step, ms": 150, "steps a second at 10": 9.5}
#: processor milliseconds a step, which other programs delay less than the clock's
SERVER, BROWSER = "server's processor, ms a step", "page's processor, ms a step"
#: seconds of play that are watched
PLAYED_S = 8
ARROW = ".mm-stage-arrow"
#: milliseconds until picture and person are of a step, from the key that goes there
STEP = """step => {
  const text = selector => (document.querySelector(selector) || {}).innerText || "";
  const there = () => text(".mm-stage-step").startsWith(`Step ${step}:`)
    && document.querySelector(".mm-stage-arrow")
    && text(".mm-story .mm-section:nth-child(2) .mm-hint") === `in step ${step}`;
  window.mmTook = new Promise(done => {
    let from = null;
    document.addEventListener("keydown", () => { from = performance.now(); },
      { capture: true, once: true });
    const look = () => from !== null && there()
      ? done(performance.now() - from) : requestAnimationFrame(look);
    look();
  });
}"""
#: which steps the picture shows while it plays, and for how long one looks
PLAY = """seconds => new Promise(done => {
  const at = () => parseInt(document.querySelector(".mm-stage-step strong").innerText);
  const person = () => parseInt(document.querySelector(
    ".mm-story .mm-section:nth-child(2) .mm-hint").innerText.split(" ").pop());
  const begin = performance.now(), first = at(), seen = new Set(), lags = [];
  const look = () => {
    seen.add(at());
    lags.push(at() - person());
    const took = (performance.now() - begin) / 1000;
    if (took < seconds) requestAnimationFrame(look);
    else done({ steps: (at() - first) / took, drawn: seen.size / (at() - first + 1),
      lag: lags.sort((a, b) => a - b)[Math.floor(0.95 * lags.length)] });
  };
  look();
})"""


def measure(base: str, pid: int, steps: int, times: int) -> dict[str, list[float]]:
    """What is measured, so many times."""
    found: dict[str, list[float]] = {name: [] for name in LIMITS}
    with chromium() as started:
        for turn in range(3):
            page = started.new_page(viewport={"width": 1280, "height": 900})
            begin = time.perf_counter()
            page.goto(f"{base}/?agent={turn + 1}&step={steps - turn}")
            page.wait_for_selector(ARROW)
            found["first paint, ms"].append(1000 * (time.perf_counter() - begin))
            if turn < 2:
                page.close()
        page.wait_for_timeout(1000)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        before = seconds(pid), busy(session)
        for turn in range(1, times + 1):
            page.evaluate(STEP, steps - 2 - turn)
            page.keyboard.press("ArrowLeft")
            found["step, ms"].append(page.evaluate("window.mmTook"))
        page.wait_for_timeout(300)
        found[SERVER] = [1000 * (seconds(pid) - before[0]) / times]
        found[BROWSER] = [1000 * (busy(session) - before[1]) / times]
        page.goto(f"{base}/?agent=3&step=20")
        page.wait_for_selector(ARROW)
        found |= play(page)
    return found


def busy(session: Any) -> float:
    """Seconds of processor that a page's own thread has used, by DevTools."""
    told = {
        m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]
    }
    return told["ThreadTime"] if "ThreadTime" in told else told["TaskDuration"]


def play(page: Any) -> dict[str, list[float]]:
    """How it plays at ten steps a second."""
    page.get_by_label("Steps a second").select_option("10")
    page.get_by_role("button", name="Play the story").click()
    page.wait_for_timeout(1000)
    told = page.evaluate(PLAY, PLAYED_S)
    return {
        "steps a second at 10": [told["steps"]],
        "share of steps drawn": [told["drawn"]],
        "steps by which the person is behind (95%)": [told["lag"]],
    }


def report(found: dict[str, list[float]], title: str) -> Table:
    """The figures as a table."""
    table = Table("measured", "median", "worst", "limit", title=title)
    for name, values in found.items():
        middle, worst = statistics.median(values), max(values)
        table.add_row(
            name, f"{middle:,.4g}", f"{worst:,.4g}", str(LIMITS.get(name, ""))
        )
    return table


def main() -> None:
    """Makes the file, serves it, looks at it, and shows how long that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--file", type=Path, help="kept, and used if it is there")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "big.sqlite"
        if not path.exists():
            BigRun(given.agents, given.steps).write(path)
        options = ("--port", "0", "--no-open")
        with program("-m", "mesa_memory.cli", "dashboard", str(path), *options) as one:
            base = said(one, r"(http://\S+)")
            found = measure(base, one.pid, given.steps, given.times)
    if given.json:
        print(json.dumps({"limits": LIMITS, "measured": found}))
        return
    size = f"{given.agents} agents x {given.steps} steps"
    Console().print(report(found, f"Story, {size}"))


if __name__ == "__main__":
    main()
