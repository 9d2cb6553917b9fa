"""Retention in a user's own model: old/new recognition of statements in messages.

*Old* statements are sentences of messages that an agent heard for the last time a
retention interval ago. *New* ones, the lures, were heard by others in the same step, and
nothing that this agent heard or said states them. The share of old statements that stand
in what the agent is shown of its memory, minus that of new ones, is its retention. Nothing
is planted and no model is asked.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from mesa_memory.core.records import DERIVED
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import StudyError
from mesa_memory.experiments.measures.holdings import minds
from mesa_memory.hosts.mesa import clock
from mesa_memory.runs import Run
from mesa_memory.runs.claims.claim import is_stated, is_telling
from mesa_memory.runs.claims.clauses import sentences
from mesa_memory.runs.past import of_kind
from mesa_memory.runtime.services import Services

if TYPE_CHECKING:
    import pandas as pd


#: texts by the name of an agent
type ByAgent = Mapping[str, str]


class Said(NamedTuple):
    """A sentence of a message, as one agent heard or said it.

    Attributes:
        step: when.
        agent: name of the one whose memory has it.
        sender: name of the speaker.
        text: the sentence.
    """

    step: float
    agent: str
    sender: str
    text: str


class HeardStatement(NamedTuple):
    """A statement that was looked for in what an agent was shown.

    Attributes:
        step: of the look.
        agent: name of the one who was shown its memory.
        memory: class of its memory.
        interval: steps since the statement was heard.
        text: its words.
        old: whether this agent heard it; False for a lure.
        shown: whether it stands in what the agent was shown.
    """

    step: float
    agent: str
    memory: str
    interval: int
    text: str
    old: bool
    shown: bool


@dataclass(frozen=True)
class Retention:
    """The share of statements heard some steps ago that agents are still shown.

    A measure of a recorded study, ``Study(measures={"retention": Retention()})``, which
    gives a row for each memory and interval, with the numbers of statements: ``old``,
    ``old_shown``, ``new``, ``new_shown``. For a recorded run see ``retention``; both give
    the same numbers. An agent that reads no memory in a step is left out then.

    Attributes:
        intervals: retention intervals, in steps.
        items: most old and most new statements of an agent, interval and look.
        every: looks at each step that can be divided by it.
    """

    intervals: tuple[int, ...] = (1, 5, 10, 20)
    items: int = 20
    every: int = 5

    def __post_init__(self) -> None:
        for name in ("items", "every"):
            checked_int(name, getattr(self, name))
        object.__setattr__(self, "intervals", tuple(self.intervals))
        for interval in self.intervals:
            checked_int("intervals", interval)

    def __call__(self, model: Any) -> list[dict[str, Any]]:
        """The numbers of this step; none if it is not due.

        Raises:
            StudyError: if the model is not recorded.
        """
        now = clock(model)
        if not now or now % self.every:
            return []
        said = said_in(message_rows(model))
        read = Services.of(model).recorder.changes.prompts
        rows = [row for _, row in sorted(read, key=lambda each: each[0])]
        kinds = {
            str(a.unique_id): type(memory).__name__ for a, _, memory in minds(model)
        }
        found = self._look(now, said, texts_by_agent(rows), kinds)
        return counted(found)

    def statements(self, run: Run) -> Iterator[HeardStatement]:
        """The statements of all looks of a recorded run, in order."""
        said = said_in(of_kind(run, "message"))
        kinds = {
            str(row["agent"]): row["memory"] for row in run.agents(as_records=True)
        }
        for step in run.steps:
            if step and not step % self.every:
                shown = texts_by_agent(run.prompts(step=step, as_records=True))
                yield from self._look(step, said, shown, kinds)

    def _look(
        self, now: float, said: Iterable[Said], shown: ByAgent, kinds: ByAgent
    ) -> list[HeardStatement]:
        """The statements of one step, by agent and interval.

        Args:
            shown, kinds: what each agent read of its memory, and the class of this.
        """
        last: dict[str, dict[str, float]] = defaultdict(dict)
        told: dict[float, dict[str, None]] = defaultdict(dict)
        own = set()
        for each in sorted(said):
            if each.step > now:
                break
            last[each.agent][each.text] = each.step
            if each.sender == each.agent:
                own.add((each.agent, each.text))
            else:
                told[each.step][each.text] = None
        found = []
        for agent, text in sorted(shown.items()):
            lines, known, memory = sentences(text), last[agent], kinds.get(agent, "")
            for interval in self.intervals:
                then = now - interval
                old = [
                    each
                    for each in told[then]
                    if known.get(each) == then and (agent, each) not in own
                ]
                new = [each for each in told[then] if each not in known]
                chance = random.Random(f"retention {now:g} {agent} {interval}")
                old = self._some(chance, old)
                new = [e for e in self._some(chance, new) if not is_stated(e, [*known])]
                place = now, agent, memory, interval
                found += [
                    HeardStatement(*place, each, was, is_stated(each, lines))
                    for was, several in ((True, old), (False, new))
                    for each in several
                ]
        return found

    def _some(self, chance: random.Random, texts: Sequence[str]) -> list[str]:
        """Some of the texts that tell something, in order."""
        telling = [text for text in texts if is_telling(text)]
        if len(telling) <= self.items:
            return telling
        chosen = sorted(chance.sample(range(len(telling)), self.items))
        return [telling[place] for place in chosen]


def message_rows(model: Any) -> list[dict[str, Any]]:
    """The messages of a recorded model until now, one row for each agent's record.

    Raises:
        StudyError: if the model is not recorded.
    """
    recorder: Any = Services.of(model).recorder
    if recorder is None:
        raise StudyError(
            "what agents heard is read from what a run records, and this model is not "
            "recorded: use Study(record=True) or configure(model, record=…)"
        )
    recorder.await_writer()
    before = of_kind(Run(recorder.store, recorder.run, lent=True), "message")
    names = ("content", "origin", "step", "agent")
    new = [r for r in recorder.changes.opened if r.kind == "message"]
    return [*before, *({name: getattr(r, name) for name in names} for r in new)]


def said_in(rows: Iterable[Mapping[str, Any]]) -> list[Said]:
    """The sentences of messages that no memory made itself, by step and agent."""
    found = []
    for row in rows:
        content = row["content"]
        if row["origin"] != DERIVED and isinstance(content, Mapping):
            place = float(row["step"]), str(row["agent"]), str(content.get("sender"))
            said = sentences(str(content.get("message") or ""))
            found += [Said(*place, text.strip()) for text in said]
    return sorted(found)


def texts_by_agent(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """All that each agent was shown of its memory, by unique id as text.

    Args:
        rows: of ``Run.prompts``.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        found[str(row["agent"])].append(row["text"] or "")
    return {agent: "\n".join(texts) for agent, texts in found.items()}


#: columns of the numbers of statements
COUNTED = ("memory", "interval", "old", "old_shown", "new", "new_shown")


def counted(statements: Iterable[HeardStatement]) -> list[dict[str, Any]]:
    """The numbers of statements by memory and interval, in order."""
    found: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for each in statements:
        counts, place = found[each.memory, each.interval], 0 if each.old else 2
        counts[place] += 1
        counts[place + 1] += each.shown
    return [dict(zip(COUNTED, (*key, *own))) for key, own in sorted(found.items())]


class RetentionResult:
    """The retention of a recorded run.

    Attributes:
        statements: a row for each statement looked for, see ``HeardStatement``.
    """

    def __init__(self, statements: Iterable[HeardStatement]) -> None:
        import pandas as pd

        found = list(statements)
        self.statements: pd.DataFrame = pd.DataFrame(
            found, columns=HeardStatement._fields
        )
        self._counts = counted(found)

    @cached_property
    def curve(self) -> "pd.DataFrame":
        """A row for each memory and interval.

        ``kept`` is the share of old statements that are shown, ``false`` that of new
        ones, ``retention`` their difference, -1 to 1; NaN without statements.
        """
        import pandas as pd

        curve = pd.DataFrame(self._counts, columns=COUNTED)
        curve["kept"] = curve["old_shown"] / curve["old"]
        curve["false"] = curve["new_shown"] / curve["new"]
        curve["retention"] = curve["kept"] - curve["false"].fillna(0)
        return curve

    def __str__(self) -> str:
        return self.curve.to_string(index=False, float_format="%.2f", na_rep="")


def retention(run: Run, **given: Any) -> RetentionResult:
    """The retention of a recorded run, without a request.

    Args:
        run: see ``open_run``.
        **given: ``intervals``, ``items`` and ``every`` of ``Retention``.
    """
    return RetentionResult(Retention(**given).statements(run))
