"""Pytest plugin: writes the outcome of each test to the file named by UPSTREAM_REPORT."""

import json
import os

REPORT = os.environ["UPSTREAM_REPORT"]

outcomes: dict[str, list[str]] = {}
#: names of the tests in which something happened that another plugin looks for
touching: set[str] = set()
#: memory classes of Mesa-LLM's own that a test module still had
strangers: set[str] = set()


def pytest_runtest_logreport(report):
    """Keeps the outcome of a test, and the last line of what went wrong."""
    if report.outcome == "passed":
        outcomes.setdefault(report.nodeid, ["passed", ""])
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    said = crash.message.splitlines()[0] if crash else str(report.longrepr)
    outcomes[report.nodeid] = [report.outcome, said]


def pytest_sessionfinish():
    """Writes the outcomes."""
    found = {
        "outcomes": outcomes,
        "strangers": sorted(strangers),
        "touching": sorted(touching),
    }
    with open(REPORT, "w", encoding="utf-8") as file:
        json.dump(found, file)
