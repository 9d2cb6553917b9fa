"""Twelve facts of the harbour, and what each memory shows of them in its last step.

    python -m tests.support.planted [MEMORY …]

``V`` is word for word, ``S`` in a summary, a story, a fact or an impression, ``-`` lost,
and ``!`` shown false: what is over in words that do not say until when it was so, what
nobody said, or a message as said before somebody who did not hear it.
"""

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.harbour import MEMORIES, ROLES, Harbour

_STEPS = re.compile(r"\bsteps? (?:\d+ to )?(\d+)", re.IGNORECASE)
_HEADING = re.compile(r"^(?!- ).*:$")
_TALK = re.compile(r"^Conversation with ([^:(]+?)(?:, which is over)?:$")
_SPOKEN = re.compile(r"^(?:Step \d+: )?([A-Z]\w+) to ([^:]+): (.*)$")
_NAMES = re.compile(r"\b[A-Zy]\w+")


class Planted(NamedTuple):
    """A fact of the plot.

    Attributes:
        known: the step since which each knows it.
        words: a pattern of the messages that say it.
        told: a pattern of the same in other words.
        false: a pattern of what is over, or was never so; lines with ``words``, ``right``
            or a step before ``ended`` may say it.
        ended: the step since which it is over; 0 if it never was so.
        right: a pattern of what makes it right.
    """

    known: dict[str, int]
    words: str
    told: str
    false: str = "$^"
    ended: int = 0
    right: str = "$^"


def _all(step: int) -> dict[str, int]:
    return dict.fromkeys(ROLES, step)


FACTS = {
    "the debt is paid in two parts": Planted(
        {"Jonas": 5, "Tove": 5},
        "Here are (a|the) hundred",
        "paid in full|120|hundred and (eighty|twenty)",
        r"not to pay|\b(still|missing|gets|owes?|before|until|unpaid|only in part|"
        r"promise)\b.*\b(120|300|three hundred|hundred and twenty|the rest|day 5)\b",
        8,
        "paid in full",
    ),
    "cod is at 3.60 since day 5": Planted(
        _all(5), r"I pay 3\.60", r"3\.60", r"4\.20", 5, r"3\.60"
    ),
    "the meeting is on day 5 at ten": Planted(
        _all(3), "meeting is moved", "day 5,? at ten", "meeting.*day 4", 3, "day 5"
    ),
    "the fuel store was not locked": Planted(
        {"Jonas": 7, "Tove": 6},
        "never locked the fuel|left the fuel store open",
        r"\b(lied|lie|never locked|left open|left it open|confess)\b",
        "made up by.*may not hold|: locked|Jona: job(?!.*may not)",
        6,
    ),
    "240 litres became 180": Planted(
        {"Jonas": 2, "Jon": 2, "Tove": 1},
        "gauge of the fuel store shows",
        r"\b(180|sixty)\b",
        "(240|litres).*disagree|not wrong",
        2,
    ),
    "Jonas broke the winch": Planted(
        {"Jonas": 7, "Jon": 7},
        "it was me|forced it in second gear",
        "broke the winch himself|(winch|cause).*Jonas|hard on the winch|winch admitted"
        "|admitted (the winch|what they)",
        "not (broke|forced|left)|Jon: fault",
        7,
    ),
    "Ines goes to Bergen": Planted(
        _all(7) | {"Tove": 2}, "job at the cannery", "Bergen"
    ),
    "Jon is night watchman": Planted(
        {"Jonas": 5, "Jon": 5, "Ines": 4}, "night watchman", "night watchman|watchman"
    ),
    "the gear is worn on one side": Planted(
        {"Jonas": 6, "Tove": 3, "Ines": 3}, "gear is worn on one", "worn"
    ),
    "ninety against ninety": Planted(
        {"Jonas": 7, "Jon": 7},
        "ninety against my ninety",
        r"\beven\b",
        "forty-five|Jon's share|(pays?|promise).*ninety|sixty and (Jon )?thirty",
        7,
        "even",
    ),
    "the certificate ends on 30 June": Planted(
        {"Jonas": 4, "Tove": 8}, "certificate", "30 June", "certificate.*disagree"
    ),
    "a boy took the diesel": Planted(
        _all(8),
        "a boy from the campsite",
        "a boy from the campsite",
        "not known who took|somebody took|taken by somebody",
        8,
        "a boy",
    ),
}


class Told(NamedTuple):
    """A line of a prompt.

    Attributes:
        talk: the others of the conversation in which it stands; None elsewhere.
        until: the last step that it, its step or its heading names; 0 without one.
        text: the line.
    """

    talk: set[str] | None
    until: int
    text: str


def lines_of(shown: str) -> Iterator[Told]:
    """The lines of a prompt with what the headings above them say."""
    talk, until = None, 0
    for line in shown.splitlines():
        if _HEADING.match(line):
            named = _TALK.match(line)
            talk = set(_NAMES.findall(named[1])) if named else None
            until = last_step(line)
        elif line:
            text = line.removeprefix("- ")
            own = "" if "(said by" in text or "(seen" in text else text
            yield Told(talk, last_step(own) or until, text)


def last_step(text: str) -> int:
    """The last step that a text names; 0 without one."""
    return max(map(int, _STEPS.findall(text)), default=0)


def is_misplaced(line: Told, me: str, harbour: Harbour) -> bool:
    """True for a message in a talk with somebody who neither said nor heard it."""
    said = _SPOKEN.match(line.text)
    if not said or line.talk is None:
        return False
    present = {me if name.lower() == "you" else name for name in harbour.heard[said[3]]}
    return not line.talk <= present


def wrongly_heard(harbour: Harbour) -> list[str]:
    """The lines shown that do not name exactly the people who said and heard them."""
    found = []
    for who, shown in harbour.shown.items():
        for line in (line for text in shown for line in lines_of(text)):
            said = _SPOKEN.match(line.text)
            heard = harbour.heard.get(said[3]) if said else None
            named = _NAMES.findall(f"{said[1]}, {said[2]}") if said else []
            people = {who if name.lower() == "you" else name for name in named}
            if heard and people != heard:
                found.append(line.text)
    return found


def verdict(fact: Planted, who: str, shown: str, harbour: Harbour, until: int) -> str:
    """``V``, ``S``, ``-``, or ``!`` with the first false line.

    Args:
        until: the last step that the memory has read.
    """
    spoken = told = False
    for line in lines_of(shown):
        verbatim = bool(re.search(fact.words, line.text)) and bool(
            _SPOKEN.match(line.text) or line.text.startswith("observation")
        )
        message = bool(_SPOKEN.match(line.text))
        spoken, told = spoken or verbatim, told or bool(re.search(fact.told, line.text))
        if verbatim and is_misplaced(line, who, harbour):
            return f"! {line.text}"
        over = fact.ended <= until and not 0 < line.until < fact.ended
        false = re.search(fact.false, line.text)
        right = re.search(f"{fact.right}|denied: |no longer", line.text)
        if over and false and not message and not right:
            return f"! {line.text}"
    return "V" if spoken else "S" if told else "-"


def _worst(fact: Planted, who: str, harbour: Harbour) -> str:
    """The verdict at the last question; a false line after the last step counts, too."""
    asked, after = (
        verdict(fact, who, text, harbour, until)
        for text, until in zip(harbour.shown[who], (harbour.last - 1, harbour.last))
    )
    return after if after.startswith("!") else asked


def table(harbour: Harbour) -> dict[tuple[str, str], str]:
    """The verdict on each fact for each who should know it."""
    return {
        (name, who): _worst(fact, who, harbour)
        for name, fact in FACTS.items()
        for who, since in fact.known.items()
        if since <= harbour.last
    }


def main() -> None:
    """Prints the tables of some memories, and what is false."""
    found = {name: table(Harbour(name).live()) for name in sys.argv[1:] or MEMORIES}
    for name, fact in FACTS.items():
        cells = []
        for memory, verdicts in found.items():
            several = [v[0] for (n, _), v in verdicts.items() if n == name]
            cells.append(f"{memory} {''.join(dict.fromkeys(several))}")
        print(f"{name}: " + ", ".join(cells))
    for memory, verdicts in found.items():
        for (name, who), what in verdicts.items():
            if what[0] in "!-":
                print(f"  {memory}, {who}, {name}: {what[:230]}")


if __name__ == "__main__":
    main()
