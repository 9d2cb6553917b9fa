"""A prompt made of sections, within one budget of tokens.

What is left out is counted in the text and reported. Each line of an agent's memory
begins with ``- `` or stands for a step, so that no text of an agent looks like a heading.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.layers.base import Layer
from mesa_memory.layers.conversations import Conversations
from mesa_memory.layers.facts.layer import Facts
from mesa_memory.layers.lines import Line, folded_for, repeated_text, under_steps
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.layers.view import StepView
from mesa_memory.memories.prompt.budget import Fitted, Item, Share, fit

#: gives the tokens of a text
type Counter = Callable[[str], int]
#: shortest useful beginning and end of a line that is too long, in characters
LEAST_CHARS = 60
#: of the records that a section had no room for, as many are recorded by name
NAMED_RECORDS = 50


@dataclass
class Section:
    """One part of a prompt.

    Attributes:
        name: of the layer that it shows.
        heading: its title.
        lines: what it would show, oldest first.
        weight: its part of the budget is this over the sum of all.
        left: the part ``left out`` of the prompt file ``memory`` that counts the lines
            without room.
        steps: its lines stand under the step at which they happened.
        problem: the reason why it is incomplete; empty if it is complete.
        weak: nothing fits what its lines were recalled for.
        recall_left_out: how many further lines could have been recalled.
        empty: its text without lines; shown in a prompt if no section has lines.
        wording: of its steps and notes.
    """

    name: str
    heading: str
    lines: list[Line] = field(default_factory=list)
    weight: float = 1.0
    left: str = "lines"
    steps: bool = False
    problem: str = ""
    weak: bool = False
    recall_left_out: int = 0
    empty: str = ""
    wording: Wording = ENGLISH

    @classmethod
    def of(
        cls, view: StepView, layer: Layer, lines: list[Line], **given: Any
    ) -> "Section":
        """The section of a layer under its heading.

        That is its own, or else the prompt file's for its name or for that of its class
        (a second layer of a class has a number), or its name.
        """
        wording, heading = view.wording, layer.heading
        for name in () if heading else (type(layer).name, layer.name):
            if wording.has("memory", f"heading {name}"):
                heading = wording("memory", f"heading {name}")
        title = render.one_line(heading or layer.name)
        if (until := getattr(layer, "until", None)) is not None:
            title = render.until_step(title, until, wording)
        told = folded_for(view, lines)
        return cls(layer.name, title, told, wording=wording, **given)

    def share(self, count: Counter) -> Share:
        """Its lines with their sizes."""
        items = [
            Item(
                size=count(f"- {line.text}\n"),
                rank=line.rank,
                # What a layer says of an event itself stands beside the event.
                keys=tuple([record.id for record in line.records]) if line.kind else (),
                group=line.step if self.steps else None,
            )
            for line in self.lines
        ]
        steps = {line.step for line in self.lines} if self.steps else ()
        headings = [render.step_heading(step, self.wording) for step in steps]
        group = max([count(f"{heading}\n") for heading in headings], default=0)
        return Share(items, self.weight, count(self._frame(len(items))), group)

    def text(self, body: str) -> str:
        """A body under its heading; empty without one."""
        return f"{self.heading}:\n{body}" if body else ""

    def body(self, fitted: Fitted, count: Counter) -> str:
        """Its text below the heading; empty without room for a line."""
        if not self.lines:
            return self.problem or self.empty
        lines = [self.lines[place] for place in fitted.shown]
        missing = len(fitted.left_out)
        if fitted.cut is not None:
            place, room = fitted.cut
            short = _shortened(self.lines[place], room, count)
            lines, missing = [*lines, *short], missing - len(short)
        if not fitted.tokens or not (lines or missing):
            return ""  # all of it is shown elsewhere
        above = [self.problem] * bool(self.problem)
        if missing:
            above.append(self._note(missing))
        if self.weak and (missing or self.recall_left_out):
            above.append(self.wording.told("unsure"))
        if self.steps:
            told = under_steps(lines, self.wording)
        else:
            told = [f"- {line.text}" for line in lines]
        return "\n".join([*above, *told])

    def _note(self, count: int) -> str:
        """A remark on lines that do not fit."""
        return self.wording.told(f"left out {self.left}", count=count)

    def _frame(self, lines: int) -> str:
        """All that is shown besides its lines."""
        unsure = self.wording.told("unsure") if self.weak else ""
        return f"\n{self.heading}:\n{self.problem}\n{self._note(lines)}\n{unsure}\n"


@dataclass(frozen=True)
class SectionReport:
    """A report on one section.

    Attributes:
        name: of the layer.
        share: its part of the budget, from 0 to 1.
        tokens: what its text takes.
        shown: ids of the records that it shows.
        left_out: ids of the omitted records.
        lines, lines_left_out: how many.
    """

    name: str
    share: float
    tokens: int
    shown: tuple[str, ...]
    left_out: tuple[str, ...]
    lines: int
    lines_left_out: int


@dataclass(frozen=True)
class BudgetReport:
    """A report on a prompt.

    Attributes:
        budget: the most tokens that it may have.
        tokens: its size.
        sections: in the order in which they are shown.
    """

    budget: int
    tokens: int
    sections: tuple[SectionReport, ...]

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Ids of the omitted records by section, if any."""
        return {each.name: each.left_out for each in self.sections if each.left_out}

    @property
    def content(self) -> dict[str, Any]:
        """The report as it is recorded; of the records left out, the newest are named."""
        return {
            "budget": self.budget,
            "tokens": self.tokens,
            "sections": [
                {
                    "name": each.name,
                    "share": round(each.share, 6),
                    "tokens": each.tokens,
                    "lines": each.lines,
                    "lines_left_out": each.lines_left_out,
                    "left_out": list(each.left_out[-NAMED_RECORDS:]),
                    "records_left_out": len(each.left_out),
                }
                for each in self.sections
            ],
        }


@dataclass(frozen=True)
class Prompt:
    """A composed prompt.

    Attributes:
        fitted: the visible part of each section, in the order in which they are shown.
        bodies: of each, the text without its heading.
        texts: of each, with its heading.
        report: what was left out.
    """

    fitted: tuple[Fitted, ...]
    bodies: tuple[str, ...]
    texts: tuple[str, ...]
    report: BudgetReport

    @property
    def text(self) -> str:
        """The whole prompt."""
        return joined(self.texts)

    def shown(self) -> set[str]:
        """Ids of all records that it shows."""
        return {key for each in self.report.sections for key in each.shown}


def compose(sections: Sequence[Section], budget: int, count: Counter) -> Prompt:
    """The prompt of these sections, at most ``budget`` tokens as ``count`` counts them.

    Args:
        sections: in the order in which they are shown. What changes most comes last; it
            is the one that shows a record that others hold, too.
    """
    shares = [section.share(count) for section in sections]
    some = any(section.lines for section in sections)
    bare = [
        each.text(each.problem or each.empty * (not some))
        for each in sections
        if not each.lines
    ]

    def fitting(room: int) -> tuple[list[Fitted], list[str], int]:
        fitted = fit(shares[::-1], room)[::-1]
        pairs = zip(sections, fitted, strict=True)
        bodies = [section.body(found, count) for section, found in pairs]
        return fitted, bodies, count(joined(under_headings(bodies))) - budget

    def under_headings(bodies: Sequence[str]) -> list[str]:
        pairs = zip(sections, bodies, strict=True)
        return [
            "" if some and body == section.empty else section.text(body)
            for section, body in pairs
        ]

    # The sizes of lines do not quite add up to that of the whole text.
    room = budget - sum([count(f"{text}\n\n") for text in bare])
    fitted, bodies, excess = fitting(room)
    while excess > 0 and any(found.tokens for found in fitted):
        room = min(room, sum([found.tokens for found in fitted])) - excess
        fitted, bodies, excess = fitting(room)
    if excess < 0 and any(found.left_out for found in fitted):
        more = fitting(room - excess)
        if more[-1] <= 0:
            fitted, bodies, excess = more
    texts = under_headings(bodies)
    if excess > 0:  # not even what says that something is wrong has room
        texts, excess = [""] * len(texts), -budget
    weight = sum([section.weight for section in sections]) or 1.0
    reports = [
        _reported(section, found, count(text), section.weight / weight)
        for section, found, text in zip(sections, fitted, texts, strict=True)
    ]
    report = BudgetReport(budget, budget + excess, tuple(reports))
    return Prompt(tuple(fitted), tuple(bodies), tuple(texts), report)


def joined(texts: Sequence[str]) -> str:
    """Sections one below the other."""
    return "\n\n".join([text for text in texts if text])


def _reported(
    section: Section, fitted: Fitted, tokens: int, share: float
) -> SectionReport:
    """The report on a section; a line that is shown in part counts as shown."""
    cut = {fitted.cut[0]} if fitted.cut is not None else set()
    shown = [section.lines[place] for place in sorted({*fitted.shown, *cut})]
    left_out = [section.lines[p] for p in fitted.left_out if p not in cut]
    return SectionReport(
        section.name,
        share,
        tokens,
        _ids(shown),
        _ids(left_out),
        len(shown),
        len(left_out),
    )


def _ids(lines: Sequence[Line]) -> tuple[str, ...]:
    return tuple({record.id: None for line in lines for record in line.records})


def _shortened(line: Line, room: int, count: Counter) -> list[Line]:
    """A line with so much of its middle left out that it has room, if it can."""
    chars = min(len(line.text), 4 * room)
    while chars >= LEAST_CHARS:
        short = render.shorten(line.text, chars)
        if count(f"- {short}\n") <= room:
            return [line._replace(text=short)]
        chars = chars * 3 // 4
    return []


#: lines of a layer, and what was recalled for them, if anything
type Found = tuple[Sequence[Line], RecallResult | None]


def recollection_of(layer: Layer) -> Recollection | None:
    """The ranker of a layer's records; None if it does not recall."""
    if isinstance(layer, EventStream | Conversations):
        return layer.recollection
    return layer.lines.recollection if isinstance(layer, Facts) else None


def has_section(layer: Layer) -> bool:
    """True if a layer shows more than recent steps."""
    return isinstance(layer, EventStream) or type(layer).summary is not Layer.summary


def lines_of(view: StepView, layer: Layer) -> Found:
    """The lines of a layer beyond recent steps; of a stream, the recalled events."""
    if isinstance(layer, EventStream):
        return _recalled(view, layer)
    if isinstance(layer, Conversations):
        return _called_for(view, layer)
    return layer.summary(view), None


def recent_turns(view: StepView, layers: Sequence[Layer]) -> list[Line]:
    """The newest turns of conversations that are not summarised, by age."""
    talks = (layer for layer in layers if isinstance(layer, Conversations))
    turns = [turn for layer in talks for turn in layer.recent(view)]
    return sorted(turns, key=lambda turn: turn.records[0].order)


def _called_for(view: StepView, layer: Conversations) -> Found:
    """The summaries recalled for the dialogue, and then the newest."""
    found = layer.bring_to_mind(view)
    records = [each.record for each in found.records] if found else []
    earlier = sorted(records, key=lambda record: record.order)
    # What the dialogue calls for stays longer than the newest.
    called = [layer.told(view, each)._replace(rank=view.now) for each in earlier]
    return [*called, *layer.summary(view)], found


def _recalled(view: StepView, stream: EventStream) -> Found:
    """The recalled events, oldest first, with their score as rank.

    One that was said several times is told so, unless an older one is recalled for its
    own speaker or time.
    """
    found = stream.bring_to_mind(view)
    scored = {each.record.id: each for each in found.records}
    lines = []
    for key in stream.index.ranking.by_arrival(scored):
        event, rank = scored[key].record, scored[key].score
        text, of, times = view.own_line(event), [event], scored[key].times
        again = scored[key].repetitions
        if times > 1 and not (again and again[-1].order > event.order):
            of, limit = [*again, event], view.limits.event_chars
            text = repeated_text(of, text, times, limit, view.own_voice)
        lines.append(Line(text, tuple(of), event.step, event.kind, rank, view.wording))
    return lines, found
