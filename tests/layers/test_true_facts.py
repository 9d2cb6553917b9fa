"""What is shown of facts is what was seen, said, taken back and settled."""

import pytest

from mesa_memory import FactMemory, ScriptedLLM
from mesa_memory.core.wording import Wording
from tests.layers.test_facts import World, stated
from tests.support.models import hear
from tests.support.single import memory_of

ME = 1
PROMISE = {"subject": "Dana", "attribute": "promise"}
WATCH = {"subject": "Dana", "attribute": "condition"}
GAUGE = {"subject": "the gauge", "attribute": "reading"}


def shown(world):
    return [line.text for line in world.facts.summary(world.view)]


def of_world(language="en", ruling="UPDATE"):
    world = World()
    world.facts.memory.wording = Wording(language)
    world.ruling = ruling
    return world


# -- denials ------------------------------------------------------------------------------

DENIALS = [
    (PROMISE, "to pay on day 5, when Eve has paid her", "to pay on day 5"),
    (WATCH, "won't touch the winch until the rest is paid", "no winch before payment"),
    (GAUGE, "wrong, says the coast guard", "is wrong"),
    (
        {"subject": "Carl", "attribute": "belongings", "several": True},
        "a dog",
        "dog Rex",
    ),
]


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("denied: ", "no longer: ")),
        ("de", ("bestritten: ", "nicht mehr: ")),
        ("ja", ("否定：", "今は違う：")),
    ],
)
@pytest.mark.parametrize(("about", "value", "denied"), DENIALS[:3])
def test_what_only_denies_is_a_sentence_of_the_prompt_file(
    about, value, denied, language, words, changed
):
    world = of_world(language)
    world.told(2, 2, denied, **about, value=denied, holds=False, changed=changed)
    (line,) = shown(world)
    start = f"{about['subject']}: {about['attribute']}: {words[changed]}{denied}"
    assert line.startswith(start) and "not " not in line.removeprefix(start)
    assert world.current()[0].content["text"] == start


# -- the owner's own words ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "the gauge: reading: 240 (step 1), then 180 (said by you, step 2)"),
        ("de", "the gauge: reading: 240 (Schritt 1), dann 180 (gesagt von dir, Schritt 2)"),
        ("ja", "the gauge: reading: 240（ステップ 1）、その後 180（あなた の話、ステップ 2）"),
    ],
)  # fmt: skip
def test_the_owners_report_of_a_change_ends_what_it_saw(language, line):
    world = of_world(language)
    world.sees(1, "the gauge shows 240")
    world.thinks({"facts": [stated("240", "reading", "the gauge")]})
    world.told(2, ME, "The gauge shows 180 now.", **GAUGE, value="180", changed=True)
    assert shown(world) == [line]


# -- what does not disagree -----------------------------------------------------------------


def test_the_judge_is_not_asked_because_a_name_stands_in_two_attributes():
    for one, other in [
        ("debt to Agent 3", "offer to Agent 3"),
        ("fear of Agent 2", "gift from Agent 2"),
        ("what he owes to Agent 3", "the talk with Agent 3"),
    ]:
        world = of_world()
        world.told(1, 2, "Agent 3, …", attribute=one, value="ten crowns")
        world.told(2, 3, "Agent 2, …", attribute=other, value="a trip")
        assert {r.purpose for r in world.requests} == {"extract"}
        assert len(world.known()) == 2


# -- vaguer and more exact ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then"),
    [("180, 240 yesterday", "240"), ("not guilty", "guilty"), ("paid", "never paid")],
)
def test_other_numbers_and_denials_are_no_vaguer_repetition(first, then):
    world = of_world()
    for step, value in enumerate((first, then), 1):
        world.told(step, 2, f"{value}", attribute="state", value=value)
    assert world.requests[-1].purpose == "judge"
    assert world.known() == [(then, (2,))]


# -- premises and lies ----------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("cites", [[1, 2], [1]])
def test_a_fact_of_the_reply_that_ends_its_premise_is_not_stale(order, cites):
    world = of_world()
    world.told(1, 2, "The gauge is wrong, Jona says.", **GAUGE, value="wrong")
    world.hears(2, (2, "I made Jona up, and the gauge is not wrong."))
    story = stated("made up", "story", "Jona", [1, 2])
    denial = stated("wrong", "reading", "the gauge", cites, holds=False)
    world.thinks({"facts": [story, denial][::order]})
    assert shown(world) == ["Jona: story: made up (said by Agent 2, step 2)"]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("first", "then"), [("a plan", "a job"), ("an oath", "a deed"), ("rain", "mud")]
)
def test_a_fact_stated_again_in_the_reply_that_ends_its_premise_is_sound(
    first, then, order
):
    world = of_world()
    world.told(1, 2, f"Dana has {first}.", subject="Dana", attribute="x", value=first)
    world.told(
        2, 2, f"So: {then}.", subject="Dana", attribute="y", value=then, sources=[1, 2]
    )
    world.hears(3, (2, f"No more {first}, but {then}."))
    again = stated(then, "y", "Dana")
    over = stated(first, "x", "Dana", [1, 2], holds=False, changed=True)
    world.thinks({"facts": [again, over][::order]})
    (line,) = shown(world)
    assert then in line and "may not hold" not in line


@pytest.mark.parametrize(
    ("taken_back", "stale"),
    [({"holds": False}, 2), ({"holds": False, "changed": True}, 0)],
)
def test_what_was_said_together_with_a_lie_is_marked_with_what_rests_on_it(
    taken_back, stale
):
    world = of_world()
    world.hears(
        1, (2, "Jona from the coast guard says the gauge is wrong."), (3, "Hm.")
    )
    job = stated("coast guard", "job", "Jona")
    world.thinks(
        {
            "facts": [
                job,
                stated("wrong", "reading", "the gauge"),
                stated("hm", "word", "Eve", 2),
            ]
        }
    )
    world.told(
        2,
        3,
        "Then Jona lives by the sea.",
        subject="Jona",
        value="by the sea",
        sources=[1, 2],
    )
    order = [
        r.content["subject"] for r in sorted(world.current(), key=lambda r: r.order)
    ]
    number = order.index("the gauge") + 2
    world.told(
        3,
        2,
        "It is not so.",
        **GAUGE,
        value="that tale",
        sources=[1, number],
        **taken_back,
    )
    marked = [line.split(":")[0] for line in shown(world) if "may not hold" in line]
    assert len(marked) == stale and set(marked) <= {"Jona"}
    assert any(line.startswith("Eve: word") for line in shown(world))


# -- what a request shows and asks -------------------------------------------------------------

NEAREST = [
    (
        "The cannery cut my price. From today I pay 3.60, not 4.20.",
        "cod: price: 4.20 a kilo",
    ),
    (
        "The gathering is moved: the plant is closed.",
        "crew: gathering: day 4, ice plant",
    ),
    ("Sixty litres are gone!", "store: diesel: 240 litres"),
]


@pytest.mark.parametrize(("said", "fact"), NEAREST)
def test_a_request_shows_the_known_facts_nearest_in_words(said, fact):
    memory = memory_of(FactMemory, llm := ScriptedLLM())
    rows = [fact, *(f"Person {n}: colour: shade {n}" for n in range(40))]
    for row in rows:
        subject, attribute, value = row.split(": ")
        llm.enqueue({"facts": [stated(value, attribute, subject)]})
        hear(memory, (2, f"{row}."))
    llm.enqueue({"facts": []})
    hear(memory, (3, said))
    known = llm.history[-1].prompt.partition("Known facts")[2]
    assert f"{fact} (Agent 2)" in known
    assert len([line for line in known.splitlines() if "colour" in line]) <= 13


def test_only_what_no_fact_holds_is_shown_word_for_word():
    memory = memory_of(FactMemory, llm := ScriptedLLM())
    hears = [
        ((2, "I live in the old mill by the river."), [stated("mill", subject="Agent 2", sources=1)]),
        ((3, "Will you come to the feast?"), []),
        ((2, "I moved to the inn."), [stated("inn", subject="Agent 2", sources=1, changed=True)]),
        ((3, "Nice day!"), [stated("nice", "weather", "day", stable=False)]),
    ]  # fmt: skip
    for event, facts in hears:
        llm.enqueue({"facts": facts})
        hear(memory, event)
    memory.add_to_memory("message", {"message": "The mill burns.", "sender": 4})
    text = memory.get_prompt_ready()
    for words in ("come to the feast?", "Nice day!", "The mill burns."):
        assert words in text
    for words in ("by the river", "I moved"):
        assert words not in text
    assert "mill (step 1), then inn" in text
