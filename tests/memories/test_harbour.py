"""A harbour replayed: what memories show of twelve facts is as it happened."""

import pytest

from mesa_memory import close
from mesa_memory.experiments import MemoryQuiz, Question
from tests.support.harbour import MEMORIES, ROLES, Harbour
from tests.support.planted import (
    FACTS,
    false_line,
    lines_of,
    of_all,
    table,
    wrongly_heard,
)

DEBT, PRICE, LOCK, LITRES = (
    "the debt is paid in two parts",
    "cod is at 3.60 since day 5",
    "the fuel store was not locked",
    "240 litres became 180",
)
MEETING = "the meeting is on day 5 at ten"
#: what a summary of few sentences may drop, once it is past
LOST = {"Narrative": {MEETING}}
#: what a review found shown of each fact, by memory; "." before anybody could know it.
#: Its word "sixty" of fact 5, in the impressions, is an S
REVIEW = """
    STLT LongTerm Episodic Fact Impression Conversation Narrative GenAgent
1   V!   S        V!       S!   VS         V            S!        V
2   VS   S        V        S!   V          VS           S!        V
3   -    S-       V        S    V-         VS           S         V
4   VS   .        VS       S-   VS         V!           S         V
5   S    S        V        S!   S          V            S         V
6   VS   S        VS       S!   VS         V!           S         VS
7   VS   S        VS       S    -          VS           S         VS
8   VS   S        V        S!   V          V!           S         V
9   S    S        VS       S    V          VS           S         V
10  V    .        V        S!   VS         V            S         .
11  VS   S        V        S!   VS         V            S         V
12  V    .        VS       S    V          V            S         .
"""
#: what they show today, "=" where it is the same. Nothing is false (!) any more: talks stand
#: before those who heard them, denials end what they deny, summaries say until when they
#: tell. Of the rest:
#: - STLT keeps four steps of its own words, so a V stands where the summary had it (2, 4, 6:
#:   S no more, as the summary ends before; 5, 9: both), and tells the moved meeting (3).
#: - LongTerm shows events that wait for the next summary (1, 2, 8); nobody loses 3.
#: - Episodic and GenAgent draw insights less often: only where their lines are together.
#: - Fact shows the last steps word for word beside its facts; the lie (4) is a fact.
#: - Impression keeps events until they were read, and shows those of who is absent (7).
#: - Conversation gives what was said to all no summary (2, 3); a talk of few lines is its
#:   own summary, word for word (5, 8).
#: - Narrative shows the last steps word for word. Jon's story drops the past meeting (3).
TODAY = """
    STLT LongTerm Episodic Fact Impression Conversation Narrative GenAgent
1   V    V        V        V    V          =            V         =
2   V    V        =        S    =          V            VS        =
3   S    S        =        =    V          V            S-        =
4   V    =        V        S    V          V            V         =
5   VS   =        VS       VS   V          VS           VS        =
6   V    =        V        S    =          V            V         V
7   =    =        V        =    VS         =            VS        V
8   =    VS       =        S    =          VS           VS        =
9   VS   =        V        VS   =          =            VS        =
10  =    =        =        VS   =          =            V         =
11  =    =        =        VS   V          =            VS        =
12  =    =        V        V    =          =            V         =
"""


#: lost after the last step: the meeting, which is past, and what has left the window
LOST_AFTER = {
    *((memory, MEETING, who) for memory in ("STLT", "LongTerm", "Impression") for who in ROLES),
    ("Episodic", MEETING, "Jonas"),
    ("Narrative", MEETING, "Jon"),
    ("Impression", "the gear is worn on one side", "Tove"),
}  # fmt: skip


def column(drawn, memory):
    """The cells of a memory in a drawn table, by fact."""
    heading, *rows = (line.split() for line in drawn.strip().splitlines())
    return [row[1:][heading.index(memory)] for row in rows]


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_table_of_the_review_is_found_by_the_judge_of_the_exam(memory):
    """Each of twelve planted facts, in the prompts of each who should know it."""
    found = table(Harbour(memory).live())
    review, today = column(REVIEW, memory), column(TODAY, memory)
    assert len(review) == len(FACTS) == 12
    for name, before, now in zip(FACTS, review, today, strict=True):
        assert now not in (before, "!"), "cells that are the same are drawn as ="
        assert of_all(found, name) == (before if now == "=" else now), name


def test_the_quiz_tells_who_lost_a_planted_fact_from_what_nobody_was_told(tmp_path):
    """A reader that understands each wording answers as the exam's judge does."""
    lost, seen = set(), set()
    for memory in MEMORIES:
        harbour = Harbour(memory, record=tmp_path / f"{memory}.sqlite").live()
        last = harbour.last
        harbour.mind.reads = reader(last)
        names = {person.unique_id: who for who, person in harbour.people.items()}
        for name, fact in FACTS.items():
            asked = Question(name, f"Is it so that {name}?", truth=lambda *_: name)
            agents = [n for n, w in names.items() if fact.known.get(w, 9) <= last]
            quiz = MemoryQuiz(items=0, agents=agents, questions=[asked])
            for answer in quiz.ask(harbour):
                who = names[answer.agent]
                lines = [line.text for line in lines_of(harbour.shown[who][1])]
                kept = fact.stated(lines, last)
                judged = answer.value["memory"]["judged"]
                assert judged == ("right" if kept else "unknown"), (memory, name, who)
                if answer.value["events"]["judged"] != "right":
                    seen.add((memory, name, who))
                if not kept:
                    lost.add((memory, name, who))
        close(harbour)
    assert lost == LOST_AFTER
    # Until he speaks of it in step 8, no message to or from him has what he saw.
    own = "the certificate ends on 30 June", "Jonas"
    assert seen == {(memory, *own) for memory in ("LongTerm", "GenAgent")}


def reader(last):
    """Answers with the fact in question if what it reads states it."""

    def answer(request):
        said = [line.text for line in lines_of(request.inputs["memory"])]
        name = request.inputs["question"].removeprefix("Is it so that ").rstrip("?")
        return name if FACTS[name].stated(said, last) else "I do not know."

    return answer


@pytest.mark.parametrize("memory", MEMORIES)
def test_no_planted_fact_is_shown_false(memory):
    """Neither out of date, nor before somebody who did not hear it, nor made up."""
    harbour = Harbour(memory).live()
    found = table(harbour)
    assert not {key: text for key, text in found.items() if text.startswith("!")}
    lost = {fact for (fact, _), text in found.items() if text == "-"}
    assert lost <= LOST.get(memory, set())
    assert not wrongly_heard(harbour)


@pytest.mark.parametrize(
    "fact, who, shown",
    [
        (DEBT, "Tove", "Long term memory:\nJonas still owes her 120."),
        (
            DEBT,
            "Jonas",
            "Most important memories:\nStep 8:\n- reflection: still owes 120.",
        ),
        (PRICE, "Jon", "What is known:\n- cod: price: 4.20 (said by Ines, step 1)"),
        (LOCK, "Tove", "Conversation with Jonas and Jon:\n- Step 6: Jon to you: LIE"),
        (LITRES, "Tove", "- fuel store: litres: 240 — but: 180 — they disagree"),
    ],
)
def test_what_is_false_is_found(fact, who, shown):
    """In each kind of text that memories show."""
    harbour = Harbour("Fact")
    lie = "I never locked the fuel store, I lied"
    harbour.heard[lie] = {"Jon", "Tove"}
    text = shown.replace("LIE", lie)
    assert false_line(FACTS[fact], who, text, harbour, 8).startswith("!")
