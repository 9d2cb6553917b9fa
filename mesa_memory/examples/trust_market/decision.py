"""The decision of a trader to help: the prompt, and a reader of the memory in a model's place."""

import re

from mesa_memory.llm.doubles.policy import PolicyInput

HELP, REFUSE = "help", "refuse"

SYSTEM = """You are {name}, a trader in a market. You know only what your memory says.
You are fair: you help whoever deserves it. Reply with one word: help or refuse"""

_PROMPT = (
    "Your memory:\n{memory}\n\nToday {asker} asks for your help, which costs you 1 and is "
    "worth 5 to {asker}. Refuse a trader who has refused others more often than helped "
    "them, as far as you remember. Do you help or refuse {asker}?"
)
_ASKED = re.compile(
    r"Your memory:\n(.*)\n\nToday (Trader \d+) asks for your help,", re.DOTALL
)
_DEED = re.compile(r"On day (\d+) (Trader \d+) (helped|refused) (Trader \d+)")


def deed(day: int, giver: str, helped: bool, asker: str) -> str:
    """The sentence in which a deed is seen, remembered and told."""
    return f"On day {day} {giver} {'helped' if helped else 'refused'} {asker}."


def prompt(memory: str, asker: str) -> str:
    """The memory and the question."""
    return _PROMPT.format(memory=memory, asker=asker)


def reply(turn: PolicyInput) -> str:
    """Refuses whom the memory knows to have refused more often than helped."""
    asked = _ASKED.match(turn.prompt)
    if asked is None:
        return HELP
    memory, asker = asked[1], asked[2]
    deeds = {found for found in _DEED.findall(memory) if found[1] == asker}
    score = sum(1 if verb == "helped" else -1 for _, _, verb, _ in deeds)
    return HELP if score >= 0 else REFUSE
