"""How large a report is, and how long it takes to write and to open one.

    python -m benchmarks.report [--agents 200] [--steps 200] [--file PATH] [--json]

Needs the development packages and Chromium. Makes a recorded run of that size unless
there is one at PATH, and the demo; writes a report of each, opens it from the disk in a
browser without a network, and measures until the first arrow is drawn, and how long a
step takes.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.big_run import arguments, big_file
from benchmarks.tables import show
from mesa_memory import Services, open_run
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.report import write_report
from tests.support.browser import browser

#: what must not be exceeded, by what is measured
LIMITS = {"size, MB": 5.0, "open, ms": 3000, "step, ms": 150}
#: steps that are timed in the browser
TIMED_STEPS = 20
_STEP = """(count) => {
  const slider = document.getElementById("slider");
  const began = performance.now();
  for (let n = 0; n < count; n++) {
    slider.value = n;
    slider.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
  }
  return (performance.now() - began) / count;
}"""


def demo(file: Path) -> None:
    """The demo as it is, recorded."""
    town = RumorModel(memory="episodic", rng=42, record=str(file))
    for _ in range(25):
        town.step()
    Services.of(town).recorder.close()


def measured(name: str, file: Path, target: Path, chromium: Any) -> dict[str, Any]:
    """One report: its size, and how long it takes to write, open and step."""
    began = time.perf_counter()
    with open_run(file) as run:
        written = write_report(run, target)
        agents, steps = len(run.unique_ids), len(run.steps)
    seconds = time.perf_counter() - began
    page = chromium.new_context(offline=True).new_page()
    began = time.perf_counter()
    page.goto(target.as_uri())
    page.wait_for_selector("#town circle")
    opened = time.perf_counter() - began
    step = page.evaluate(_STEP, TIMED_STEPS)
    page.close()
    return {
        "run": f"{name}, {agents} x {steps}",
        "size, MB": round(written.size / 1e6, 2),
        "write, s": round(seconds, 1),
        "open, ms": round(1000 * opened),
        "step, ms": round(step, 1),
        "left out": " ".join(written.notes) or "nothing",
    }


def main() -> None:
    """Measures, prints, and ends with 1 if a limit is exceeded."""
    given = arguments(__doc__, agents=200, steps=200).parse_args()
    with (
        big_file(given) as big,
        tempfile.TemporaryDirectory() as place,
        browser() as chromium,
    ):
        folder = Path(place)
        small = folder / "demo.sqlite"
        demo(small)
        rows = [
            measured(name, file, folder / f"{name}.html", chromium)
            for name, file in (("demo", small), ("big run", big))
        ]
    if given.json:
        print(json.dumps(rows))
    else:
        show("Reports", rows)
    over = [
        f"{n} of {r['run']}" for r in rows for n, most in LIMITS.items() if r[n] > most
    ]
    if over:
        raise SystemExit(f"over the limit: {', '.join(over)}")


if __name__ == "__main__":
    main()
