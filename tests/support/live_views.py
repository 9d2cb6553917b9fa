"""What each view of a live page says, and what the record of the same model says.

Both are brought to the same values: ``VIEWS`` has a pair of functions for each view, one
that reads the page and one that asks the record.
"""

import re
from collections import Counter
from contextlib import suppress
from decimal import ROUND_HALF_UP, Context, Decimal

from mesa_memory import Services
from mesa_memory.runs import open_run
from mesa_memory.viz.data import conversations, recall
from mesa_memory.viz.data.agent import past
from mesa_memory.viz.data.spread import spread
from mesa_memory.viz.views import GROUPS
from tests.support.live_pages import BUDGET, Minds

TO_FOUR = Context(prec=4, rounding=ROUND_HALF_UP)
TEXT = "the town well is a danger, it is poisoned"
#: all that one reads in the sections of a view: facts, tables, texts, steps of charts
READ = """() => [...document.querySelectorAll(".mm-section")].map((section) => {
  const all = (selector) => [...section.querySelectorAll(selector)];
  const along = (chart) => chart.__vue__.option.xAxis || {};
  return {
    title: section.querySelector("h3").innerText,
    facts: Object.fromEntries(all(".mm-fact").map((fact) =>
      [fact.querySelector("span").innerText, fact.querySelector("strong").innerText])),
    rows: all("tbody tr").map((row) => [...row.cells].map((cell) => cell.innerText)),
    texts: all(".mm-prompt pre").map((text) => text.textContent),
    maps: all("canvas[aria-label]").map((map) => map.getAttribute("aria-label")),
    ends: all(".mm-chart").map(along).filter((axis) => axis.name === "Step")
      .map((axis) => axis.data.at(-1)),
  };
})"""


class Twin:
    """The same model as in the page, and its record; it goes on as far as it is asked."""

    def __init__(self):
        self.model = Minds()
        self._recorder = Services.of(self.model).recorder
        self._known = {}

    def says(self, known, step):
        """What the record says at a step; asked once."""
        if (known, step) not in self._known:
            self._known[known, step] = known(self.until(step), step)
        return self._known[known, step]

    def until(self, step):
        while self.model.steps < step:
            self.model.step()
        self._recorder.sync()
        return open_run(self._recorder.store, self._recorder.run)

    def close(self):
        self._recorder.close()


def press(window, name):
    window.page.get_by_role("button", name=name, exact=True).click()


def choose(window, field, value):
    """Types something into a field and takes it, as soon as it is offered."""
    box = window.page.get_by_label(field, exact=True)
    box.fill(value)
    window.settled()
    box.press("Enter")
    window.page.keyboard.press("Tab")
    window.shows(**{CHOICES[field]: value})


def turn(window, tab):
    """Chooses a view by the tab of its group and its own."""
    group = next(g for g in GROUPS if tab in [view.label for view in g.views])
    view = next(view for view in group.views if view.label == tab)
    # A grey tab, which Playwright takes for disabled, leads to the reason.
    window.page.get_by_role("tab", name=group.label, exact=True).click(force=True)
    if len(group.views) > 1:
        window.page.get_by_role("tab", name=tab, exact=True).click(force=True)
    window.shows(view=view.key)


def facts(sections, *names):
    found = {name: text for one in sections for name, text in one["facts"].items()}
    return {name: found.get(name) for name in names}


def rows(sections, title):
    return next((one["rows"] for one in sections if one["title"].startswith(title)), [])


def ends(sections):
    """The last steps of all charts and maps over steps."""
    return {end for one in sections for end in one["ends"]}


# -- what the page says, and what the record of the twin says, as the same values ----------


def population(answer, sections):
    maps = [told.rsplit(" by ", 1)[-1] for one in sections for told in one["maps"]]
    numbers = re.findall(r"[\d,]+(?= agents| events| times| calls| tokens)", answer)
    return numbers, maps


def population_known(run, step):
    lived = [past(run, agent).rows for agent in range(1, 7)]
    made = [row for own in lived for row in own if row["step"] == step]
    events = [row for row in made if row["origin"] != "derived"]
    calls = run.calls(step=step, as_records=True)
    recalls = [recall.recalls(run, agent, step) for agent in range(1, 7)]
    tokens = sum(call["tokens_in"] + call["tokens_out"] for call in calls)
    counts = (6, len(events), sum(map(len, recalls)), len(calls), tokens)
    return [f"{value:,}" for value in counts], [f"{step} steps"]


def agent(answer, sections):
    texts = [text for one in sections for text in one["texts"]]
    remembered = re.search(r"remembered (\d+) record", answer)
    return sections[0]["title"], remembered[1], texts


def agent_known(run, step):
    held = run.state(1, step, as_records=True)
    shown = [row["text"] for row in run.prompts(1, step, as_records=True)]
    return f"Agent 1, step {step}", str(len(held)), list(dict.fromkeys(shown))


def recalled(_, sections):
    scores = [row[:5] for row in rows(sections, "All candidates")]
    told = [(row[0].strip("▸ "), row[4]) for row in scores]
    return sections[0]["title"], facts(sections, "candidates"), told


def as_shown(score):
    """Four digits, as a browser writes them: a tie goes up, unlike in Python."""
    exact = Decimal(round(score, 4))
    return f"{float(TO_FOUR.create_decimal(exact)):.4g}"


def recalled_known(run, step):
    candidates = run.recalls(1, step, as_records=True)
    told = [(str(row["rank"]), as_shown(row["score"])) for row in candidates]
    count = {"candidates": str(len(candidates))}
    return f"Agent 1 recalled, step {step}", count, told[:25]


def evidence(_, sections):
    made = rows(sections, "Conclusions of agent 3")
    return sections[0]["title"], [
        [cell.strip("▸ ") for cell in row[:2]] for row in made
    ][:1]


def evidence_known(run, step):
    (newest,) = run.state(3, step, kind="summary", as_records=True)
    return f"Evidence of {newest['id']}", [[f"{step}", "summary"]]


def impressions(answer, sections):
    held = [[*row[:2], row[5]] for row in rows(sections, "All impressions")]
    cleaned = sorted([row[0].strip("▸ "), *row[1:]] for row in held)
    count = re.search(r"agents have (\d+) impressions", answer)
    return count[1], cleaned, ends(sections)


def impressions_known(run, step):
    held = [
        [str(observer), str(row["subject"]), f"{row['valid_from']:g}"]
        for observer in (2, 5)
        for row in run.state(observer, step, kind="impression", as_records=True)
    ]
    return str(len(held)), sorted(held), {str(step)}


def spreading(answer, sections):
    ever = re.search(r"(\d+) ever did", answer)[1]
    held = [[row[0], row[5]] for row in rows(sections, "Holders at step")]
    maps = [told.rsplit(" by ", 1)[-1] for one in sections for told in one["maps"]]
    return ever, held, maps, ends(sections)


def spreading_known(run, step):
    found = spread.found(run, TEXT)
    held = spread.holders(found, step)
    told = [[str(row["agent"]), str(row["records"])] for row in held]
    until = (n for n in run.steps if n <= step)
    ever = {row["agent"] for n in until for row in spread.holders(found, n)}
    return (str(len(ever)), told[:5], [f"{step} steps"], {f"{step}"})


def cost(_, sections):
    budget = [name for one in sections for name in one["facts"] if "budget" in name]
    return facts(sections, "calls", "tokens in", *budget), ends(sections)


def cost_known(run, step):
    until = [c for c in run.calls(as_records=True) if c["step"] <= step]
    now = [call for call in until if call["step"] == step]
    tokens = [sum(call["tokens_in"] for call in calls) for calls in (until, now)]
    used = tokens[0] + sum(call["tokens_out"] for call in until)
    told = {
        "calls": f"{len(until):,} ({len(now):,})",
        "tokens in": f"{tokens[0]:,} ({tokens[1]:,})",
        "calls budget used": f"{len(until) / BUDGET.calls:.1%} of {BUDGET.calls:,}",
        "tokens budget used": f"{used / BUDGET.tokens:.1%} of {BUDGET.tokens:,}",
    }
    return told, {str(step)}


def compared(answer, sections):
    counts = re.search(r"share (\d+) records; (\d+) are only left, (\d+)", answer)
    return counts.groups(), ends(sections)


def compared_known(run, step):
    left, right = (
        Counter((r["kind"], r["text"]) for r in run.state(n, step, as_records=True))
        for n in (1, 2)
    )
    counted = (left & right, left - right, right - left)
    return tuple(str(one.total()) for one in counted), {str(step)}


def threads(_, sections):
    counts = [row[1] for row in rows(sections, "Threads of agent 1")]
    return sections[0]["title"], counts


def threads_known(run, step):
    found = conversations.threads(past(run, 1), 1, step)[:5]
    counts = [str(len(thread.rows)) for thread in found]
    return "Threads of agent 1", counts


def asked(_, sections):
    title = sections[0]["title"]
    return title, sorted(row[3] for row in rows(sections, "Requests of agent 1"))


def asked_known(run, step):
    calls = run.calls(1, step, as_records=True)
    tokens = sorted(str(call["tokens_in"]) for call in calls)
    return f"Requests of agent 1, step {step}", tokens


#: field -> name of what is chosen with it
CHOICES = {
    "Agent": "agent",
    "Compare with agent": "other_agent",
    "Text in all memories": "text",
}
#: tab -> what is chosen first, what the page says, what it must say
VIEWS = {
    "Population": ({}, population, population_known),
    "Memory": ({"Agent": "1"}, agent, agent_known),
    "Recall": ({"Agent": "1"}, recalled, recalled_known),
    "Evidence": ({"Agent": "3"}, evidence, evidence_known),
    "Conversations": ({"Agent": "1"}, threads, threads_known),
    "Requests": ({"Agent": "1"}, asked, asked_known),
    "Impressions": ({"Agent": "2"}, impressions, impressions_known),
    "Spread": ({"Text in all memories": TEXT}, spreading, spreading_known),
    "Cost": ({}, cost, cost_known),
    "Compare": ({"Agent": "1", "Compare with agent": "2"}, compared, compared_known),
}


def show(page, tab, choices):
    """Opens a view on a tab, with something chosen."""
    turn(page, tab)
    for field, value in choices.items():
        choose(page, field, value)


def both(page, twin, says, known):
    """What the page says of its step, and what the record does; waits till they agree."""
    found = []

    def agree():
        step = int(page.step())
        must = twin.says(known, step)
        with suppress(IndexError, TypeError):  # of a page that is not yet drawn
            found[:] = says(page.text(".mm-answer"), page.page.evaluate(READ)), must
        return bool(found) and found[0] == found[1]

    with suppress(AssertionError):  # the test says what differs
        page.until(agree)
    return found
