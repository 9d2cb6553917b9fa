"""How fast the Story view of a big recorded run is.

    python -m benchmarks.story [--agents 200] [--steps 500] [--file PATH] [--no-demo]
        [--json]

Needs the development packages and Chromium. Makes a SQLite file of that size unless
there is one at PATH, serves it, and measures in a browser: from the request of the page
until agents and arrows are drawn; from an arrow key until the picture, and the person
beside it, are of the next step; and how many steps a second are drawn while it plays at
ten. Then the first command of the README: from the request of its page until the curves
of the rumour are drawn, and until Play has shown who tells whom.

What it takes of the processor, in the server and in the page, and what is sent for a
step, say how it would be on a machine that is not busy; so does a page of Solara with
one line of text, measured in the same run.
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
from benchmarks.programs import PATIENCE, chromium, program, said, seconds
from tests.support.browser import at

FIRST, STEP_MS, PLAYED = "first paint, ms", "step, ms", "steps a second at 10"
#: of the command in the README
CURVES, ARROWS = "demo: until the curves are drawn, ms", "demo: Play to arrows, ms"
#: what must not be exceeded; played must be reached
LIMITS = {FIRST: 2000, STEP_MS: 150, PLAYED: 9.5, CURVES: 10_000}
#: processor milliseconds, which other programs delay less than the clock's
FIRST_SERVER = "server's processor, ms until the first paint"
EMPTY, EMPTY_SERVER = "a line of text, ms", "a line of text, server's processor, ms"
SERVER, BROWSER = "server's processor, ms a step", "page's processor, ms a step"
SENT, MESSAGES = "sent to the page, kB a step", "messages to the page a step"
#: a page with nothing but a line of text
LINE = """
import solara
from mesa_memory.viz.serving.server import listen, serve
serve(lambda: solara.Text("Nothing else"), listen(port=0), open_page=False)
"""
#: true once something is drawn in a chart
DRAWN = """() => [...document.querySelectorAll("[aria-label^='Curves of'] canvas")].some(
  canvas => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
    .data.some(value => value))"""
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
    """What is measured of the recorded run, so many times."""
    found: dict[str, list[float]] = {FIRST: [], FIRST_SERVER: []}
    with chromium() as started:
        for turn in range(3):
            page = opened(started)
            sent = sent_to(page)
            address = at(base, f"?agent={turn + 1}&step={steps - turn}")
            took, used = first_paint(page, address, ARROW, pid)
            found[FIRST].append(took)
            found[FIRST_SERVER].append(used)
            if turn < 2:
                page.close()
        page.wait_for_timeout(1000)
        found |= walk(page, pid, sent, steps - 2, times)
        page.goto(at(base, "?agent=3&step=20"))
        page.wait_for_selector(ARROW)
        found |= play(page)
    return found


def opened(started: Any) -> Any:
    """A new page, with time enough on a machine that is busy."""
    page = started.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(1000 * PATIENCE)
    return page


def first_paint(page: Any, address: str, see: str, pid: int) -> tuple[float, float]:
    """Milliseconds until something is there, by the clock and of the server."""
    used, begin = seconds(pid), time.perf_counter()
    page.goto(address)
    page.wait_for_selector(see)
    took = time.perf_counter() - begin
    return 1000 * took, 1000 * (seconds(pid) - used)


def sent_to(page: Any) -> list[int]:
    """The sizes of the messages that a page is sent from now on."""
    sizes: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda said: sizes.append(len(said))),
    )
    return sizes


def walk(
    page: Any, pid: int, sent: list[int], begin: int, times: int
) -> dict[str, list[float]]:
    """So many steps back, one by one."""
    found: dict[str, list[float]] = {STEP_MS: []}
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    sent.clear()
    before = seconds(pid), busy(session)
    for turn in range(1, times + 1):
        page.evaluate(STEP, begin - turn)
        page.keyboard.press("ArrowLeft")
        found[STEP_MS].append(page.evaluate("window.mmTook"))
    page.wait_for_timeout(1000)
    found[SERVER] = [1000 * (seconds(pid) - before[0]) / times]
    found[BROWSER] = [1000 * (busy(session) - before[1]) / times]
    found[SENT] = [sum(sent) / 1000 / times]
    found[MESSAGES] = [len(sent) / times]
    return found


def line_of_text() -> dict[str, list[float]]:
    """The same of a page with one line of text: what Solara itself takes."""
    found: dict[str, list[float]] = {EMPTY: [], EMPTY_SERVER: []}
    with program("-c", LINE) as one, chromium() as started:
        base = said(one, r"(http://\S+)")
        for _ in range(3):
            page = opened(started)
            took, used = first_paint(page, base, "text=Nothing else", one.pid)
            found[EMPTY].append(took)
            found[EMPTY_SERVER].append(used)
            page.close()
    return found


def demo() -> dict[str, list[float]]:
    """The README's first command: how soon its page shows what spreads, without a click."""
    options = ("--port", "0", "--no-open")
    with program("-m", "mesa_memory.cli", "demo", *options) as one:
        base = said(one, r"(http://\S+)")
        with chromium() as started:
            page = opened(started)
            begin = time.perf_counter()
            page.goto(base)
            page.wait_for_function(DRAWN)
            curves = 1000 * (time.perf_counter() - begin)
            begin = time.perf_counter()
            page.get_by_role("button", name="Play the story").click()
            page.wait_for_selector(f"{ARROW} title", state="attached")
            page.wait_for_selector(".mm-stage-words")
            return {CURVES: [curves], ARROWS: [1000 * (time.perf_counter() - begin)]}


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
        PLAYED: [told["steps"]],
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
    parser.add_argument("--no-demo", action="store_true", help="leave that out")
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
    found |= line_of_text()
    if not given.no_demo:
        found |= demo()
    if given.json:
        print(json.dumps({"limits": LIMITS, "measured": found}))
        return
    size = f"{given.agents} agents x {given.steps} steps"
    Console().print(report(found, f"Story, {size}"))


if __name__ == "__main__":
    main()
