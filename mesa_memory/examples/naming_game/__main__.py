"""All 432 runs of the naming game, and what memory does in each network.

    python -m mesa_memory.examples.naming_game

The runs are kept in ``naming.sqlite``: the command again prints the table without new runs.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from mesa_memory.errors import StudyError
from mesa_memory.examples.naming_game.model import NamingGame
from mesa_memory.examples.naming_game.networks import NETWORKS
from mesa_memory.experiments import Study
from mesa_memory.statistics.comparison import compare
from mesa_memory.statistics.interaction import Interaction, compare_effects

DEPTHS = (2, 5, 10)
SEEDS = 18
ROUNDS = 100
OUTCOMES = ("settled", "names", "share", "agreed")


def study(
    store: str | Path,
    networks: Iterable[str] = NETWORKS,
    depths: Iterable[int] = DEPTHS,
) -> Study:
    """The study: each network with each depth of memory, on the same seeds."""
    return Study(
        NamingGame,
        {"network": list(networks), "depth": list(depths)},
        seeds=range(SEEDS),
        steps=ROUNDS,
        outcomes={name: name for name in OUTCOMES},
        store=store,
        record=False,
    )


def effects(runs: pd.DataFrame, outcome: str = "settled") -> pd.DataFrame:
    """A row for each network and depth: the difference from the shortest memory.

    Args:
        runs: see ``Results.runs``.
        outcome: one of ``OUTCOMES``.
    """
    tables = []
    for network, part in runs.groupby("network", sort=False):
        found = compare(part, "depth", outcome=outcome, base=DEPTHS[0]).table()
        means = part.groupby("depth")[["names", "share", "agreed"]].mean()
        found = found.merge(means, left_on="arm", right_index=True)
        tables.append(found.assign(network=network).sort_values("arm"))
    columns = ["network", "arm", "mean", "difference", "low", "high", "p", "p_holm"]
    return pd.concat(tables)[[*columns, "names", "share", "agreed"]]


def by_network(runs: pd.DataFrame, outcome: str = "settled") -> Interaction:
    """The effect of the longest memory, compared between each pair of networks.

    Args:
        runs, outcome: as for ``effects``.
    """
    ends = runs[runs["depth"].isin((DEPTHS[0], DEPTHS[-1]))]
    return compare_effects(ends, "depth", by="network", outcome=outcome, base=DEPTHS[0])


def main() -> None:
    """Makes the runs and prints the table, and a sentence for each pair of networks."""
    made = study("naming.sqlite")
    if (status := made.run()).failed:
        raise StudyError(str(status))
    print(
        f"Rounds until the number of names stands still, of {ROUNDS}; depth 2 is the base"
    )
    table = effects(made.results().runs)
    print(table.round(4).to_string(index=False, na_rep=""))
    found = by_network(made.results().runs)
    for each in found.contrasts:
        print(each.verdict(found.outcome, found.base, found.level, found.family))


if __name__ == "__main__":
    main()
