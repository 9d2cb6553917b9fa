"""Layers of well-known systems, with the constants of their authors."""

from mesa_memory.layers.base import Layer
from mesa_memory.layers.chapters import Chapters
from mesa_memory.layers.consolidation import Consolidation, FrontHalf
from mesa_memory.layers.conversations import Conversations
from mesa_memory.layers.facts.layer import Facts
from mesa_memory.layers.facts.shown import FactLines
from mesa_memory.layers.impressions import Impressions
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.grading import Grader
from mesa_memory.layers.stream.recalling import Recollection
from mesa_memory.layers.stream.reflecting import Reflection, Reflector
from mesa_memory.layers.summary import RunningSummary, Story
from mesa_memory.layers.window import Window
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.tasks.extract import GATE

#: of 2,000 tokens, what the story engine gives to the story of now, and to the rest
STORY_SHARES = {"recent": 1500, "facts": 250, "story": 150, "chapters": 100}
#: steps of a chapter, as its authors leave it to the game when one is complete
CHAPTER_STEPS = 10
#: about 1,500 tokens of story that is not summarised yet
STORY_CHARS = 6000


def usual() -> list[Layer]:
    """Recent steps, a running summary of older ones, and impressions."""
    window = Window(None)
    due = Consolidation(5, 2, None)
    return [window, RunningSummary(window, due), Impressions(window)]


def unimatrix() -> list[Layer]:
    """A society of talking characters.

    The conversation under way word for word, its last 15 turns; of each that is over a
    summary of the agent's own, the 20 newest shown, of the others the 3 nearest in
    meaning to the last three lines of dialogue; one sentence on each other agent, renewed
    every 5 turns. Nothing is ever forgotten.
    """
    window = Window(5)
    talks = Conversations(short_term_turns=15, recent=20, recall=3)
    return [window, talks, Impressions(window, update_every=5)]


def story_engine() -> list[Layer]:
    """The knowledge of a character of the story engine, and the story so far.

    At most 10 facts and a summary of three to five sentences, renewed by one request a
    step; over 1,500 tokens of story all but the last 4 steps are merged into the story
    so far, of fewer than five sentences; of each chapter of 10 steps a recap of two or
    three sentences, which stays as it is and is always shown.
    """
    window = Window(None)
    story = Story(window, tokens=1500, keep_last=4)
    facts = Facts(most=10, summarised=True)
    return [facts, window, story, Chapters(CHAPTER_STEPS, story)]


def session() -> list[Layer]:
    """A session of 20 steps whose front half goes into a summary, and long-term facts.

    A fact is kept if it is one, stable, and useful later. All are shown while they have
    less than 2,000 tokens, then the recalled ones.
    """
    window = Window(None)
    summary = RunningSummary(window, Consolidation(20, None, FrontHalf(20, 0.5)))
    return [Facts(gate=GATE, lines=FactLines(direct_tokens=2000)), window, summary]


def generative_agent() -> list[Layer]:
    """The memory stream of *Generative Agents* (Park et al. 2023), by steps.

    Importance from 1 to 10, once, when an event comes; recency 0.99 to the power of the
    steps since an event was last recalled; relevance as cosine; each brought to 0..1
    over the candidates, weights 1; up to 3 insights from the last 20 records once 30 of
    importance have come together.
    """
    scoring = Scoring.generative_agents(decay=0.99)
    stream = EventStream(
        Grader("llm", top=10, together=1),
        Recollection(30, 0.99, scoring),
        Reflector(Reflection.direct(last=20, insights=3), 30.0),
        capacity=10_000,
    )
    return [stream]
