"""The events that an extractive summary remembers, and how it tells them."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self

from mesa_memory.core.render import at_step, step_pattern
from mesa_memory.core.statement import words_key
from mesa_memory.core.wording import MAX_ADDRESSEES, Wording

#: values that stand for themselves in a form, and what is read in their place
_SIGNS = {
    "\1": "(?P<who>.+?)",
    "\2": "(?P<to>.+?)",
    "\3": r"(?P<count>\d+)",
    "\4": r"(?P<step>[-\d.]+)",
    "\5": "(?P<text>.+)",
}
_TIMES = {"count": "\3", "step": "\4"}
#: most events that are read, and keyed, once; each summary goes over the same ones
_REMEMBERED = 2**13
_key = lru_cache(_REMEMBERED)(words_key)


class Remembered(NamedTuple):
    """An event in words, or several that say the same.

    Attributes:
        text: what was said or what happened.
        step: of the newest; empty without one.
        who: names of the speakers; empty for what is no message.
        to: names of the listeners, as far as they are known.
        times: how often it was.
        first: the step of the oldest, as far as it is known.
        item: all of it on one line, as a summary tells it.
    """

    text: str
    step: str
    who: tuple[str, ...]
    to: tuple[str, ...]
    times: int
    first: str
    item: str

    @classmethod
    @lru_cache(_REMEMBERED)
    def read(cls, item: str, wording: Wording) -> Self:
        """Reads an event in any of the forms in which it is told.

        One whose speakers are not all named stays as it is.
        """
        dated = re.match(step_pattern("at step", wording), item)
        line = item[dated.end() :] if dated else item
        step = "".join(re.findall(r"-?[\d.]*\d", dated[0])) if dated else ""
        told: dict[str, str] = {"text": line}
        who: tuple[str, ...] = ()
        to: tuple[str, ...] = ()
        for form in _forms(wording):
            if found := form.fullmatch(line):
                told = found.groupdict()
                break
        if speakers := told.get("who"):
            if _some(wording).fullmatch(speakers):
                return cls(line, step, (), (), 1, step, item)
            who = tuple(_between("names", wording).split(speakers))
        if listeners := told.get("to"):
            to = tuple(_between("to several", wording).split(listeners))
        times, first = int(told.get("count", 1)), told.get("step", step)
        return cls(told["text"], step, who, to, times, first, item)

    def after(self, older: "Remembered", wording: Wording) -> Self:
        """The two as one."""
        who = tuple(dict.fromkeys([*older.who, *self.who]))
        to = tuple(dict.fromkeys([*older.to, *self.to]))
        if len(who) > 1 or len(to) > MAX_ADDRESSEES + 1:
            to = ()
        times, first = older.times + self.times, older.first
        both = self._replace(who=who, to=to, times=times, first=first)
        return both._replace(item=both._told(wording))

    def _told(self, wording: Wording) -> str:
        values = {"text": self.text, "line": self.text, "count": self.times}
        if self.who:
            values["who"] = wording.listed(self.who)
            values["to"] = wording.listed(self.to, "to several")
            line = wording.say("repeated message", **values, step=self.step)
        else:
            line = wording.told("repeated", **values, step=self.first)
        return at_step(self.step or None, line, wording)


def once(known: Sequence[str], new: Sequence[str], wording: Wording) -> list[str]:
    """Events in words; what says the same as a new one is one, where the newest stood.

    Args:
        known: of the summary so far, oldest first.
        new: what has happened since.
    """
    told = {item: Remembered.read(item, wording) for item in new}
    texts = [_key(event.text) for event in told.values()]
    same = [item for item in known if any(map(_key(item).__contains__, texts))]
    told |= {item: Remembered.read(item, wording) for item in same}
    found, events = dict[Any, str](), dict[Any, Remembered]()
    for item in [*known, *new]:
        key: Any = item
        if event := told.get(item):
            key = _key(event.text), bool(event.who)
            if found.pop(key, None):
                event = event.after(events[key], wording)
            events[key] = event
        found[key] = event.item if event else item
    return list(found.values())


@cache
def _between(part: str, wording: Wording) -> re.Pattern[str]:
    """What stands between names."""
    told = wording.say(part, others=["\1", "\2", "\3"], more=0)
    _, *signs, _ = re.split("[\1-\3]", told)
    return re.compile("|".join(map(re.escape, signs)))


@cache
def _some(wording: Wording) -> re.Pattern[str]:
    """Names that are not all."""
    return _form(wording.say("more names", others=["\5"], more="\3"))


@cache
def _forms(wording: Wording) -> list[re.Pattern[str]]:
    """The forms of messages, with and without listeners, and of what was repeated."""
    messages = [
        wording.say(part, who="\1", to=to, text="\5", **_TIMES)
        for part in ("repeated message", "message")
        for to in ("\2", "")
    ]
    return [
        _form(told)
        for told in [*messages, wording.told("repeated", line="\5", **_TIMES)]
    ]


@cache
def repetition(wording: Wording) -> re.Pattern[str]:
    """Finds in a line how often something was, and when."""
    message = wording.say("repeated message", who="", to="", text="", **_TIMES)
    other = wording.told("repeated", line="", **_TIMES)
    forms = [_form(told).pattern for told in (message.strip(" :："), other.strip())]
    return re.compile(re.sub(r"\?P<\w+>", "?:", "|".join(forms)))


def _form(told: str) -> re.Pattern[str]:
    """Reads a text in which signs stand for values."""
    pattern = re.escape(told)
    for sign, form in _SIGNS.items():
        pattern = pattern.replace(sign, form)
    return re.compile(pattern, re.DOTALL)
