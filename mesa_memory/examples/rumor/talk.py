"""What townspeople say: the prompt they are given, and an offline reader of it."""

import re
import zlib

from mesa_memory.examples.rumor.hearsay import SAYINGS, Opinion
from mesa_memory.llm.policy import Turn

NOTHING = "nothing"
#: news is told until it is so many days old
FRESH_DAYS = 12

SYSTEM = """You are Agent {name}, one of the people of a small town. A step is a day.
You know nothing but what your memory says. Reply with what you say, in one or two
short sentences and without quotation marks, or with: nothing"""

PROMPT = """It is day {day}. You meet Agent {other}.

Your memory:
{memory}

What do you say to Agent {other}? Tell news that you believe while it is fresh, with
its day; else make small talk about everyday things."""

SMALL_TALK = (
    "The bread at the market was warm this morning.",
    "My roof needs new tiles before the rain comes.",
    "The children play by the river all day.",
    "The apples on the hill are nearly ripe.",
    "The clock on the tower runs slow again.",
    "I mended the fence behind the barn.",
    "The fog stayed in the valley until noon.",
    "Somebody left a blue hat at the tavern.",
    "The harvest supper is in the long hall.",
    "My cousin bought a grey horse.",
    "The bridge planks creak in the wind.",
    "There is a choir practice in the evening.",
)

_SITUATION = re.compile(r"It is day (\d+)\. You meet Agent (\S+)\.")
_NAME = re.compile(r"You are Agent (\S+),")


def say(turn: Turn) -> str:
    """Tells what it believes, every other time and while fresh; else small talk."""
    situation, name = _SITUATION.match(turn.prompt), _NAME.match(turn.system)
    if situation is None or name is None:
        return NOTHING
    day, other = int(situation[1]), situation[2]
    chance = zlib.crc32(f"{name[1]} {other} {day}".encode())
    grounds = Opinion.read(turn.prompt).grounds
    chat = SMALL_TALK[chance % len(SMALL_TALK)]
    if grounds is None or grounds.day is None or day - grounds.day > FRESH_DAYS:
        return chat
    if chance // 64 % 2:
        return chat
    return f"News of day {grounds.day}: {SAYINGS[grounds.what]}."
