"""What the people of the changing world say, and what they are asked.

In a statement ``{v}`` is the new value and ``{n}`` the name of the one it is about; what
is said by oneself and what is said by others stand apart. Questions are worded without
the statements' own words, as far as English allows.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Aspect:
    """Something about a person that changes.

    Attributes:
        every: mean number of steps between two changes.
        grades: how important a change is, drawn from these.
        values: what it can be.
        own, others: how a change is told by the person and by somebody else.
        now, then, before: how it is asked for: at present, at step ``{t}``, and before
            it became ``{v}``.
    """

    every: float
    grades: tuple[int, ...]
    values: tuple[str, ...]
    own: tuple[str, ...]
    others: tuple[str, ...]
    now: tuple[str, ...]
    then: tuple[str, ...]
    before: tuple[str, ...]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", " ").split(","))


PLACE = Aspect(
    every=80,
    grades=(2, 3, 3, 4),
    values=_listed("""
        the mill, the harbour, the chapel, the old tower, the bakery, the inn,
        the lighthouse, the school, the orchard, the smithy, the quarry, the abbey,
        the fishing village, the ferry house, the hill farm, the tannery, the vineyard,
        the north gate, the glassworks, the toll house
    """),
    own=(
        "I have moved to {v}.",
        "I live at {v} now.",
        "My new home is {v}.",
        "I am staying at {v} from today on.",
        "You can find me at {v} from now on.",
    ),
    others=(
        "{n} has moved to {v}.",
        "{n} lives at {v} now.",
        "{n} is staying at {v} these days.",
    ),
    now=(
        "Where is {n} now?",
        "In which place does {n} dwell at the moment?",
        "Where does {n} live at present?",
        "Where would one meet {n} these days?",
    ),
    then=(
        "Where was {n} at step {t}?",
        "Where did {n} live in step {t}?",
        "Around step {t}, where did {n} stay?",
    ),
    before=(
        "Where did {n} live before {v}?",
        "Where was {n} staying until the move to {v}?",
    ),
)

BELONGING = Aspect(
    every=100,
    grades=(2, 2, 3, 4),
    values=_listed("""
        a silver flute, a brass lamp, a carved staff, a grey donkey, a red kite,
        an iron kettle, a fishing net, a pocket watch, a chess set, a leather satchel,
        a spinning wheel, a copper ring, a hunting dog, a rowing boat, a glass eye,
        a wooden cart, a velvet cloak, a telescope, a violin, a parrot
    """),
    own=(
        "I bought {v} and gave my old things away.",
        "I own {v} now.",
        "I traded everything I had for {v}.",
        "I carry {v} with me from now on.",
        "My only possession is {v} now.",
    ),
    others=(
        "{n} bought {v} and sold the rest.",
        "{n} carries {v} everywhere now.",
        "{n} traded the old things for {v}.",
    ),
    now=(
        "What does {n} own now?",
        "Which possession does {n} have at present?",
        "Which thing belongs to {n} these days?",
    ),
    then=(
        "What did {n} own at step {t}?",
        "Which possession did {n} have in step {t}?",
    ),
    before=(
        "What did {n} own before {v}?",
        "Which possession did {n} have until {v} came?",
    ),
)

MOOD = Aspect(
    every=60,
    grades=(1, 1, 2, 3),
    values=_listed("""
        cheerful, gloomy, anxious, hopeful, furious, bored, proud, ashamed, lonely,
        grateful, jealous, calm, restless, heartbroken, amused, bitter, excited,
        exhausted, curious, frightened, content, suspicious, homesick, playful
    """),
    own=(
        "I feel {v} today.",
        "I am {v} these days.",
        "I have been {v} since this morning.",
        "My mood is {v}.",
        "I woke up feeling {v}.",
    ),
    others=(
        "{n} seems {v} to me.",
        "{n} feels {v} at the moment.",
        "{n} looks rather {v} today.",
    ),
    now=(
        "How does {n} feel now?",
        "What mood is {n} in at present?",
        "In which state of mind is {n} currently?",
    ),
    then=("How did {n} feel at step {t}?", "What mood was {n} in at step {t}?"),
    before=(
        "How did {n} feel before being {v}?",
        "What mood was {n} in before turning {v}?",
    ),
)

OFFICE = Aspect(
    every=130,
    grades=(3, 3, 4, 5),
    values=_listed("""
        miller, ferryman, treasurer, baker, judge, night watchman, gardener, teacher,
        mayor, blacksmith, shepherd, clerk, innkeeper, physician, beekeeper, carpenter,
        tax collector, bell ringer, cook, surveyor
    """),
    own=(
        "I work as {v} now.",
        "I was appointed {v}.",
        "I have become the town's {v}.",
        "My new job is that of {v}.",
        "I took over the office of {v}.",
    ),
    others=(
        "{n} works as {v} now.",
        "{n} was appointed {v}.",
        "{n} has become the new {v}.",
    ),
    now=(
        "What is the job of {n} now?",
        "What does {n} do for a living at present?",
        "Which office does {n} hold these days?",
    ),
    then=("What was the job of {n} at step {t}?", "What work did {n} do in step {t}?"),
    before=(
        "What was the job of {n} before being {v}?",
        "What work did {n} do before the time as {v}?",
    ),
)

ASPECTS = (PLACE, BELONGING, MOOD, OFFICE)


@dataclass(frozen=True)
class Fact:
    """Something about a person that never changes; told once, by the person."""

    values: tuple[str, ...]
    told: tuple[str, ...]
    asked: tuple[str, ...]


FACTS = (
    Fact(
        _listed("Ruth, Clara, Ines, Olga, Petra, Mina, Flora, Edda, Wanda, Judith"),
        ("My little sister is called {v}.", "I have one sister, {v}."),
        ("What is the name of {n}'s sister?", "Who is the sibling of {n}?"),
    ),
    Fact(
        _listed("""
            Elmford, Saltburn, Kingsholm, Ravenby, Oakhurst, Dunmere, Whitcombe,
            Thornley, Marshwick, Fellbridge
        """),
        ("I was born in {v}.", "I come from {v}, my parents still live there."),
        ("Where was {n} born?", "What is the birthplace of {n}?"),
    ),
    Fact(
        _listed("nuts, shellfish, milk, eggs, honey, strawberries, garlic, rye"),
        ("I am allergic to {v}.", "I cannot eat {v}, it makes me ill."),
        ("Which food must {n} avoid?", "What is {n} allergic to?"),
    ),
)

PLACES, THINGS = PLACE.values, BELONGING.values
#: talk of the day: {p} is a place, {g} a thing, {m} a mood, {o} an office, {n} a person
CHATTER = (
    "The roof of {p} leaks again.",
    "I walked past {p} this morning.",
    "There is a queue in front of {p}.",
    "Meet me at {p} after supper.",
    "They say {p} is haunted.",
    "The path to {p} is muddy.",
    "Who left {g} on the bridge?",
    "Somebody is looking for {g}.",
    "I saw {g} at the market, far too dear.",
    "My neighbour had {g} once.",
    "This weather would make anyone {m}.",
    "The song last night was {m}, if you ask me.",
    "The {o} wants a word with all of us.",
    "A good {o} is hard to find.",
    "Have you paid the {o} yet?",
    "I had a quarrel with {n} about the fence.",
    "{n} owes me two coins.",
    "Has anybody seen {n} today?",
    "{n} and I are going to the fair.",
    "I dreamt of {n} and a white horse.",
    "{n} sings too loudly for my taste.",
    "The price of salt has gone up.",
    "Good morning, how are you?",
    "It will rain before noon.",
    "I had barley soup again.",
    "The bells were late today.",
    "Careful, the steps are icy.",
    "Thank you for the help yesterday.",
    "The geese have come back early.",
    "I need to mend my shoes.",
    "Nothing new on my side.",
    "The river is high this week.",
)
#: what all talk about for a step, and grade highly
ALARMS = (
    "Fire at {p}, bring water!",
    "A wolf was seen near {p}!",
    "The tax will be doubled, the {o} says!",
    "The bridge by {p} has fallen!",
)
