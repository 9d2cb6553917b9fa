"""The same changes told with the words one asks with: the easy version.

"I live at the mill now" answers "Where does Agent 4 live now?".
"""

from dataclasses import replace

from benchmarks.recall import phrases
from benchmarks.recall.phrases import Fact

PLACE = replace(
    phrases.PLACE,
    own=(
        "I live at {v} now.",
        "From today on I live at {v}.",
        "I moved, now I am living at {v}.",
    ),
    others=("{n} lives at {v} now.", "{n} moved and is living at {v}."),
    now=("Where does {n} live now?", "Where is {n} living at present?"),
    then=("Where did {n} live at step {t}?",),
    before=("Where did {n} live before {v}?",),
)
BELONGING = replace(
    phrases.BELONGING,
    own=(
        "I own {v} now.",
        "From today on I own {v}.",
        "I made a bargain, now I own {v}.",
    ),
    others=("{n} owns {v} now.", "{n} made a bargain and owns {v}."),
    now=("What does {n} own now?", "Which thing does {n} own at present?"),
    then=("What did {n} own at step {t}?",),
    before=("What did {n} own before {v}?",),
)
MOOD = replace(
    phrases.MOOD,
    own=(
        "I feel {v} now.",
        "I feel {v}, and have since this morning.",
        "I woke up feeling {v}.",
    ),
    others=("{n} feels {v} now.", "{n} told me of feeling {v}."),
    now=("How does {n} feel now?", "How is {n} feeling at present?"),
    then=("How did {n} feel at step {t}?",),
    before=("How did {n} feel before feeling {v}?",),
)
OFFICE = replace(
    phrases.OFFICE,
    own=(
        "I work as {v} now.",
        "From today on I work as {v}.",
        "I took up new work, that of {v}.",
    ),
    others=("{n} works as {v} now.", "{n} took up the work of {v}."),
    now=("What work does {n} do now?", "As what does {n} work at present?"),
    then=("What work did {n} do at step {t}?",),
    before=("What work did {n} do before the work of {v}?",),
)
ASPECTS = (PLACE, BELONGING, MOOD, OFFICE)

FACTS = (
    Fact(
        phrases.FACTS[0].values,
        ("My sister is called {v}.", "I have one sister, {v}."),
        ("What is {n}'s sister called?",),
    ),
    Fact(
        phrases.FACTS[1].values,
        ("I was born in {v}.", "{v} is where I was born."),
        ("Where was {n} born?",),
    ),
    Fact(
        phrases.FACTS[2].values,
        ("I am allergic to {v}.", "I have an allergy, to {v}."),
        ("What is {n} allergic to?",),
    ),
)
