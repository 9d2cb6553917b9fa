"""What one agent thinks of another one, renewed from what happened since.

Impression formation: the previous impression is updated, not made anew. Offline the
sentiment follows from friendly and hostile words, the familiarity from the number of
meetings.
"""

from typing import Any

from pydantic import BaseModel, Field

from mesa_memory.core.text import one_line, shorten, words
from mesa_memory.tasks.base import Inputs, Task, bulleted

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


class Impression(BaseModel):
    """What an agent thinks of another one."""

    text: str = Field(description="One sentence about the other agent")
    sentiment: float = Field(ge=-1, le=1, description="-1 hostile to 1 friendly")
    familiarity: float = Field(ge=0, le=1, description="0 stranger to 1 intimate")


def prompt(inputs: Inputs) -> str:
    """Asks what ``observer`` now thinks of ``subject``."""
    observer, subject = inputs["observer"], inputs["subject"]
    before, max_chars = inputs["previous"], inputs["max_chars"]
    # Only an impression that somebody has put there by hand is longer.
    text = shorten(one_line(before["text"]), 2 * max_chars) if before else ""
    question = (
        f"What does {observer} think of {subject} now? One sentence of at most "
        f"{max_chars // 10} words about {subject}, the sentiment towards {subject} from "
        "-1 (hostile) to 1 (friendly), and how familiar they are from 0 (strangers) "
        'to 1. Reply with JSON only: {"text": "…", "sentiment": 0.0, '
        '"familiarity": 0.0}'
    )
    return "\n".join(
        [
            f"Observer: {observer}. Other agent: {subject}.",
            "Previous impression:",
            f"- {text or '(none yet)'}",
            "What happened since, oldest first:",
            *bulleted(inputs["since"]),
            "",
            question,
        ]
    )


def offline(inputs: Inputs) -> dict[str, Any]:
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


#: inputs: names of ``observer`` and ``subject``; the ``previous`` impression's fields, or
#: None; ``since``, lines of what happened, oldest first; ``meetings``, how many of them;
#: ``max_chars`` of the impression
IMPRESS = Task(
    "impression",
    Impression,
    system=(
        "You form the impression that one agent in a simulation has of another one. "
        "Update the previous impression with what happened since; do not start anew."
    ),
    prompt=prompt,
    offline=offline,
)
