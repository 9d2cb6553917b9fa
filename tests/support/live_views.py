"""What each view of a live page must say, worked out from a record of the same model."""

import re
from collections import Counter

from mesa_memory import Services
from mesa_memory.runs import open_run
from mesa_memory.viz.data import spread
from mesa_memory.viz.data.scene import scene
from mesa_memory.viz.views import GROUPS
from tests.support.live_pages import BUDGET, Minds

TEXT = "the town well is a danger, it is poisoned"


class Twin:
    """The same model as in the page, and its record; it goes on as far as it is asked."""

    def __init__(self):
        self.model = Minds()
        self._recorder = Services.of(self.model).recorder

    def until(self, step):
        while self.model.steps < step:
            self.model.step()
        self._recorder.sync()
        return open_run(self._recorder.store, self._recorder.run)

    def close(self):
        self._recorder.close()


def press(window, name):
    window.page.get_by_role("button", name=name, exact=True).click()


def turn(window, tab):
    """Chooses a view by the tab of its group and its own."""
    group = next(g for g in GROUPS if tab in [view.label for view in g.views])
    view = next(view for view in group.views if view.label == tab)
    # A grey tab, which Playwright takes for disabled, leads to the reason.
    window.page.get_by_role("tab", name=group.label, exact=True).click(force=True)
    if len(group.views) > 1:
        window.page.get_by_role("tab", name=tab, exact=True).click(force=True)
    window.shows(view=view.key)


def choose(window, field, value):
    """Types something into a field and takes it, as soon as it is offered."""
    box = window.page.get_by_label(field, exact=True)
    box.fill(value)
    window.settled()
    box.press("Enter")
    window.page.keyboard.press("Tab")
    window.shows(**{CHOICES[field]: value})


def population(run, step):
    shown = scene(run)
    held = shown.outcomes["belief"][:, shown.steps.index(step)].tolist()
    yield "belief of 6 agents"
    yield from (f"{belief} {n}" for belief, n in Counter(held).items() if belief)


def memory(run, step):
    yield f"remembered {len(run.state(1, step, as_records=True))} record"
    yield from (row["text"] for row in run.prompts(1, step, as_records=True))


def recalled(run, step):
    found = run.recalls(1, step, as_records=True)
    yield f"In step {step}, Agent 1 recalled"
    if found:
        yield f"Agent 1 recalled {len(found)} record"


def spreading(run, step):
    held = spread.holders(spread.found(run, TEXT), step)
    yield f"At step {step}, {len(held)} of 6 agents remember “"


def cost(run, step):
    until = [c for c in run.calls(as_records=True) if c["step"] <= step]
    used = sum(call["tokens_in"] + call["tokens_out"] for call in until)
    yield f"{len(until):,} calls had {used:,} tokens"
    yield f"{used / BUDGET.tokens:.1%} of {BUDGET.tokens:,}"


def compared(run, step):
    left, right = (
        Counter((r["kind"], r["text"]) for r in run.state(n, step, as_records=True))
        for n in (1, 2)
    )
    both, mine, theirs = (
        one.total() for one in (left & right, left - right, right - left)
    )
    yield f"share {both} records; {mine} are only left, {theirs} only right"


#: field -> name of what is chosen with it
CHOICES = {
    "Agent": "agent",
    "Compare with agent": "other_agent",
    "Text in all memories": "text",
}
#: tab -> what is chosen first, and what it must say of a step of a run
VIEWS = {
    "Population": ({}, population),
    "Memory": ({"Agent": "1"}, memory),
    "Recall": ({"Agent": "1"}, recalled),
    "Spread": ({"Text in all memories": TEXT}, spreading),
    "Cost": ({}, cost),
    "Compare": ({"Agent": "1", "Compare with agent": "2"}, compared),
}


def agrees(window, twin, tab):
    """Waits until the view says of the page's step what the record does."""

    def agree():
        step = int(window.step())
        said = bare(window.text())
        return all(bare(must) in said for must in VIEWS[tab][1](twin.until(step), step))

    window.until(agree, f"{tab} does not say what the record does")


def bare(text):
    return re.sub(r"\s+", " ", text)
