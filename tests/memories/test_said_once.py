"""What was said several times is one line, one place of a recall, and one grade."""

from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesa_memory import EpisodicMemory, LayeredMemory, ShortTermMemory, STLTMemory
from mesa_memory.core.render import at_step
from mesa_memory.core.statement import statement
from mesa_memory.core.wording import Voice, Wordings
from mesa_memory.llm.doubles.scripted import ScriptedLLM
from mesa_memory.tasks.offline.remembered import once, repetition
from tests.support.single import memory_of

WORDS = ("well", "mill", "bridge")
NAMES = ("Ada", "Ida", "Adan")
NUMBERS = ("5", "50", "5.5", "-5")
SIGNS = ("", ".", "!", " …")

#: whom, what, how many, whether it is denied, whether it is asked, and how it is spelled
SAID = st.tuples(
    st.sampled_from(WORDS), st.sampled_from(NAMES), st.sampled_from(NUMBERS),
    st.booleans(), st.booleans(), st.sampled_from(SIGNS), st.booleans(),
)  # fmt: skip
TURN = st.tuples(st.integers(2, 5), SAID)


def sentence(word, name, number, denied, asked, sign, loud):
    text = f"The {word} of {name} is {'not ' * denied}worth {number}"
    text = text.replace("The", "THE") if loud else text
    return text + ("?" if asked else sign)


def says(memory, sender, text):
    memory.add_to_memory("message", {"message": text, "sender": sender})


@pytest.mark.slow
@given(st.lists(TURN, min_size=1, max_size=12))
@settings(max_examples=1000, deadline=None)
def test_statements_fold_if_and_only_if_words_names_numbers_and_negation_agree(turns):
    memory = memory_of(partial(EpisodicMemory, importance="offline"))
    for sender, said in turns:
        says(memory, sender, sentence(*said))
    memory.process_step()
    told = Counter(said[:5] for _, said in turns)
    records = memory.current_records()
    assert len({statement(record) for record in records}) == len(told)
    found = memory.recall(k=100)
    assert sorted(each.times for each in found) == sorted(told.values())
    # Each line accounts for as many messages as were heard.
    lines = memory.get_prompt_ready().splitlines()
    lines = [line for line in lines if " worth " in line]
    counts = [int(n[0]) if (n := times(line)) else 1 for line in lines]
    assert sum(counts) == len(turns) and len(lines) == len(told)


def times(line):
    return [word for word, of in zip(line.split(), line.split()[1:]) if of == "times,"]


def test_a_repeated_line_says_who_how_often_and_when_and_stands_at_its_newest_step():
    memory = memory_of(ShortTermMemory)
    for sender in (2, 29):
        memory.agent.model.step()
        says(memory, sender, "The town well was tested.")
        says(memory, sender, f"I am number {sender}.")
        memory.process_step()
    assert memory.get_prompt_ready() == (
        "Short term memory:\n"
        "Step 1:\n"
        "- Agent 2 to you: I am number 2.\n"
        "Step 2:\n"
        "- Agent 2 and Agent 29, 2 times, last at step 2: The town well was tested.\n"
        "- Agent 29 to you: I am number 29.\n"
    )


def test_within_one_conversation_of_the_last_two_steps_nothing_is_folded():
    memory = memory_of(ShortTermMemory)
    for answer in ("No.", "Yes."):
        memory.agent.model.step()
        says(memory, 2, "Will you come?")
        says(memory, 1, answer)
        memory.process_step()
    assert memory.get_prompt_ready().count("Will you come?") == 2
    for _ in range(2):
        memory.agent.model.step()
        says(memory, 3, "What a day.")
        memory.process_step()
    text = memory.get_prompt_ready()
    assert text.count("Will you come?") == 1
    assert "Agent 2 to you, 2 times, last at step 2: Will you come?" in text


@pytest.mark.parametrize("kind", [ShortTermMemory, STLTMemory, EpisodicMemory])
def test_each_repetition_is_shown_by_itself_on_request(kind):
    memory = memory_of(partial(kind, repetitions="keep"))
    for sender in (2, 3, 4):
        says(memory, sender, "The well is deep.")
    assert memory.get_prompt_ready().count("The well is deep.") == 3
    with pytest.raises(ValueError, match="one of 'fold', 'keep', got 'twice'"):
        memory_of(partial(kind, repetitions="twice"))


@pytest.mark.parametrize(
    "name", ["unimatrix", "story_engine", "session", "generative_agent"]
)
def test_a_memory_of_a_published_system_shows_repetitions_as_it_did(name):
    assert memory_of(getattr(LayeredMemory, name)).repetitions == "keep"


def test_a_question_about_speaker_or_time_finds_the_record_among_repetitions():
    memory = memory_of(partial(EpisodicMemory, importance="offline"))
    said = {}
    for step in range(1, 51):
        memory.agent.model.step()
        sender = 20 + step * 7 % 13
        says(memory, sender, "The town well was tested, its water is safe.")
        says(memory, 9, f"Small talk of day {step}.")
        memory.process_step()
        said[step] = sender
    for step, sender in said.items():
        asked = f"What did Agent {sender} say about the well at step {step}?"
        (best,) = memory.recall(asked, k=1)
        assert (best.record.sender, best.record.step) == (sender, step)
        assert best.times == 50


def test_a_recall_says_who_else_said_it_and_when():
    memory = memory_of(partial(EpisodicMemory, importance="offline"))
    for step, sender in enumerate((2, 3, 2, 2), 1):
        memory.agent.model.step()
        says(memory, sender, "The mill is sold.")
        memory.process_step()
    (found,) = memory.recall("Is the mill sold?", k=5)
    assert (found.record.step, found.times) == (4, 4)
    table = memory.explain("Is the mill sold?")
    (cell,) = table.columns[-1].cells
    assert cell.endswith("and 3 more: Agent 2 at 1, 3; Agent 3 at 2")


def test_a_full_memory_forgets_the_oldest_repetitions_first_and_counts_them():
    memory = memory_of(partial(EpisodicMemory, importance="offline", max_capacity=6))
    for step in range(1, 31):
        memory.agent.model.step()
        if step <= 4:
            says(memory, 3, f"Fact number {step}.")
        says(memory, 2, "What a fine day.")
        memory.process_step()
    text = memory.get_prompt_ready()
    for step in range(1, 5):
        assert f"Fact number {step}." in text
    assert "Agent 2 to you, 30 times, last at step 30: What a fine day." in text
    assert len(memory.current_records()) == 6
    (found,) = memory.recall("What a fine day", k=1)
    assert found.times == 30
    cells = memory.explain("What a fine day").columns[-1].cells
    assert any("and 29 more: …" in cell for cell in cells)


def test_the_same_words_are_graded_once_whoever_says_them():
    def grade(request):
        return {"grades": [4] * len(request.inputs["events"])}

    llm = ScriptedLLM(rules={"grade": grade})
    memory = memory_of(partial(EpisodicMemory, grade_together=1), llm)
    for sender in (2, 3, 2):
        memory.agent.model.step()
        says(memory, sender, "The mill is sold.")
        memory.process_step()
    assert len(llm.history) == 1
    assert [record.importance for record in memory.current_records()] == [4, 4, 4]


LANGUAGES = pytest.mark.parametrize(
    "language", ["en", "de", "es", "fr", "ja", "pt", "zh"]
)


@LANGUAGES
def test_how_often_and_when_can_be_read_back_in_each_language(language):
    wording = Wordings(language).of(language)
    given = {"who": "Ada", "to": "", "count": 9, "step": 24, "text": "Hm."}
    line = wording("events", "repeated message", **given)
    assert "9" in line and "24" in line and "Ada" in line
    rest = repetition(wording).sub("", line)
    assert "9" not in rest and "24" not in rest and "Hm." in rest


@LANGUAGES
def test_a_summary_joins_the_speakers_and_the_number_of_what_says_the_same(language):
    wording = Wordings(language).of(language)
    voice = Voice(owner=1, wording=wording)
    lines = [
        ("3", voice.message(2, [1], "It rains.")),
        ("4", voice.message(2, [3, 1], "It rains.")),
        ("5", voice.message(2, [1], "No.")),
        ("6", voice.repeated_message([(5, [1]), (2, [1])], 7, "6", "It rains.")),
        ("7", voice.message(9, [], "it rains!")),
        ("8", "Saw X."),
        ("9", wording.told("repeated", line="Saw X.", count=3, step="5")),
    ]
    items = [at_step(step, line, wording) for step, line in lines]
    both, *_ = once(items[:1], items[1:2], wording)
    assert both == at_step(
        "4", voice.repeated_message([(2, [1, 3])], 2, "4", "It rains."), wording
    )
    said = [(2, ()), (5, ()), (9, ())]
    assert once(items[:2], items[2:], wording) == [
        items[2],
        at_step("7", voice.repeated_message(said, 10, "7", "it rains!"), wording),
        at_step(
            "9", wording.told("repeated", line="Saw X.", count=4, step="8"), wording
        ),
    ]


@LANGUAGES
def test_a_summary_invents_no_speaker_among_those_that_are_not_named(language):
    wording = Wordings(language).of(language)
    voice = Voice(owner=1, wording=wording)
    crowd = [(sender, [1]) for sender in range(2, 14)]
    items = [
        at_step("3", voice.repeated_message(crowd, 12, "3", "It rains."), wording),
        at_step("4", voice.message(20, [1], "It rains."), wording),
    ]
    assert once(items[:1], items[1:], wording) == items
