"""Spread: a language model judges which of the nearest sentences state the same."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import solara
import solara.lab

from mesa_memory.llm.cost.ledger import Usage
from mesa_memory.viz.data.spread import groups, verdicts
from mesa_memory.viz.data.spread import spread as data
from mesa_memory.viz.live.judge import Judge, called, judge_of, time_of
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.views.requests.cost import written
from mesa_memory.viz.widgets import Fact, Failure

#: the option of the address that has the ticks
TICKS = "spread_ticks"
NOBODY = (
    "A language model can judge which of these state the same: open the recorded run with "
    "mesa-memory dashboard FILE --judge PROVIDER/MODEL, or --judge offline."
)


@dataclass(frozen=True)
class Judgement:
    """What a judge said, and what it took.

    Attributes:
        models: who answered.
    """

    judged: verdicts.Judged
    models: list[str]
    used: Usage


@dataclass(frozen=True)
class Question:
    """What is put to a judge.

    Attributes:
        rows: of ``verdicts.candidates``.
        step: the clock when it is asked.
    """

    wanted: verdicts.Wanted
    rows: list[dict[str, Any]]
    judge: Judge
    step: float

    @property
    def whose(self) -> dict[str, Any]:
        """Whom the requests go to, and when."""
        judge = self.judge
        return {"step": self.step, "model": judge.model, "api_base": judge.api_base}

    def put(self, told: Callable[[int], None]) -> Judgement:
        """Asks, and waits for the verdicts.

        Raises:
            LLMError: if there are none.
        """
        asking = self.judge.researcher()
        flow = verdicts.verdicts(self.wanted, self.rows, told, **self.whose)
        judged = verdicts.judged(self.rows, asking.ask(flow))
        return Judgement(judged, asking.models, asking.used)


def wanted(selection: Selection) -> verdicts.Wanted:
    """What is looked for now, and what is not meant."""
    unlike = selection.option("unlike", "").strip()
    return verdicts.Wanted(selection.text.strip(), unlike)


@solara.component
def Judging(
    source: Source,
    found: data.Found,
    selection: Selection,
    least: float,
    kind: str | None,
) -> Any:
    """The button that asks, what came of it, and the button that takes ticks back."""
    came: solara.Reactive[Judgement | None] = solara.use_reactive(None)
    done = solara.use_reactive(0)
    ticks = selection.option(TICKS, "")
    judge = solara.use_memo(lambda: judge_of(source), [id(source.model), source.key])
    rows = solara.use_memo(
        lambda: verdicts.candidates(found, least, kind, groups.read(ticks)),
        [id(found), least, kind, ticks],
    )
    now: Question | None = None
    if judge is not None:
        now = Question(wanted(selection), rows, judge, time_of(source))

    def ask() -> None:
        question, run = now, selection.choice.run
        assert question is not None
        done.set(0)
        answer = question.put(done.set)
        # Else nobody looks for that any more.
        if (wanted(selection), selection.choice.run) == (question.wanted, run):
            held = groups.read(selection.option(TICKS, ""))
            told = groups.written(held | dict(answer.judged.ticks))
            selection.set_option(TICKS, told or None)
            came.set(answer)

    def undo() -> None:
        came.set(None)
        selection.set_option(TICKS, None)

    task = solara.lab.use_task(ask, dependencies=None, raise_error=False)
    Buttons(now, task, task.pending, undo if ticks else None)
    if task.pending:
        solara.ProgressLinear(True)
        solara.Text(f"{done.value} of {len(rows)} sentences are judged.")
    if task.error and task.exception is not None:
        Failure(task.exception)
    if came.value is not None and not task.pending:
        Outcome(came.value)


@solara.component
def Buttons(
    question: Question | None,
    ask: Callable[[], None],
    pending: bool,
    undo: Callable[[], None] | None,
) -> Any:
    """What can be done, and what it takes.

    Args:
        question: None if nobody can be asked.
        pending: the question has been put, and is not answered yet.
        undo: takes all ticks back; None if there are none.
    """
    with solara.Div(classes=["mm-row"]):
        if question is not None:
            solara.Button(
                "Let a model judge",
                icon_name="mdi-scale-balance",
                on_click=ask,
                disabled=pending or not question.rows,
                outlined=True,
            )
        if undo is not None:
            solara.Button(
                "As the similarity says",
                icon_name="mdi-undo",
                on_click=undo,
                disabled=pending,
                text=True,
            )
        if question is not None:
            Plan(question)
        else:
            solara.v.Html(tag="span", class_="mm-hint", children=[NOBODY])


@solara.component
def Plan(question: Question) -> Any:
    """Who will be asked, how much, and what it will cost."""
    requests = verdicts.requests(question.wanted, question.rows, **question.whose)
    if not requests:
        told = "No sentence is near enough to be judged."
    else:
        sentences, asked = len(question.rows), len(requests)
        told = (
            f"sends the nearest {sentences} sentence{'s' * (sentences > 1)} to "
            f"{question.judge.name} in {asked} request{'s' * (asked > 1)}"
            f"{_price(question.judge.expected(requests))}; the verdicts become ticks below"
        )
    solara.v.Html(tag="span", class_="mm-hint", children=[told])


def _price(expected: float | None) -> str:
    if expected is None:
        return " at an unknown price"
    return f" for about {written('cost', expected)}" if expected else ""


@solara.component
def Outcome(came: Judgement) -> Any:
    """What the judge said."""
    judged, used = came.judged, came.used
    with solara.Div(classes=["mm-row"]):
        Fact("judged by", ", ".join(map(called, came.models)))
        Fact("state the same", f"{judged.same}")
        Fact("do not", f"{judged.other}")
        Fact("changed by the judge", f"{judged.changed}")
        if judged.left:
            Fact("without a verdict", f"{judged.left}")
        Fact("requests", f"{used.calls}")
        Fact("cost", written("cost", used.cost))
