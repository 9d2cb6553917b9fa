"""The same changes told without the words one asks with: the hard version.

"My aunt left me a violin" answers "What does Agent 4 own now?" without sharing a word.
"""

from dataclasses import replace

from benchmarks.recall import phrases
from benchmarks.recall.phrases import Fact

PLACE = replace(
    phrases.PLACE,
    own=(
        "I packed my bags and settled at {v}.",
        "They gave me a room at {v}.",
        "You will find my bed at {v} from here on.",
        "From today I sleep under the roof of {v}.",
    ),
    others=(
        "I helped {n} carry boxes to {v}, that is home for a while.",
        "{n} sleeps at {v} since last night.",
    ),
)
BELONGING = replace(
    phrases.BELONGING,
    own=(
        "I swapped the last thing I had for {v}.",
        "Look what I bought: {v}.",
        "My aunt left me {v}, and I sold what was mine until today.",
        "I won {v} at cards and gave the old one away.",
    ),
    others=("I sold {v} to {n}.", "{n} walks about with {v} and nothing else."),
)
MOOD = replace(
    phrases.MOOD,
    own=(
        "Everything makes me {v} lately.",
        "After that letter I am just {v}.",
        "I am {v}, and I do not know for how long.",
        "Since this morning I have been {v}.",
    ),
    others=("I met {n}, so {v} all of a sudden.", "{n} has become rather {v}."),
)
OFFICE = replace(
    phrases.OFFICE,
    own=(
        "They made me {v}.",
        "I took over as {v} this week.",
        "I gave up what I did until now and became {v}.",
        "The council chose me as {v}.",
    ),
    others=("{n} was chosen as {v}.", "{n} started as {v} today."),
)
ASPECTS = (PLACE, BELONGING, MOOD, OFFICE)

FACTS = (
    Fact(
        phrases.FACTS[0].values,
        (
            "{v} and I had the same mother, and she writes to me every spring.",
            "I grew up sharing a bed with little {v}.",
        ),
        phrases.FACTS[0].asked,
    ),
    Fact(
        phrases.FACTS[1].values,
        (
            "I saw the light of day in {v}, in the year of the flood.",
            "My cradle stood in {v}.",
        ),
        phrases.FACTS[1].asked,
    ),
    Fact(
        phrases.FACTS[2].values,
        (
            "A bite of {v} makes my throat swell.",
            "Keep {v} off my plate, or I shall be ill for a week.",
        ),
        phrases.FACTS[2].asked,
    ),
)
