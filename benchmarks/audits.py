"""Audits of two shipped towns on all axes: the verdicts in their READMEs.

    python -m benchmarks.audits [market] [town]

Both have their documented size, 12 seeds and a margin of 0.1.
"""

import logging
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.two_memories import believing
from mesa_memory.examples.trust_market.model import TrustMarket
from mesa_memory.experiments import Study
from mesa_memory.experiments.axes import AXES, GIVEN

SEEDS, MARGIN = 12, 0.1
#: the offline models answer, so that model and temperature have no levels
TURNED = (*(axis for axis in AXES if axis not in GIVEN), "size")


def cooperation(market: Any) -> float:
    """The share of the last season's requests that were granted."""
    return float(market.cooperation)


#: model, memory, outcome, days and other sizes
TOWNS = {
    "market": (TrustMarket, "short_term", cooperation, 40, [20]),
    "town": (RumorModel, "stlt", believing, 25, [20]),
}


def audit(town: str, folder: Path) -> None:
    """Makes the study of a town, and prints its effect and all verdicts."""
    model, memory, outcome, days, sizes = TOWNS[town]
    study = Study(
        model, {"memory": ["none", memory], "n_agents": [30]}, seeds=range(SEEDS),
        steps=days, outcomes={outcome.__name__: outcome}, store=folder / "audit.sqlite",
    )  # fmt: skip
    start = time.perf_counter()
    study.run("serial", progress=False)
    print(study.compare("memory", base="none", margin=MARGIN))
    found = study.audit(
        memory, base="none", axes=TURNED, given={"size": {"n_agents": sizes}},
        margin=MARGIN, executor="serial", progress=False,
    )  # fmt: skip
    print(found)
    print(f"{town}: {time.perf_counter() - start:.0f} seconds\n", flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    for asked in sys.argv[1:] or TOWNS:
        with TemporaryDirectory() as place:
            audit(asked, Path(place))
