"""Pictures of every view of the dashboard, for the documentation.

    python -m benchmarks.screenshots [FOLDER [NAME …]]
    python -m benchmarks.screenshots --study FOLDER [VIEW …]

Records towns of the example, a small town with every kind of memory, an inn whose
guests talk, and a village whose memories think in a language model's sentences; opens
them in the dashboard and writes one PNG for each view, or only those named, into the
folder, by default docs/_static.

With ``--study``, a study of three arms is opened, with two outcomes, a measure and six
seeds: the whole page of each view, and the two reports, on a telephone, a tablet and a
screen. Recalls, evidence, facts, chapters and impressions are those of other runs. Look at each for cut texts, covered labels, empty views and numbers that disagree.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.recorded_village import DAYS, RecordedVillage
from mesa_memory import close
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from mesa_memory.runs import open_run
from mesa_memory.viz.live.by_hand import Change, forked
from mesa_memory.viz.report import write_report
from mesa_memory.viz.views import GROUPS
from tests.support.browser import at, browser, served
from tests.support.recorded_talk import Inn
from tests.support.recorded_town import RecordedTown

ROOT = Path(__file__).resolve().parents[1]
#: memories of the towns recorded first; then come a town with every kind of memory, the
#: inn, a fork of it with a change, and the village with either memory
MEMORIES = ("stlt", "episodic")
MINDS, INN, FORK, INSIGHTS, OPINIONS = 3, 4, 5, 6, 7
#: picture -> number of the run, or of several, and the rest of the address: what is
#: worth a look
VIEWS: dict[str, tuple[int | tuple[int, ...], str]] = {
    "story": (2, "view=story&agent=12&step=14"),
    "population": (2, "view=population&agent=12&step=16"),
    "agent": (1, "view=agent&agent=12&step=16"),
    "recall": (2, "view=recall&agent=12&step=18"),
    "evidence": (INSIGHTS, "view=evidence&agent=4&step=8"),
    "conversations": (INN, "view=conversations&agent=1&thread=5"),
    "facts": (INN, "view=facts&agent=2"),
    "chapters": (INN, "view=chapters&agent=3"),
    "requests": (INSIGHTS, "view=requests&agent=4&step=7"),
    "hand": (FORK, "view=hand&agent=2"),
    "impressions": (OPINIONS, "view=impressions&agent=4&step=8"),
    "spread": (1, "view=spread&agent=12&step=12&text=the+town+well+is+poisoned"),
    "cost": (MINDS, "view=cost&agent=5&step=20"),
    "runs": (
        (1, 2),
        "view=compare&agent=12&step=16&together=model:believes_correction",
    ),
    "compare": (INSIGHTS, "view=compare&agent=2&other_agent=3&step=8"),
}


def record(file: str) -> None:
    """All runs in one file."""
    for memory in MEMORIES:
        finish(RumorModel(n_agents=24, memory=memory, rng=3, record=file))
    finish(RecordedTown(file, n=18))
    inn = Inn(record=file)
    for _ in range(9):
        inn.step()
    change = Change(2, "Carl lives at the lighthouse.", event="message")
    other = forked(inn, change, name="what if")
    for _ in range(4):
        other.step()
    close(inn)
    close(other)
    for memory in ("episodic", "impression"):
        finish(RecordedVillage(memory, file), DAYS)


def finish(model: Any, days: int = 25) -> None:
    """Plays the days of a model, and ends its record."""
    for _ in range(days):
        model.step()
    close(model)


def shoot(address: str, folder: Path, name: str) -> None:
    """A picture of one view."""
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.wait_for_selector(".mm-answer", timeout=60_000)
        page.wait_for_timeout(5000)  # charts and the person are drawn after the page
        path = folder / f"dashboard_{name}.png"
        page.screenshot(path=path)
        print(path)


#: the study's arms and seeds, and the sizes of a telephone, a tablet and a screen
ARMS, SEEDS, SIZES = (
    ("short_term", "stlt", "episodic"),
    range(6),
    ((390, 844), (1024, 768), (1440, 900)),
)
#: views that are empty in the first run of the study
CONTENTS = ("recall", "evidence", "conversations", "facts", "chapters", "impressions")


def corrected(model: RumorModel) -> float:
    """People who believe the correction."""
    return float(model.believing(CORRECTION))


def misled(model: RumorModel) -> float:
    """People who believe the rumour."""
    return float(model.believing(RUMOUR))


def shoot_study(folder: Path, *views: str) -> None:
    """Pictures of all views of a study of three arms, and of its reports.

    A view of ``CONTENTS`` is one of another run, as no run of the study has it.
    """
    with TemporaryDirectory() as place:
        file, towns = Path(place) / "study.sqlite", str(Path(place) / "towns.sqlite")
        study = Study(
            RumorModel, {"memory": ARMS, "n_agents": 8, "correction_step": 4},
            seeds=SEEDS, steps=10, store=file, measures={"corrected so far": corrected},
            outcomes={"corrected": corrected, "misled": misled},
        )  # fmt: skip
        study.run("serial", progress=False)
        pages = {
            name: Path(place) / f"{name}.html" for name in ("report", "study_report")
        }
        with open_run(file) as run:
            write_report(run, pages["report"])
        study.report(pages["study_report"])
        known = [view.key for group in GROUPS for view in group.views]
        wanted = views or (*known, *pages)
        if set(wanted) & set(CONTENTS):
            record(towns)
        with browser() as chromium, ExitStack() as servers:
            bases: dict[Any, str] = {}
            for name in wanted:
                runs = (str(file), *range(1, len(ARMS) * len(SEEDS) + 1))
                query = f"?view={name}" * (name != known[0])
                if name in CONTENTS:
                    number, query = VIEWS[name]
                    runs, query = (towns, number), f"?{query}"
                if name in pages:
                    photograph(chromium, pages[name].as_uri(), folder, name)
                    continue
                if runs not in bases:
                    bases[runs] = servers.enter_context(opened(*runs))
                photograph(chromium, at(bases[runs], query), folder, name)


@contextmanager
def opened(file: str, *numbers: Any) -> Iterator[str]:
    """The address of a page of some runs of a file."""
    runs = [f"{file}#{number}" for number in numbers]
    command = ("-m", "mesa_memory.cli", "dashboard", *runs)
    with served(*command, "--no-open", "--port", "0") as base:
        yield base


#: pixels from the top of the page to the end of what it shows
ALL = """() => Math.ceil(Math.max(...[...document.querySelectorAll(".mm-page, body > *")]
  .map((one) => one.getBoundingClientRect().bottom))) + 20"""


def photograph(chromium: Any, address: str, folder: Path, name: str) -> None:
    """A picture of a whole page in each of the sizes."""
    for width, height in SIZES:
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        page.wait_for_selector(".mm-section, .mm-empty, section", timeout=120_000)
        page.wait_for_timeout(4000)
        # Solara scrolls a part of the page; a picture of all needs a window as high.
        whole = max(height, page.evaluate(ALL))
        page.set_viewport_size({"width": width, "height": whole})
        page.wait_for_timeout(1000)
        page.screenshot(path=folder / f"{name}_{width}.png")
        page.close()


def main() -> None:
    """Writes the pictures."""
    if sys.argv[1:2] == ["--study"]:
        shoot_study(Path(sys.argv[2]), *sys.argv[3:])
        return
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "_static"
    with TemporaryDirectory() as place:
        file = str(Path(place) / "runs.sqlite")
        record(file)
        for name in sys.argv[2:] or VIEWS:
            wanted = VIEWS[name][0]
            numbers = wanted if isinstance(wanted, tuple) else (wanted,)
            with opened(file, *numbers) as base:
                shoot(at(base, f"?{VIEWS[name][1]}"), folder, name)


if __name__ == "__main__":
    main()
