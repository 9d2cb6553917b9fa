"""No language model at all: every purpose answered by deterministic text processing.

It reads the request's structured inputs, never the prompt's prose, so it makes large
runs, teaching and ablations free, and it is an honest experimental arm: grades by kind
and cue words, extractive summaries, counted impressions, reflections by theme.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from mesa_memory.content import plain
from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.errors import LLMRejected
from mesa_memory.importance import offline_grade, words
from mesa_memory.llm import themes
from mesa_memory.llm.generic import NOTHING, generic, last_text
from mesa_memory.llm.policy import Turn, answer
from mesa_memory.render import count_tokens, one_line, shorten

#: separates the remembered events in an extractive summary
BULLET = " • "
#: an extractive summary is at most so long
SUMMARY_CHARS = 1500
#: one event in it is at most so long
EVENT_CHARS = 240

FRIENDLY = frozenset(
    [
        "agree",
        "brave",
        "care",
        "fair",
        "friend",
        "friendly",
        "generous",
        "glad",
        "good",
        "great",
        "happy",
        "help",
        "helped",
        "helpful",
        "honest",
        "kind",
        "like",
        "love",
        "nice",
        "peace",
        "please",
        "pleasure",
        "share",
        "thank",
        "thanks",
        "trust",
        "true",
        "welcome",
        "yes",
    ]
)
HOSTILE = frozenset(
    [
        "angry",
        "attack",
        "bad",
        "betray",
        "cheat",
        "cruel",
        "deny",
        "enemy",
        "false",
        "fight",
        "greedy",
        "hate",
        "hostile",
        "hurt",
        "insult",
        "kill",
        "liar",
        "lie",
        "lied",
        "no",
        "refuse",
        "rude",
        "selfish",
        "steal",
        "stole",
        "stupid",
        "threat",
        "ugly",
        "unfair",
        "war",
        "wrong",
    ]
)


class OfflineLLM:
    """Answers every purpose of the package's memories, and reasoning by policy.

    A purpose of a user's own is answered from its schema and inputs, see ``generic``,
    or by a function of the user's.

    Args:
        answers: purpose -> function of the request's ``inputs`` that gives the fields
            of the reply, or its text; in place of the answers here.

    Example:
        >>> llm = OfflineLLM({"mood": lambda inputs: {"mood": "calm"}})
    """

    instant = True
    #: a subclass may have an ``__init__`` of its own
    _answers: Mapping[str, Callable[[Mapping[str, Any]], Any]] | None = None

    def __init__(
        self, answers: Mapping[str, Callable[[Mapping[str, Any]], Any]] | None = None
    ) -> None:
        self._answers = ANSWERS | dict(answers or {})

    def complete(self, request: LLMRequest) -> Reply:
        """The answer, the same in every process.

        Raises:
            LLMRejected: if no answer to a purpose of the user's own can be made.
        """
        think = (self._answers or ANSWERS).get(request.purpose)
        if think is None:
            return self._other(request)
        given = think(request.inputs)
        if isinstance(given, str):
            return _reply(request, given)
        text = json.dumps(given, ensure_ascii=False)
        return _reply(request, text)

    async def acomplete(self, request: LLMRequest) -> Reply:
        """``complete``, for event loops."""
        return self.complete(request)

    def _other(self, request: LLMRequest) -> Reply:
        """Reasoning, and purposes that are not known here."""
        if request.purpose == "reasoning":
            return self._reason(request)
        if request.schema is None:
            return _reply(request, last_text(plain(dict(request.inputs))) or NOTHING)
        try:
            made = generic(request.schema, request.inputs)
        except ValueError as error:
            raise LLMRejected(
                f"the offline model finds no answer to {request.purpose!r} that "
                f"{request.schema.__name__} accepts ({one_line(str(error))}). Give one: "
                f"configure(model, llm=OfflineLLM({{{request.purpose!r}: function}})), "
                "where the function takes the request's inputs and returns the fields",
                purpose=request.purpose,
                agent=request.agent,
                step=request.step,
            ) from error
        return _reply(request, json.dumps(made, ensure_ascii=False))

    def _reason(self, request: LLMRequest) -> Reply:
        turn = Turn.of(request.messages(), request.arguments)
        name = (request.model or "").partition("/")[2]
        response = answer(name, turn)
        reply = _reply(request, response.choices[0].message.content)
        return Reply(**{**vars(reply), "raw": response})


def _reply(request: LLMRequest, text: str | None) -> Reply:
    prompt = sum(count_tokens(m["content"] or "") for m in request.messages())
    model = request.model or "offline"
    return Reply(text, model, prompt, count_tokens(text or ""), cost=0.0)


def grade(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Grades of ``events`` (kind, line), given the words ``known`` already."""
    known, top = inputs.get("known", ()), inputs["top"]
    events = inputs["events"]
    return {"grades": [offline_grade(k, line, known, top) for k, line in events]}


def consolidate(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The most important events word for word, oldest first.

    Takes the ``summary`` so far and new ``lines`` (step, line). Repetitions keep only
    their newest mention; over the limit, the least important and oldest go first.
    """
    previous = [item for item in inputs["summary"].split(BULLET) if item]
    new = [
        f"Step {step}: {shorten(line.replace(BULLET, ' · '), EVENT_CHARS)}"
        for step, line in inputs["lines"]
    ]
    newest = {_said(item): item for item in previous + new}
    order = {said: place for place, said in enumerate(map(_said, previous + new))}
    items = sorted(newest, key=order.__getitem__)
    limit = min(SUMMARY_CHARS, inputs["max_chars"])
    ranked = sorted(items, key=lambda said: (offline_grade("", said), order[said]))
    size = sum(len(newest[said]) + len(BULLET) for said in items)
    dropped = set()
    for said in ranked[:-1]:
        if size <= limit:
            break
        size -= len(newest[said]) + len(BULLET)
        dropped.add(said)
    kept = [newest[said] for said in items if said not in dropped]
    return {"summary": BULLET.join(kept)[: inputs["max_chars"]]}


def _said(item: str) -> str:
    """A remembered event without its step."""
    head, colon, rest = item.partition(": ")
    return rest if colon and head.startswith("Step ") else item


def impression(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Sentiment by friendly and hostile words, familiarity by number of meetings."""
    previous = inputs["previous"] or {"sentiment": 0.0, "familiarity": 0.0}
    tone = sum(
        sum(w in FRIENDLY for w in words(line)) - sum(w in HOSTILE for w in words(line))
        for line in inputs["since"]
    )
    felt = max(-1.0, min(1.0, tone / 3))
    sentiment = round(0.7 * previous["sentiment"] + 0.3 * felt, 3)
    meetings = inputs.get("meetings", len(inputs["since"]))
    stranger = (1 - previous["familiarity"]) * 0.95**meetings
    mood = (
        "friendly" if sentiment > 0.1 else "hostile" if sentiment < -0.1 else "neutral"
    )
    last = shorten(inputs["since"][-1], 120) if inputs["since"] else "nothing new"
    text = f"{inputs['subject']} seems {mood}; lately: {last}"
    return {
        "text": text,
        "sentiment": sentiment,
        "familiarity": round(1 - stranger, 3),
    }


ANSWERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "grade": grade,
    "consolidate": consolidate,
    "impression": impression,
    "questions": themes.questions,
    "reflect": themes.reflect,
    "probe": themes.answer,
}
