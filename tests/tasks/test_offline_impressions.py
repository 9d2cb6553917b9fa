"""Impressions without a model: what the other one did and said to somebody counts."""

import pytest

from mesa_memory.examples.rumor.conversation import SMALL_TALK
from mesa_memory.examples.rumor.hearsay import SAYINGS
from mesa_memory.tasks.impress import offline_impression
from tests.support.single import table

#: sentences, and whether they are hostile or friendly
SAID = table("sayings")


def impression(*since):
    seen = [event(line) for line in since]
    return offline_impression(
        {"subject": "Ben", "previous": None, "since": list(since), "seen": seen}
    )


def event(line):
    """What a line tells: itself, its words, and whether they are the observer's own."""
    told = line.partition(": ")[2]
    who, _, words = told.partition(" says: ")
    return told, words, who == "Ann"


@pytest.mark.parametrize("said", SAID["of the world"])
def test_what_somebody_says_of_the_world_is_no_hostility(said):
    assert impression(*[f"Step {n}: Ben says: {said}" for n in range(5)])[
        "sentiment"
    ] == pytest.approx(0.0)


@pytest.mark.parametrize(("said", "sign"), SAID["to somebody"])
def test_what_somebody_says_to_those_who_hear_it_counts(said, sign):
    assert impression(f"Step 1: Ben says: {said}")["sentiment"] * sign > 0


def test_what_somebody_does_counts():
    assert impression("Step 1: action: steal the horse of Ann")["sentiment"] < 0


def test_the_observers_own_words_say_nothing_of_the_other():
    told = impression(
        "Step 1: Ben says: Good morning.", "Step 2: Ann says: I hate you, liar!"
    )
    assert told["sentiment"] >= 0
    assert "Ann" not in told["text"]
    assert "Good morning" in told["text"]
    assert impression("Step 2: Ann says: Hello!")["text"].endswith("nothing new")


@pytest.mark.parametrize("said", [*SMALL_TALK, *SAYINGS.values()])
def test_the_town_of_the_rumour_says_nothing_to_anybody_but_what_it_says_is_told(said):
    told = impression(f"Step 3: Ben says: {said}")
    assert told["sentiment"] == pytest.approx(0.0)
    assert told["text"].endswith(f"Ben says: {said}")
