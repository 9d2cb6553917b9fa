"""The choice between two acts: the prompt, and a grudging rule in a model's place."""

import re

from mesa_memory.llm.doubles.policy import PolicyInput

COOPERATE, DEFECT = "cooperate", "defect"
PAST = {COOPERATE: "cooperated", DEFECT: "defected"}
#: defections of the other player that a player forgives
FORGIVEN = 2

SYSTEM = "You play a repeated game with one other player. Reply with one word."

_PROMPT = (
    "Your memory:\n{memory}\n\nIf you both cooperate, each of you gets 3 points; if you "
    "both defect, 1. If only one defects, that one gets 5 and the other 0. Do you "
    "cooperate or defect now?"
)
_ROUND = re.compile(
    r"In round \d+ you \w+ and the other player (cooperated|defected)\."
)


def event(step: int, own: str, other: str) -> str:
    """The sentence in which a player remembers a round."""
    return f"In round {step} you {PAST[own]} and the other player {PAST[other]}."


def prompt(memory: str) -> str:
    """The memory and the question."""
    return _PROMPT.format(memory=memory)


def reply(turn: PolicyInput) -> str:
    """Defects if the memory shows more defections of the other than are forgiven."""
    grudges = _ROUND.findall(turn.prompt).count(PAST[DEFECT])
    return DEFECT if grudges > FORGIVEN else COOPERATE


def sanitised(text: str) -> str:
    """The text of a memory in which everybody has always cooperated."""
    return text.replace(PAST[DEFECT], PAST[COOPERATE])
