"""The talk of two people who meet: the prompt, and a reader in a model's place."""

import re
import zlib

from mesa_memory.examples.rumor.hearsay import SAYINGS
from mesa_memory.examples.rumor.opinion import Opinion
from mesa_memory.llm.doubles.policy import PolicyInput

#: the reply of a person who keeps silent
NOTHING = "nothing"

_SYSTEM = """You are Agent {me}, one of the people of a small town. One step is one day.
You know only what your memory says. Reply with the words you say, one or two short
sentences in plain text, or with the one word: nothing"""

#: what stays the same comes first, so that a provider can read it from its cache
_PROMPT = (
    "Pass on the newest news that you remember while it is fresh, about ten days, and "
    "say of which day it is. Without fresh news, make small talk about everyday things."
    "\n\nYour memory:\n{memory}"
    "\n\nIt is day {day}. You meet Agent {other}. What do you say to Agent {other}?"
)
_ASKED = re.compile(
    r".*?\n\nYour memory:\n(.*)\n\nIt is day (\d+)\. You meet Agent (\w+)\. What do "
    r"you say to Agent \3\?",
    re.DOTALL,
)
_ME = re.compile(r"You are Agent (\w+),")

# A town has more than one thing to remember: some of it weighs as much as the well.
SMALL_TALK = (
    "The bread at the market was warm this morning.",
    "My roof needs tiles before the rain comes.",
    "The children play by the river all day.",
    "The apples on the hill are nearly ripe.",
    "The clock on the tower runs slow again.",
    "I mended the fence behind the barn.",
    "The fog stayed in the valley until noon.",
    "Somebody left a blue hat at the tavern.",
    "The harvest supper is in the long hall.",
    "My cousin bought a grey horse.",
    "The planks of the bridge creak in the wind.",
    "There is choir practice in the evening.",
    "The price of salt is up; we all pay more.",
    "My friend is to marry the miller at harvest.",
    "The police have the man who stole the geese.",
    "The election of a mayor is on Sunday, do vote.",
)


def system_prompt(me: object) -> str:
    """The role of a speaker."""
    return _SYSTEM.format(me=me)


def prompt(day: int, other: object, memory: str) -> str:
    """The situation, the memory and the question."""
    return _PROMPT.format(day=day, other=other, memory=memory)


def reply(turn: PolicyInput) -> str:
    """Passes on the newest news in the memory while it is fresh; else small talk."""
    asked, myself = _ASKED.fullmatch(turn.prompt), _ME.match(turn.system)
    if asked is None or myself is None:
        return NOTHING
    memory, day, other, me = asked[1], int(asked[2]), asked[3], myself[1]
    news = Opinion.of(memory, me).news(today=day)
    if news and day - (news.day or 0) <= _interest(me):
        return f"News of day {news.day}: {SAYINGS[news.what]}."
    return SMALL_TALK[_number(f"{me} {other} {day}") % len(SMALL_TALK)]


def _interest(me: str) -> int:
    """The days for which this person tells news: 8 to 15."""
    return 8 + _number(me) % 8


def _number(text: str) -> int:
    """Some number, the same in every process and run."""
    return zlib.crc32(text.encode())
