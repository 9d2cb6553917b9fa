"""How fast the dashboard of a big recorded run is, and what a running one notices of it.

    python -m benchmarks.dashboard [--agents 200] [--steps 500] [--file PATH]
        [--turns 3] [--json]

Needs the development packages and Chromium. Makes a SQLite file of that size unless
there is one at PATH, serves it, and measures in a browser: from the request of the page
until the first view has something to read, and from a click until another step or
another agent is shown. The memory is that of the server, afterwards. Then, in so many
turns, how much of its speed a running simulation keeps (``benchmarks.watching``);
``--turns 0`` leaves that out.
"""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from benchmarks import watching
from benchmarks.big_run import arguments, big_file
from benchmarks.programs import chromium, dashboard
from benchmarks.tables import show, show_limits
from tests.support.browser import at

#: what must not be exceeded, by what is measured
LIMITS = {
    "first paint, ms": 3000,
    "step change, ms": 300,
    "agent change, ms": 300,
    "server memory, MB": 1000,
}
VIEW = "?view=agent&agent={}&step={}"


def memory(pid: int) -> float:
    """Megabytes that a process has had at most (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found.group(1)) / 1000 if found else float("nan")


def measure(base: str, agents: int, steps: int, times: int) -> dict[str, list[float]]:
    """Milliseconds of each, so many times."""
    found: dict[str, list[float]] = {name: [] for name in list(LIMITS)[:3]}
    with chromium() as started:
        for turn in range(3):
            page = started.new_page()
            begin = time.perf_counter()
            page.goto(at(base, VIEW.format(turn + 1, steps)))
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


def main() -> None:
    """Makes the file, serves it, looks at it, and shows how long that took."""
    parser = arguments(__doc__, agents=200, steps=500)
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    with big_file(given) as path, dashboard(path) as (server, base):
        found = measure(base, given.agents, given.steps, given.times)
        found["server memory, MB"] = [memory(server.pid)]
    load = os.getloadavg()[0]
    rows = watching.watch(given.turns, list(watching.CASES)) if given.turns else []
    if given.json:
        print(json.dumps({"limits": LIMITS, "measured": found, "watched": rows}))
        return
    size = f"{given.agents} agents x {given.steps} steps"
    show_limits(f"Dashboard, {size}", found, LIMITS)
    if rows:
        show(watching.title(load), rows)


if __name__ == "__main__":
    main()
