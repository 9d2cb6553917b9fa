"""Pictures of every view of the dashboard, for the documentation.

    python -m benchmarks.screenshots [FOLDER]

Records towns of the example and a small town with every kind of memory, opens them in
the dashboard and writes one PNG for each view into the folder, by default docs/_static.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mesa_memory import Services
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.browser import browser, served
from tests.support.recorded_town import RecordedTown

ROOT = Path(__file__).resolve().parents[1]
#: memories of the towns recorded first; a town with every kind of memory is the last
MEMORIES = ("stlt", "episodic", "impression")
#: view -> the rest of its address: run, agent and step are the ones worth a look
VIEWS = {
    "population": "run=0&agent=12&step=16",
    "agent": "run=0&agent=12&step=16",
    "recall": "run=1&agent=12&step=18",
    "evidence": "run=3&agent=5&step=20",
    "impressions": "run=2&agent=3&step=25",
    "spread": "run=0&agent=12&step=12&text=the+town+well+is+poisoned",
    "cost": "run=3&agent=5&step=20",
    "compare": "run=0&agent=12&other_agent=7&step=16",
}


def record(file: str) -> None:
    """Four runs in one file."""
    towns: list[Any] = [
        RumorModel(n_agents=24, memory=memory, rng=3, record=file)
        for memory in MEMORIES
    ]
    for town in [*towns, RecordedTown(file, n=18)]:
        for _ in range(25):
            town.step()
        Services.of(town).recorder.close()


def shoot(base: str, folder: Path) -> None:
    """One picture of each view."""
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        for view, rest in VIEWS.items():
            page.goto(f"{base}/?view={view}&{rest}")
            page.wait_for_selector(".mm-section", timeout=60_000)
            page.wait_for_timeout(2500)  # charts are drawn after the page
            path = folder / f"dashboard_{view}.png"
            page.screenshot(path=path)
            print(path)


def main() -> None:
    """Writes the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "_static"
    with TemporaryDirectory() as place:
        file = str(Path(place) / "runs.sqlite")
        record(file)
        runs = [f"{file}#{number}" for number in range(1, len(MEMORIES) + 2)]
        command = ("-m", "mesa_memory.cli", "dashboard", *runs)
        with served(*command, "--no-open", "--port", "8799") as base:
            shoot(base.rstrip("/"), folder)


if __name__ == "__main__":
    main()
