"""The data that a report's page draws, as plain lists and short names."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import cut
from mesa_memory.core.records import DERIVED
from mesa_memory.core.text.redaction import scrub
from mesa_memory.runs.past import Past, Row, text_of
from mesa_memory.runs.queries import source_ids
from mesa_memory.viz.data.colouring import Colouring
from mesa_memory.viz.data.decisions import Piece, name_of
from mesa_memory.viz.data.frames import box, flat, plain
from mesa_memory.viz.data.recall import RecordedRecall
from mesa_memory.viz.report.contents import Contents, Person

#: what is told of the call of a tool
CALL_PARTS = ("name", "arguments", "result")
#: lines of a network that are drawn
MAX_TIES = 2000
#: characters of a text and candidates of a recall, most first
_SIZES = ((10_000, 1000), (600, 12), (160, 5), (120, 3))


@dataclass(frozen=True)
class Sample:
    """Limits of a report's contents.

    Attributes:
        chars: of each text; the rest is cut.
        candidates: of each recall.
        every: messages are taken of every n-th step, counted back from the last one.
        people: agents whose memory is shown.
    """

    chars: int
    candidates: int
    every: int
    people: int

    def notes(self, people: int, cut: bool, dropped: bool) -> list[str]:
        """The omissions, in sentences.

        Args:
            people: agents that were chosen.
            cut: whether a text was cut.
            dropped: whether a candidate of a recall is left out.
        """
        found = []
        if self.every > 1:
            found.append(
                f"Messages are shown for one step in {self.every}, counted back from "
                "the last one; curves and colours show all steps."
            )
        if self.people < people:
            found.append(f"The memories of {self.people} of {people} agents are shown.")
        if dropped:
            found.append(f"Each recall shows its best {self.candidates} candidates.")
        if cut:
            found.append(f"Texts are cut after {self.chars} characters.")
        return found


def samples(people: int, steps: int) -> Iterator[Sample]:
    """Samples of a run, largest first: texts, then messages, then people get fewer.

    Args:
        people: agents that were chosen.
        steps: finished steps of the run.
    """
    for chars, candidates in _SIZES:
        yield Sample(chars, candidates, 1, people)
    every = 2
    while every <= max(steps // 4, 1):
        yield Sample(chars, candidates, every, people)
        every *= 2
    for fewer in range(people - 1, -1, -1):
        yield Sample(chars, candidates, every, fewer)


class Texts:
    """Numbers of texts, so that each is written once.

    Args:
        chars: longer texts are cut.

    Attributes:
        cut: whether a text was cut.
    """

    def __init__(self, chars: int) -> None:
        self._chars = chars
        self._numbers: dict[str, int] = {}
        self.cut = False

    def number(self, text: str | None) -> int | None:
        """The number of a text; None for None."""
        if text is None:
            return None
        self.cut = self.cut or len(text) > self._chars
        shown = scrub(cut(text, self._chars))
        return self._numbers.setdefault(shown, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


def payload(found: Contents, sample: Sample) -> tuple[dict[str, Any], list[str]]:
    """The page's data, and its omissions in sentences."""
    seen, texts = found.scene, Texts(sample.chars)
    agents, steps = seen.agents, seen.steps
    last = len(steps) - 1
    numbers = {agent: number for number, agent in enumerate(agents)}
    taken = [(last - place) % sample.every == 0 for place in range(len(steps))]
    moving = seen.placed and seen.moving
    ties = seen.space(last).get("ties") or () if seen.placed else ()
    shown = found.people[: sample.people]
    data = {
        "steps": steps,
        "agents": [[str(agent), found.names.get(agent)] for agent in agents],
        "box": box(seen, last),
        "places": [
            flat(seen, place) if take or not moving else None
            for place, take in enumerate(taken if moving else taken[:1])
        ],
        "ties": [t for t in ties if isinstance(t, list) and len(t) == 4][:MAX_TIES],
        "messages": [
            _messages(of_step, numbers, texts) if take else None
            for of_step, take in zip(found.messages, taken)
        ],
        "measures": [
            *map(_measure, found.measures),
            *(
                _curves(name, "collected by the model", [("", values)])
                for name, values in seen.collected.items()
            ),
        ],
        "people": [_person(one, numbers, texts, sample) for one in shown],
        "texts": texts.all,
    }
    recalls = [one for person in found.people for one in person.recalls]
    dropped = any(len(one.candidates) > sample.candidates for one in recalls)
    return data, sample.notes(len(found.people), texts.cut, dropped)


def _messages(
    of_step: list[Any], numbers: dict[Any, int], texts: Texts
) -> list[list[Any]]:
    """[sender, text, recipients] of the messages of a step."""
    heard: dict[tuple[Any, str], list[int]] = {}
    for one in of_step:
        heard.setdefault((one.sender, one.text), []).append(numbers[one.recipient])
    return [
        [numbers[sender], texts.number(text), recipients]
        for (sender, text), recipients in heard.items()
    ]


def _measure(one: Colouring) -> dict[str, Any]:
    words = [scrub(word) for word in one.classes]
    # 0 is an agent without a class.
    values = one.values + 1 if words else one.values
    agents = [plain(column) for column in values.T]
    found = _curves(one.label, one.meaning, one.curves())
    return found | {"classes": words, "agents": agents}


def _curves(name: str, meaning: str, lines: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        "name": scrub(name),
        "hint": scrub(meaning),
        "lines": [[scrub(label), plain(values)] for label, values in lines],
        "classes": [],
        "agents": None,
    }


def _person(
    one: Person, numbers: dict[Any, int], texts: Texts, sample: Sample
) -> dict[str, Any]:
    rows = one.past.rows
    places = {row["id"]: place for place, row in enumerate(rows)}
    return {
        "agent": numbers[one.agent],
        "memory": one.memory,
        # In the order of the constants at the beginning of report.js.
        "records": [
            [
                row["kind"],
                row["layer"],
                row["step"],
                row["valid_from"],
                row["valid_to"],
                texts.number(row["closed_because"]),
                texts.number(text_of(row)),
                row["importance"],
                int(row["origin"] == DERIVED),
                [places.get(source, -1) for source in source_ids(row)],
            ]
            for row in rows
        ],
        "recalls": [_recall(one, places, texts, sample) for one in one.recalls],
        "decisions": [_decision(*each, one.past, texts) for each in one.decisions],
    }


def _decision(row: Row, lines: list[Piece], past: Past, texts: Texts) -> list[Any]:
    """A decision for ``decisionLine`` in report.js."""
    error = row["error"] and f"no answer: {row['error']}"
    return [
        row["step"],
        scrub(name_of(row, past)),
        texts.number(row["question_only"]),
        [[texts.number(text), mark] for mark, text in lines],
        texts.number(error or row["answer"] or "no words"),
        [
            [texts.number(str(call.get(name) or "")) for name in CALL_PARTS]
            for call in row["tool_calls"]
        ],
        [texts.number(each["text"]) for each in row["followed"]],
    ]


def _recall(
    one: RecordedRecall, places: dict[str, int], texts: Texts, sample: Sample
) -> list[Any]:
    """A recall for ``recallLine`` in report.js; an unknown record has place -1."""
    candidates = [
        [
            places.get(each.id, -1),
            round(each.score, 4),
            int(each.shown),
            [round(value, 4) for _, value in one.weighted(each)],
        ]
        for each in one.candidates[: sample.candidates]
    ]
    query, total = texts.number(one.query), len(one.candidates)
    return [one.step, one.purpose, query, list(one.names), total, candidates]


def as_json(value: Any) -> str:
    """JSON that can stand in a script element: no sign in it begins or ends markup."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
