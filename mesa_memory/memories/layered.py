"""Any layers together, shown within one budget of tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, Unpack

from mesa_memory.core import render
from mesa_memory.core.records import Part
from mesa_memory.core.requests import FAULTS, Fault, Flow, first_fault, gather
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.statement import KEEP
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.layers.base import Layer
from mesa_memory.layers.lines import Line, folded_for
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.recalling import RecallResult
from mesa_memory.layers.view import StepView
from mesa_memory.memories import presets
from mesa_memory.memories.host.entries import Entry, step_entries
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions, opening_text
from mesa_memory.memories.host.recalls import RecallMixin, RecallService
from mesa_memory.memories.prompt.sections import (
    BudgetReport,
    Prompt,
    Section,
    compose,
    has_section,
    joined,
    lines_of,
    recent_turns,
    recollection_of,
)

#: name of the section that shows recent steps word for word, of whatever layer
RECENT_SECTION = "recent"
#: fewest tokens that a prompt may be given
MIN_BUDGET_TOKENS = 100
#: about the number of characters of recent steps that have room in a token
TOKEN_CHARS = 3


class LayeredMemory(RecallMixin, MemoryModule):
    """Layers of your own choice, shown in one prompt within one budget.

    Each layer receives each event, and all think at the same time. In the prompt the
    layers that change least come first, and recent steps last. Lines without room are
    counted in the text, see ``budget_report``. A layer that fails does not stop the
    others; its section says that it is not up to date.

    Args:
        agent: the agent that owns the memory.
        layers: new ones for each agent; a layer that reads another one, such as a
            summary of a window, needs that one among them. By default recent steps, a
            running summary of older ones, and impressions of other agents.
        budget: most tokens of the prompt, at least 100, as the model counts them.
        shares: the part of the budget of each layer, by name, in any unit; recent steps
            are called ``"recent"``. What one does not need goes to the others. By
            default recent steps have half of it, and the layers equal parts of the rest.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        budget, shares: as given; may be changed.

    Raises:
        ValueError: for a budget below 100, a share that is not above 0 or of no layer,
            or layers that belong to another memory.
        TypeError: if one of the layers is not a ``Layer``.
    """

    layer = "layered"
    restored = ("_faults", "budget", "_shares")
    budget = 2000
    _shares: Mapping[str, float] = {}
    _recalls: Mapping[str, RecallService] = {}
    _faults: Mapping[str, tuple[float, str]] = {}  # since when, and what; by layer

    def __init__(
        self,
        agent: Any,
        layers: Iterable[Layer] | None = None,
        budget: int = 2000,
        shares: Mapping[str, float] | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        self.budget = checked_int("budget", budget, least=MIN_BUDGET_TOKENS)
        self.journal.shared = True
        chosen = presets.usual() if layers is None else list(layers)
        if not chosen:
            raise ValueError("layers must have at least one layer, such as Window(5)")
        super().__init__(agent, layers=chosen, **options)
        self._section_limited = "section_chars" in options
        for place, layer in enumerate(self.layers):
            layer.part = Part(layer.name, place)
        self._recalls = {
            layer.name: RecallService(self, ranker)
            for layer in self.layers
            if (ranker := recollection_of(layer)) is not None
        }
        self.shares = {} if shares is None else shares

    @property
    def memory_entries(self) -> list[Entry]:
        """The events that are held, one entry for each step, oldest first."""
        return step_entries(self)

    @classmethod
    def unimatrix(cls, agent: Any, **given: Any) -> Self:
        """Conversations, and a sentence on each person; see ``presets``.

        Args:
            agent: the agent that owns the memory.
            **given: further arguments of ``LayeredMemory``.
        """
        return cls._published(agent, presets.unimatrix(), given, budget=4000)

    @classmethod
    def story_engine(cls, agent: Any, **given: Any) -> Self:
        """A character of a story engine, within 2,000 tokens; see ``presets``.

        Args:
            agent: the agent that owns the memory.
            **given: further arguments of ``LayeredMemory``.
        """
        # Its own policy says when the story is too long.
        own: dict[str, Any] = (
            {} if "budget" in given else {"section_chars": presets.STORY_CHARS}
        )
        own |= {"shares": presets.STORY_SHARES}
        return cls._published(agent, presets.story_engine(), given, **own)

    @classmethod
    def session(cls, agent: Any, **given: Any) -> Self:
        """A session, and facts that outlive it; see ``presets``.

        Both fit whole: the prompt may have 8,000 tokens.

        Args:
            agent: the agent that owns the memory.
            **given: further arguments of ``LayeredMemory``.
        """
        return cls._published(agent, presets.session(), given, budget=8000)

    @classmethod
    def generative_agent(cls, agent: Any, **given: Any) -> Self:
        """The memory stream of Park et al. 2023; see ``presets.generative_agent``.

        Args:
            agent: the agent that owns the memory.
            **given: further arguments of ``LayeredMemory``.
        """
        return cls._published(agent, presets.generative_agent(), given)

    @classmethod
    def _published(
        cls, agent: Any, layers: list[Layer], given: dict[str, Any], **usual: Any
    ) -> Self:
        """A well-known system, which shows repetitions each by itself."""
        return cls(agent, layers, **{**usual, "repetitions": KEEP, **given})

    @property
    def shares(self) -> Mapping[str, float]:
        """The part of the budget of each layer, by name; may be replaced."""
        return self._shares

    @shares.setter
    def shares(self, shares: Mapping[str, float]) -> None:
        names = [RECENT_SECTION, *(layer.name for layer in self.layers)]
        unknown = sorted(set(shares) - set(names))
        if unknown:
            raise ValueError(
                f"shares has no layer {', '.join(map(repr, unknown))}; the layers are "
                f"{', '.join(names)}"
            )
        for name, share in shares.items():
            checked_number(f"shares[{name!r}]", share, above=True)
        self._shares = dict(shares)
        if not self._section_limited:
            # A summary takes over what the recent steps have no room for.
            sections = [layer.name for layer in self.layers if has_section(layer)]
            others = sum(self._shares.get(name, 1.0) for name in sections)
            own = self._recent_weight(others)
            chars = TOKEN_CHARS * self.budget * own / (own + others)
            self.section_chars = max(MIN_BUDGET_TOKENS, int(chars))

    # -- the step -------------------------------------------------------------------

    def remember(self, view: StepView) -> Flow[None]:
        """Lets all layers think at the same time; a failing one does not stop others.

        Raises:
            LLMError, EmbedderError: the first fault, after all layers have thought.
        """
        faults = yield from self._think(view)
        now, before = view.now, self._faults
        self._faults = {
            name: (before.get(name, (now, ""))[0], type(fault).__name__)
            for name, fault in faults.items()
        }
        if worst := first_fault(faults.values()):
            raise worst

    def _think(self, view: StepView) -> Flow[dict[str, Fault]]:
        """Lets each layer remember, at its own pace.

        A layer changes nothing but what is its own, and its records are numbered apart
        (see ``records.Part``), so that it does not matter whose reply comes first.

        Returns:
            By the layer's name, the fault that ended its flow.
        """
        guarded = self.work.guarded
        outcomes = yield from gather(
            guarded(each.remember(view)) for each in self.layers
        )
        return {
            layer.name: outcome
            for layer, outcome in zip(self.layers, outcomes, strict=True)
            if isinstance(outcome, FAULTS)
        }

    # -- what is shown ----------------------------------------------------------------

    def prompt_text(self) -> str:
        """The memory as prompt text, at most ``budget`` tokens."""
        return self._composed().text

    def format_long_term(self) -> str:
        """The prompt's sections without the recent steps."""
        return joined(self._composed().texts[:-1])

    def format_short_term(self) -> str:
        """The recent steps of the prompt."""
        with self.peek():
            return self._composed().bodies[-1]

    def get_communication_history(self) -> str:
        """Nothing: messages stand in the prompt, as far as its budget goes.

        ``messages`` has them all.
        """
        return ""

    def budget_report(self) -> BudgetReport:
        """The lines that a prompt would show and leave out now; leaves no trace."""
        self.settle()
        with self.peek(), self.exclusive():
            return self._composed().report

    def count(self, text: str) -> int:
        """The tokens of a text, as the model that is asked counts them."""
        return self.model_choice.count_tokens(text)

    def _composed(self) -> Prompt:
        """The prompt of this moment; its recalls are recorded."""
        view = self.view()
        found: dict[str, RecallResult] = {}
        shown = [layer for layer in self.layers if has_section(layer)]
        shown.sort(key=lambda layer: layer.volatility)
        sections = [self._section(view, layer, found) for layer in shown]
        sections.append(self._recent(view, sum(section.weight for section in sections)))
        room = self.budget - self.count(opening_text(view))
        prompt = compose(sections, room, self.count)
        seen = prompt.shown()
        for recalled in found.values():
            view.note_recall("prompt", recalled, lambda r: r.record.id in seen)
        if not view.unnoticed:
            self.journal.budget_used = prompt.report.content
        return prompt

    def _section(
        self, view: StepView, layer: Layer, found: dict[str, RecallResult]
    ) -> Section:
        """The section of a layer."""
        stream = isinstance(layer, EventStream)
        section = Section.of(
            view,
            layer,
            [],
            weight=self._shares.get(layer.name, 1.0),
            left="memories" if stream else "lines",
            steps=stream,
            problem=self._problem(view, layer),
        )
        try:
            lines, recalled = lines_of(view, layer)
        except FAULTS as fault:
            name = type(fault).__name__
            section.problem = view.told("not available", fault=name)
            return section
        if recalled is not None:
            found[layer.name] = recalled
            section.weak, section.recall_left_out = recalled.weak, recalled.left_out
        return replace(section, lines=folded_for(view, lines))

    def _recent(self, view: StepView, others: float) -> Section:
        """Recent steps, the one under way included."""
        plain = [layer for layer in self.layers if not has_section(layer)]
        problems = [text for layer in plain if (text := self._problem(view, layer))]
        return Section(
            RECENT_SECTION,
            view.told("heading short_term"),
            folded_for(view, self._verbatim(view), recent=True),
            self._recent_weight(others),
            left="events",
            steps=True,
            problem="\n".join(problems),
            empty=view.told("nothing recent"),
            wording=view.wording,
        )

    def _verbatim(self, view: StepView) -> list[Line]:
        """The verbatim lines: recent steps, and conversations under way."""
        turns, steps = recent_turns(view, self.layers), self.recent()
        if not turns:
            return steps
        known = {record.id for turn in turns for record in turn.records}
        others = [s for s in steps if not s.records or not known.issuperset(s.ids)]
        return sorted([*turns, *others], key=_happened)

    def _recent_weight(self, others: float) -> float:
        """The part of the recent steps: their own, that of their layers, or half."""
        plain = [layer.name for layer in self.layers if not has_section(layer)]
        weights = [self._shares[name] for name in plain if name in self._shares]
        return self._shares.get(RECENT_SECTION) or sum(weights) or others or 1.0

    def _problem(self, view: StepView, layer: Layer) -> str:
        if layer.name not in self._faults:
            return ""
        since, what = self._faults[layer.name]
        step = render.value_text(since)
        return view.told("unfinished since", step=step, fault=what)

    # -- recall -----------------------------------------------------------------------

    def rankers(self) -> list[RecallService]:
        """The recalls of its layers, those of streams of events first.

        Without any, ``recall`` ranks all current records by their words.
        """
        streams = {e.name for e in self.layers if isinstance(e, EventStream)}
        first = sorted(self._recalls.items(), key=lambda each: each[0] not in streams)
        return [recalls for _, recalls in first]

    # -- its state --------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; and which layers are not up to date."""
        faults = [[name, *fault] for name, fault in self._faults.items()]
        return super().snapshot() | ({"faults": faults} if faults else {})

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        faults = snapshot.get("faults", ())
        self._faults = {name: (since, what) for name, since, what in faults}


def _happened(line: Line) -> tuple[Any, Any]:
    """Step of a line's event, and its place in that step."""
    return line.step or 0, line.records[0].order if line.records else (float("inf"),)
