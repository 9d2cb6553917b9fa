"""Manipulation checks: what the memories of a run made, recalled and showed.

They tell whether a treatment has taken place: a memory of facts that found no fact is a
short-term memory.
"""

from collections.abc import Iterable
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.llm.doubles.offline import advice, answerer
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.llm.ledger import Ledger
from mesa_memory.runs.checks import record_checks, requests
from mesa_memory.runs.compare import differing_parameters
from mesa_memory.stores.sql import Store
from mesa_memory.stores.studies import CaseRow
from mesa_memory.tasks import (
    BY_RESEARCHER,
    CHAPTER,
    CONSOLIDATE,
    CONVERSATION,
    EXTRACT,
    IMPRESS,
    REFLECT,
    STORY,
    registered,
)
from mesa_memory.tasks.offline.statements import MIN_EVENTS

#: the columns of a run; see ``docs/experiments.md``
CHECKS = (
    "events_remembered", "records_made", "records_summarised", "records_recalled",
    "lines_shown", "thoughts_asked", "thoughts_by_rules", "thoughts_by_model",
    "thoughts_doubtful", "thoughts_given_up",
)  # fmt: skip
#: the tasks whose replies become records
_MAKING = frozenset(
    task.purpose
    for task in (CHAPTER, CONSOLIDATE, CONVERSATION, EXTRACT, IMPRESS, REFLECT, STORY)
)


def recorded_checks(store: Store, run: int) -> dict[str, Any]:
    """The checks of a recorded run, and under ``makers`` who was to make records.

    All steps of the run count, also the ones shared with another run.
    """
    thoughts = [row for row in requests(store, run) if row[0] in _thoughts()]
    given_up = sum(bool(error or why) for *_, error, why in thoughts)
    asked = ((name, model, 1, bool(error)) for name, model, error, _ in thoughts)
    found = record_checks(store, run) | {"thoughts_given_up": given_up}
    return found | _answers(asked)


def counted_checks(ledger: Ledger) -> dict[str, Any]:
    """The checks of a run that is not recorded: requests alone are counted there."""
    return _answers(
        (purpose, model, used.calls, used.failures)
        for (purpose, model), used in ledger.by("purpose", "model").items()
        if purpose in _thoughts()
    )


def _thoughts() -> set[str]:
    """The purposes of memories' requests, without those of a researcher."""
    return {*registered()} - BY_RESEARCHER


def _answers(thoughts: Iterable[tuple[str, str, int, int]]) -> dict[str, Any]:
    """Counts requests by who answered.

    Args:
        thoughts: purpose, model, number of requests, and of failed ones.
    """
    counts: dict[str, Any] = dict.fromkeys(CHECKS[5:8], 0) | {"makers": {}}
    for purpose, model, number, failed in thoughts:
        rules = str(model).partition("/")[0] == PROVIDER
        counts["thoughts_asked"] += number
        counts["thoughts_by_rules" if rules else "thoughts_by_model"] += number - failed
        if purpose in _MAKING:
            counts["makers"][answerer(str(model))] = True
    return counts | {"makers": [*counts["makers"]]}


def arm_checks(cases: Iterable[CaseRow]) -> list[dict[str, Any]]:
    """The checks of each arm, in order, added up over its runs that have ended.

    Each row has ``arm``, the parameters that differ between arms as a text, all its
    ``parameters``, the number of ``runs`` and ``CHECKS``; a check that one of the runs
    lacks is None.
    """
    arms: dict[str, dict[str, Any]] = {}
    for case in cases:
        checks = case.usage.get("checks")
        if checks is None:
            continue
        given = readable(dict(case.parameters))
        arm = arms.setdefault(repr(given), {"arm": "", "parameters": given, "runs": 0})
        arm["runs"] += 1
        for name in CHECKS:
            before, value = arm.get(name, 0), checks.get(name)
            arm[name] = None if None in (before, value) else before + value
        arm["makers"] = [*dict.fromkeys([*arm.get("makers", ()), *checks["makers"]])]
    apart = differing_parameters([arm["parameters"] for arm in arms.values()])
    for arm, levels in zip(arms.values(), apart):
        told = levels or arm["parameters"]
        arm["arm"] = ", ".join(f"{name}={value!r}" for name, value in told.items())
    return list(arms.values())


def arm_warnings(cases: Iterable[CaseRow]) -> list[str]:
    """A text for each arm whose memories have made nothing of many events."""
    return [
        f"{arm['arm'] or 'all runs'}: the memories made nothing of "
        f"{arm['events_remembered']} events, in {arm['thoughts_asked']} requests to "
        f"{' and '.join(arm['makers'])}.{advice(*arm['makers'])}"
        for arm in arm_checks(cases)
        if arm["makers"] and arm["records_made"] == 0
        if arm["events_remembered"] >= MIN_EVENTS
    ]
