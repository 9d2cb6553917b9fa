"""What axe says of a page, for those who cannot see it or use a mouse."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe

#: opens all that is folded, but the controls of a model
UNFOLD = """() => document.querySelectorAll("details:not(.mm-side details)")
  .forEach((one) => one.open = true)"""
GRAVE = ("serious", "critical")


def faults(page: Any) -> list[str]:
    """What axe finds grave of a page with all of it unfolded, one line each."""
    page.evaluate(UNFOLD)
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found.response["violations"]
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]
