"""Twelve facts of the harbour, and what each memory shows of them in its last step.

    python -m tests.support.planted [MEMORY …]

``V`` is word for word, ``S`` in a summary, a story, a fact or an impression, ``-`` lost,
as the exam's judge finds it. ``!`` is shown false: what is over in words that do not say
until when it was so, what nobody said, or a message as said before somebody who did not
hear it.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mesa_memory.experiments.exam.items import RIGHT, ExamItem, Judge, Telling
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
        values: a statement of it has all words of one of these, for the exam's judge.
        false: a pattern of what is over, or was never so; lines with a value, ``right``
            or a step before ``ended`` may say it.
        ended: the step since which it is over; 0 if it never was so.
        right: a pattern of what makes it right.
        before: values that were right until ``ended``.
        kind: of the exam's items.
        key: words that its statements have, too.
    """

    known: dict[str, int]
    values: tuple[tuple[str, ...], ...]
    false: str = "$^"
    ended: int = 0
    right: str = "$^"
    before: tuple[tuple[str, ...], ...] = ()
    kind: str = "fact"
    key: tuple[str, ...] = ()

    def items(self, until: int) -> list[ExamItem]:
        """The fact as items of an exam, one for each wording, as it was after a step."""
        values = self.before if until < self.ended and self.before else self.values
        told = (Telling(1, 0, ""),)
        return [ExamItem(self.kind, "", 1, told, "", self.key, (v,)) for v in values]

    def stated(self, lines: Iterable[str], until: int) -> bool:
        """True if the exam's judge finds it right in some lines of a prompt."""
        text, items = "\n".join(f"- {line}" for line in lines), self.items(until)
        return any(Judge(items).shown(item, text) == RIGHT for item in items)


def _all(step: int) -> dict[str, int]:
    return dict.fromkeys(ROLES, step)


FACTS = {
    "the debt is paid in two parts": Planted(
        {"Jonas": 5, "Tove": 5},
        (("Paid in full",), ("paid in full",), ("Here are the hundred and twenty",)),
        r"not to pay|\b(still|missing|gets|owes?|before|until|unpaid|only in part|"
        r"promise)\b.*\b(120|300|three hundred|hundred and twenty|the rest|day 5)\b",
        8,
        "[Pp]aid in full",
        (("a hundred and eighty",), ("the 180",), ("120",)),
    ),
    "cod is at 3.60 since day 5": Planted(_all(5), (("3.60",),), r"4\.20", 5, r"3\.60"),
    "the meeting is on day 5 at ten": Planted(
        _all(3), (("day 5", "ten"),), "meeting.*day 4", 3, "day 5"
    ),
    "the fuel store was not locked": Planted(
        {"Jonas": 7, "Tove": 6},
        ((),),  # a lie that its author has taken back
        "made up by.*may not hold|: locked|Jona: job(?!.*may not)",
        6,
        kind="lie",
        key=("store",),
    ),
    "240 litres became 180": Planted(
        {"Jonas": 2, "Jon": 2, "Tove": 1},
        (("180", "240"), ("sixty litres",)),
        "(240|litres).*disagree|not wrong",
        2,
    ),
    "Jonas broke the winch": Planted(
        {"Jonas": 2, "Jon": 2},
        (
            ("winch", "it was me"),
            ("winch", "admitted"),
            ("broke the winch himself",),
            ("Jonas, who blamed Jon",),
        ),
        "not (broke|forced|left)|Jon: fault",
        7,
        before=(("second gear",),),
    ),
    "Ines goes to Bergen": Planted(_all(7) | {"Tove": 2}, (("Bergen",),)),
    "Jon is night watchman": Planted(
        {"Jonas": 5, "Jon": 5, "Ines": 4}, (("watchman",),)
    ),
    "the gear is worn on one side": Planted(
        {"Jonas": 6, "Tove": 3, "Ines": 3}, (("worn",),)
    ),
    "ninety against ninety": Planted(
        {"Jonas": 7, "Jon": 7},
        (("even",),),
        "forty-five|Jon's share|(pays?|promise).*ninety|sixty and (Jon )?thirty",
        7,
        "even",
    ),
    "the certificate ends on 30 June": Planted(
        {"Jonas": 4, "Tove": 8}, (("30 June",),), "certificate.*disagree"
    ),
    "a boy took the diesel": Planted(
        _all(8),
        (("boy",),),
        "not known who|somebody took|taken by somebody",
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


def is_spoken(line: Told) -> bool:
    """True for a message or an observation, word for word."""
    return bool(_SPOKEN.match(line.text)) or line.text.startswith("observation")


def letters(fact: Planted, shown: str, until: int) -> str:
    """``V`` if the exam's judge finds it word for word, ``S`` in other lines, or ``-``.

    Args:
        until: the last step that the memory has read.
    """
    lines = list(lines_of(shown))
    parts = {
        letter: [line.text for line in lines if is_spoken(line) is spoken]
        for letter, spoken in (("V", True), ("S", False))
    }
    return "".join(n for n, part in parts.items() if fact.stated(part, until)) or "-"


def false_line(
    fact: Planted, who: str, shown: str, harbour: Harbour, until: int
) -> str:
    """The first line that shows a fact false, as ``! line``; empty without one."""
    for line in lines_of(shown):
        if is_misplaced(line, who, harbour) and fact.stated([line.text], until):
            return f"! {line.text}"
        over = fact.ended <= until and not 0 < line.until < fact.ended
        right = re.search(f"{fact.right}|denied: |no longer", line.text)
        over = over and not right and not _SPOKEN.match(line.text)
        if over and re.search(fact.false, line.text):
            return f"! {line.text}"
    return ""


def table(harbour: Harbour) -> dict[tuple[str, str], str]:
    """The letters of each fact for each who should know it, at the last question.

    A false line is told in their place, also one that is shown after the last step.
    """
    found = {}
    for name, fact in FACTS.items():
        for who in (who for who, since in fact.known.items() if since <= harbour.last):
            asked, after = harbour.shown[who]
            last = harbour.last
            found[name, who] = (
                false_line(fact, who, asked, harbour, last - 1)
                or false_line(fact, who, after, harbour, last)
                or letters(fact, asked, last)
            )
    return found


def of_all(found: dict[tuple[str, str], str], name: str) -> str:
    """The letters of a fact for all who should know it, each once; ``.`` for nobody."""
    cells = [cell for (fact, _), cell in found.items() if fact == name]
    several = "".join("!" if cell[0] == "!" else cell for cell in cells)
    return "".join(letter for letter in "VS-!" if letter in several) or "."


def main() -> None:
    """Prints the tables of some memories, and what is false."""
    found = {name: table(Harbour(name).live()) for name in sys.argv[1:] or MEMORIES}
    for name in FACTS:
        print(
            f"{name}: " + ", ".join(f"{m} {of_all(v, name)}" for m, v in found.items())
        )
    for memory, verdicts in found.items():
        for (name, who), what in verdicts.items():
            if what[0] in "!-":
                print(f"  {memory}, {who}, {name}: {what[:230]}")


if __name__ == "__main__":
    main()
