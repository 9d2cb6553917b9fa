"""How fast the dashboard of a big recorded run is, in Chromium.

    python -m benchmarks.dashboard [--agents 200] [--steps 500] [--file PATH] [--json]

Needs the development packages and Chromium. Makes a SQLite file of that size unless
there is one at PATH, serves it, and measures in a browser: from the request of the page
until the first view has something to read, and from a click until another step or
another agent is shown. The memory is that of the server, afterwards.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.big_run import BigRun

#: what must not be exceeded, by what is measured
LIMITS = {
    "first paint, ms": 3000,
    "step change, ms": 300,
    "agent change, ms": 300,
    "server memory, MB": 1000,
}
CHROMIUM = "/usr/bin/chromium"
VIEW = "?view=agent&agent={}&step={}"


def server(path: Path) -> tuple[subprocess.Popen, str]:
    """The dashboard of a file in a process of its own, and its address."""
    command = ["-m", "mesa_memory.cli", "dashboard", str(path), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, *command, "--no-open"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://\S+", line)
        if found:
            return process, found.group()
    raise RuntimeError("the server did not start")


def memory(pid: int) -> float:
    """Megabytes that a process has had at most (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found.group(1)) / 1000 if found else float("nan")


def measure(base: str, agents: int, steps: int, times: int) -> dict[str, list[float]]:
    """Milliseconds of each, so many times."""
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {name: [] for name in list(LIMITS)[:3]}
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", CHROMIUM),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for turn in range(3):
            page = started.new_page()
            begin = time.perf_counter()
            page.goto(f"{base}/{VIEW.format(turn + 1, steps)}")
            page.wait_for_selector(f"text=Agent {turn + 1}, step {steps}")
            found["first paint, ms"].append(1000 * (time.perf_counter() - begin))
            if turn < 2:
                page.close()
        for turn in range(1, times + 1):
            forward = lambda: page.get_by_label("Step back").click()  # noqa: E731
            shown = f"Agent 3, step {steps - turn}"
            found["step change, ms"].append(until(page, forward, shown))
        for turn in range(1, times + 1):
            agent = agents * turn // (times + 1)
            shown = f"Agent {agent}, step {steps - times}"
            choose = lambda: pick(page, agent)  # noqa: B023, E731 - at once
            found["agent change, ms"].append(until(page, choose, shown))
        started.close()
    return found


def pick(page: Any, agent: int) -> None:
    """Types an agent into the list; what counts begins with the key that chooses it."""
    field = page.get_by_label("Agent", exact=True).first
    field.click()
    field.fill(str(agent))
    page.locator(".menuable__content__active .v-list-item").filter(
        has_text=re.compile(rf"^\s*{agent}\s*$")
    ).first.click()


def until(page: Any, act: Any, shown: str) -> float:
    """Milliseconds from the click until the page shows a text; told by the page."""
    page.evaluate(
        """shown => {
            const here = () => document.body.innerText.includes(shown);
            window.mmTook = new Promise(done => {
                let from = null;
                document.addEventListener("click", () => {
                    from = performance.now();
                }, { capture: true });
                const look = () => here()
                    ? done(performance.now() - from) : requestAnimationFrame(look);
                look();
            });
        }""",
        shown,
    )
    act()
    return page.evaluate("window.mmTook")


def report(found: dict[str, list[float]], title: str) -> Table:
    """The figures as a table."""
    table = Table("measured", "median", "worst", "limit", title=title)
    for name, values in found.items():
        middle, worst = statistics.median(values), max(values)
        table.add_row(name, f"{middle:,.0f}", f"{worst:,.0f}", f"{LIMITS[name]:,}")
    return table


def main() -> None:
    """Makes the file, serves it, looks at it, and shows how long that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--file", type=Path, help="kept, and used if it is there")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "big.sqlite"
        if not path.exists():
            BigRun(given.agents, given.steps).write(path)
        process, base = server(path)
        try:
            found = measure(base, given.agents, given.steps, given.times)
            found["server memory, MB"] = [memory(process.pid)]
        finally:
            process.terminate()
            process.wait(10)
    if given.json:
        print(json.dumps({"limits": LIMITS, "measured": found}))
    else:
        size = f"{given.agents} agents x {given.steps} steps"
        Console().print(report(found, f"Dashboard, {size}"))


if __name__ == "__main__":
    main()
