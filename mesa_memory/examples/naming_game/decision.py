"""The choice of a name: the prompt, and a best reply to the memory in a model's place."""

import re
from collections import Counter
from collections.abc import Sequence

from mesa_memory.llm.doubles.policy import PolicyInput

NAMES = ("bafo", "dilu", "gepa", "hozi", "kumo", "lari", "mesu", "nito", "pavu", "rela")

SYSTEM = "You play a naming game with your neighbours. Reply with one name and no more."

_PROMPT = (
    "Your memory:\n{memory}\n\nYou and a neighbour both name the same thing now. You win "
    "if both of you say the same name. Which name do you say? Choose one of: {names}."
)
_ASKED = re.compile(
    r"Your memory:\n(.*)\n\nYou and .* Choose one of: (.*)\.", re.DOTALL
)
_ROUND = re.compile(r"In round \d+ you said (\w+) and your neighbour said (\w+)\.")


def event(step: int, own: str, other: str) -> str:
    """The sentence in which a player remembers a round."""
    return f"In round {step} you said {own} and your neighbour said {other}."


def prompt(memory: str, names: Sequence[str]) -> str:
    """The memory and the question."""
    return _PROMPT.format(memory=memory, names=", ".join(names))


def remembered(memory: str) -> list[tuple[str, str]]:
    """The player's own name and the neighbour's in each round, oldest first."""
    return _ROUND.findall(memory)


def reply(turn: PolicyInput) -> str:
    """The best reply to the neighbours' names, as often as the memory shows them.

    This is fictitious play (Brown 1951) with a limited memory. If several names are best,
    a player stays with the last own name. If that is not among them, or the memory is
    empty, the player takes the first best name of the list, whose order is drawn.
    """
    asked = _ASKED.match(turn.prompt)
    if asked is None:
        raise ValueError(
            f"the prompt must have a memory and names, got {turn.prompt!r}"
        )
    rounds, names = remembered(asked[1]), asked[2].split(", ")
    heard = Counter(other for _, other in rounds)
    best = [name for name in names if heard[name] == max(heard.values(), default=0)]
    if rounds and rounds[-1][0] in best:
        return rounds[-1][0]
    return best[0]
