"""The events that a stated fact comes from: by its words, not by the model's number.

A message can tell the model to name another line as its source. Therefore a line is
evidence only if it contains the subject or the value of the fact, and an observation makes
the agent a witness only if no message fits the fact better.
"""

from collections.abc import Sequence
from dataclasses import replace

from mesa_memory.tasks.extract import Candidate
from mesa_memory.tasks.grounding import share

#: how much of a fact's value and of its subject a line contains
type Fit = tuple[float, float]

_NOTHING, _ALL = (0.0, 0.0), (1.0, 1.0)


#: the words of an event with the name of its speaker, and whether it is a message of an
#: agent, not an observation or action
type SourceLine = tuple[str, bool]


def checked_sources(
    stated: Candidate, lines: Sequence[SourceLine], own: bool
) -> Candidate:
    """The statement with the lines that it comes from as its sources.

    Named lines stay sources if they contain the subject or the value. If none does, the
    line that contains most of them becomes the source. Without such a line, the
    named lines stay, but the agent is not a witness.

    Args:
        lines: all events of the request.
        own: True if the statement is about the agent that remembers. Its observations
            and actions need not name it.
    """
    if not stated.sources:
        return stated
    fits = [_fit(stated, line, own) for line in lines]
    heard = [is_message for _, is_message in lines]
    said = max((fits[p] for p, h in enumerate(heard) if h), default=_NOTHING)

    def proves(place: int) -> bool:
        return fits[place] > _NOTHING and (heard[place] or fits[place] >= said)

    sources = tuple(filter(proves, stated.sources))
    if not sources:
        best = max(range(len(lines)), key=lambda p: (fits[p], heard[p], -p))
        # A message may say "he", so only a line that has all of it replaces one.
        least = _ALL if any(heard[p] for p in stated.sources) else _NOTHING
        found = fits[best] > _NOTHING and fits[best] >= least
        sources = (best,) if found else stated.sources
    witnessed = [
        place
        for place in sources
        if proves(place)
        and not heard[place]
        and (fits[place] > said or fits[place][0] == 1)
    ]
    return replace(stated, sources=sources, witnessed=tuple(witnessed))


def _fit(stated: Candidate, line: SourceLine, own: bool) -> Fit:
    text, heard = line
    subject = 1.0 if own and not heard else share(stated.subject, text)
    return share(stated.value, text), subject
