"""Placebo memories: an agent is shown something else of the same length.

The memory itself stores, thinks and asks as before: only what the agent reads is changed,
and the record has the text that the agent read.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import cycle, islice
from typing import Any, ClassVar

from mesa_memory.core.render import one_line, step_pattern
from mesa_memory.core.wording import Wording
from mesa_memory.hosts.draws import draw
from mesa_memory.layers.view import reading
from mesa_memory.memories.host.reads import SHOWN_SECTIONS, MemoryReads

#: begins the name of a placebo where a memory has a name
PREFIX = "placebo:"
#: what is shown instead of a text: ``(memory, section, text) -> text``
type Change = Callable[[Any, str, str], str]

_READS = {section: name for name, section in SHOWN_SECTIONS.items()}
_WORD = re.compile(r"\s*\S+")
#: text about nothing that an agent of a simulation meets
FILLER = (
    "The shelf in the hall is made of plain wood. A cloud passes over the hill and is "
    "gone. Water is wet and stones are hard. The clock on the wall has two hands. Grass "
    "grows slowly in the shade. A blue cup is a cup. The road has a left side and a "
    "right side. Paper is thin. Some doors open inwards and some open outwards. Snow is "
    "white in the morning light. "
)  # fmt: skip


@dataclass(frozen=True)
class Placebo:
    """Shows another text with the same number of tokens.

    Attributes:
        kind: its name, for the record.
        change: makes the text; it is cut or padded with filler afterwards.
        masks: records of the memory must not reach the agent in another way.
    """

    masks: ClassVar[bool] = True
    kind: str
    change: Change

    def __call__(self, memory: Any, section: str, text: str) -> str:
        """The text to show instead of this one; an empty text stays empty."""
        if not text.strip():
            return text
        count = memory.model_choice.count_tokens
        return of_length(self.change(memory, section, text), count(text), count)

    def __str__(self) -> str:
        """The kind."""
        return f"placebo {self.kind}"


def shuffled(memory: Any, section: str, text: str) -> str:
    """The agent's own lines in another order, also under other dates; headings stay."""
    lines, places = _own_lines(memory, text)
    order = _draw(memory, section, "shuffled").permutation(len(places))
    for place, other in zip(places, [lines[places[i]] for i in order]):
        lines[place] = other
    return "\n".join(lines)


def scrambled(memory: Any, section: str, text: str) -> str:
    """The agent's own words without order; headings and the lengths of lines stay."""
    lines, places = _own_lines(memory, text)
    words = [word for place in places for word in lines[place].split()]
    order = iter(_draw(memory, section, "scrambled").permutation(len(words)))
    for place in places:
        number = len(lines[place].split())
        lines[place] = " ".join(words[i] for i in islice(order, number))
    return "\n".join(lines)


def _own_lines(memory: Any, text: str) -> tuple[list[str], list[int]]:
    """The lines of a text, and the places of all lines but headings."""
    lines, fixed = text.split("\n"), _headings(memory)
    return lines, [i for i, line in enumerate(lines) if not fixed(line)]


def neutral(memory: Any, section: str, text: str) -> str:
    """Filler instead of each line; headings stay."""
    start = int(_draw(memory, section, "neutral").integers(len(FILLER)))
    letters, fixed = cycle(FILLER[start:] + FILLER[:start]), _headings(memory)
    return "\n".join(
        line if fixed(line) else "".join(islice(letters, len(line)))
        for line in text.split("\n")
    )


def other_agent(memory: Any, section: str, text: str) -> str:
    """The text of one other agent at this moment; the same agent in the whole run.

    In a world where news is passed on it may tell what the agent has heard, too.
    """
    me = memory.agent
    others = [
        agent
        for agent in me.model.agents
        if agent is not me and isinstance(getattr(agent, "memory", None), MemoryReads)
    ]
    if not others or section not in _READS:
        return ""
    # A rank of its own for each, so that others who come or go change nothing.
    purpose = f"placebo of {me.unique_id}"
    chosen = max(others, key=lambda agent: draw(agent, purpose, 0).random()).memory
    with reading(
        chosen, unnoticed=True, nested=True
    ):  # as a part, which is not recorded
        return str(getattr(chosen, _READS[section])())


KINDS: dict[str, Change] = {
    "shuffled": shuffled,
    "scrambled": scrambled,
    "neutral": neutral,
    "other_agent": other_agent,
}


def placebo_of(maker: Callable[[Any], Any], kind: str) -> "partial[Any]":
    """A maker of memories whose agents are shown a placebo of a kind of ``KINDS``.

    Raises:
        ValueError: for another kind, or if the memory is a placebo already.
    """
    if kind not in KINDS:
        raise ValueError(
            f"there is no placebo {kind!r} by name: choose from {', '.join(KINDS)}, "
            "such as 'placebo:neutral:stlt', or give placebo(…) from "
            "mesa_memory.experiments"
        )
    return showing(maker, Placebo(kind, KINDS[kind]))


def showing(maker: Callable[[Any], Any], change: Change) -> "partial[Any]":
    """A maker of memories whose agents are shown ``change(memory, section, text)``.

    Raises:
        ValueError: if the maker is one of these already.
    """
    if isinstance(maker, partial) and maker.func is make_showing:
        raise ValueError(
            "a placebo of a placebo is not possible: give the memory itself"
        )
    return partial(make_showing, memory=maker, instead=change)


def make_showing(
    agent: Any, *, memory: Callable[[Any], Any], instead: Change
) -> MemoryReads:
    """The memory of an agent that is shown something else.

    Raises:
        TypeError: if it does not inherit from this package's base class.
    """
    made = memory(agent)
    if not isinstance(made, MemoryReads):
        raise TypeError(
            f"a placebo needs a memory that inherits from mesa_memory.MemoryModule, got "
            f"{type(made).__name__}"
        )
    made.shown_instead = instead
    return made


def of_length(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """The text with this number of tokens: cut between words, or padded with filler."""
    words = _WORD.findall(text)
    long = count(text) > tokens
    pieces = (
        words if long else [*words, *islice(cycle(_WORD.findall(f" {FILLER}")), tokens)]
    )
    first = 0 if long else len(words)
    fits = bisect_right(
        range(first, len(pieces) + 1), tokens, key=lambda n: count("".join(pieces[:n]))
    )
    told = "".join(pieces[: max(first, first + fits - 1)])
    # The next word may have several tokens too many; short ones of the filler fit.
    for piece in _WORD.findall(f" {FILLER}"):
        if count(told) < tokens and count(told + piece) <= tokens:
            told += piece
    return told


def _headings(memory: Any) -> Callable[[str], object]:
    """Tells empty lines, and headings that the prompt file or a layer has: these stay."""
    titles = [layer.heading or layer.name for layer in memory.layers]
    return _known(memory.view().wording, tuple(titles)).fullmatch


@lru_cache(maxsize=100)
def _known(wording: Wording, titles: Sequence[str]) -> re.Pattern[str]:
    parts = [part for part in wording.parts("memory") if part.startswith("heading ")]
    named = [*map(one_line, titles), *map(wording.told, parts)]
    dated = [wording.told("until", line=title, step="\0") for title in named]
    forms = [re.escape(f"{title}:") for title in (*named, *dated)]
    forms += [re.escape(wording.told("unsure")), step_pattern("step", wording), ""]
    return re.compile(
        rf"\s*(?:{'|'.join(forms)})\s*".replace(re.escape("\0"), r"[-\d.]+")
    )


def _draw(memory: Any, section: str, kind: str) -> Any:
    return draw(memory.agent, f"placebo {kind} {section}")
