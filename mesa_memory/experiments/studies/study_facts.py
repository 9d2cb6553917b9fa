"""What a study's store says that belongs in a methods section."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mesa_memory.core.arguments import readable
from mesa_memory.experiments.studies.methods import Facts
from mesa_memory.stores.studies import CaseRow, Studies, StudyRow

_SUMS = ("calls", "tokens_in", "tokens_cached", "tokens_out", "failures")


def facts_of_study(studies: Studies, row: StudyRow) -> Facts:
    """The facts of a study, see ``methods``."""
    cases, spent = studies.cases(row.id), studies.spent(row.id)
    varied, fixed = _parameters(cases)
    lengths = {case.done for case in cases if case.done is not None}
    return Facts(
        model=row.model,
        factors=varied,
        fixed=fixed,
        seeds=list(dict.fromkeys(readable(case.seed) for case in cases)),
        replicates=1 + max((case.replicate for case in cases), default=0),
        steps=lengths.pop() if len(lengths) == 1 else None,
        runs=Counter(case.state for case in cases),
        prefixes=studies.forked(row.id),
        models=_by(spent, "model"),
        purposes=_by(spent, "purpose"),
        tiers=[str(tier) for tier in _by(spent, "tier") if tier],
        cached=_by(spent, "model", "cached"),
        used=_used(spent),
        forecast=(row.design.get("forecast") or {}).get("cost"),
        versions={n: [v] for n, v in row.fingerprint.get("versions", {}).items()},
        drift=[
            f"{told} (after {accepted['runs']} runs)"
            for accepted in row.drift
            for told in accepted["differences"]
        ],
    )


def _parameters(cases: Sequence[CaseRow]) -> tuple[dict[str, list[str]], dict]:
    """What differs between cases, with its values; and what does not."""
    found: dict[str, list[Any]] = {}
    for case in cases:
        for name, value in case.parameters.items():
            values = found.setdefault(name, [])
            told = readable(value)
            if told not in values:
                values.append(told)
    varied = {name: list(map(str, v)) for name, v in found.items() if len(v) > 1}
    return varied, {name: v[0] for name, v in found.items() if len(v) == 1}


def _by(
    spent: Sequence[Mapping[str, Any]], key: str, count: str = "calls"
) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in spent:
        found[str(row[key] or "")] += row[count]
    return +found


def _used(spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums: dict[str, Any] = {name: sum(row[name] for row in spent) for name in _SUMS}
    unknown = any(row["unpriced"] for row in spent)
    return sums | {"cost": None if unknown else sum(row["cost"] for row in spent)}
