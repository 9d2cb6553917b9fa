"""Whether sentences state the same: request, replies of weak models, offline answer."""

import json

import pytest

from mesa_memory import BadReply, Reply
from mesa_memory.core.text.replies import read
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR, SAYINGS
from mesa_memory.tasks import SAME
from mesa_memory.tasks.offline.same import offline_verdict

TEXT = "The town well is poisoned."
LINES = ["Someone poisoned the well.", "The well is safe.", "It rains."]
INPUTS = {"text": TEXT, "unlike": "", "lines": LINES}


def answered(*texts, inputs=INPUTS):
    """What the task makes of replies, and how many requests that took."""
    flow = SAME.ask(SAME.request(inputs, agent=None, step=3))
    count = 0
    try:
        next(flow)
        for text in texts:
            count += 1
            flow.send(Reply(text))
    except StopIteration as stop:
        return stop.value, count
    raise AssertionError("a further request")


def test_the_prompt_has_the_text_what_is_not_meant_and_numbered_sentences():
    prompt = SAME.prompt(INPUTS | {"unlike": "The well is safe to drink from."})
    assert prompt.splitlines()[:2] == ["The text:", f"- {TEXT}"]
    assert "This is not meant:\n- The well is safe to drink from." in prompt
    assert "The sentences (3):\n1. Someone poisoned the well.\n2. The well" in prompt
    assert "not meant" not in SAME.prompt(INPUTS)


def test_the_schema_asks_for_exactly_one_verdict_for_each_sentence():
    tree = SAME.schema(INPUTS).model_json_schema()["properties"]["verdicts"]
    assert (tree["minItems"], tree["maxItems"]) == (3, 3)
    assert tree["items"]["properties"] == {
        "sentence": {"type": "integer", "enum": [1, 2, 3]},
        "same": {"type": "boolean"},
    }
    assert SAME.schema(INPUTS) is SAME.schema(INPUTS)


@pytest.mark.parametrize(
    "reply",
    [
        {"verdicts": [{"sentence": n, "same": n == 1} for n in (1, 2, 3)]},
        {"verdicts": [{"sentence": n, "same": n == 1} for n in (3, 1, 2)]},
        {"verdicts": {"1": "yes", "2": "no", "Sentence 3": "No."}},
        {"1": True, "2": False, "3": False},
        [{"number": "1", "answer": "Yes"}, {"id": 2, "same": 0}, {"n": 3, "same": "n"}],
        [True, False, "different"],
        "1. yes\n2. no\nSentence 3: no",
    ],
)
def test_what_weak_models_send_is_read(reply):
    text = reply if isinstance(reply, str) else json.dumps(reply)
    assert answered(text) == ({0: True, 1: False, 2: False}, 1)


def test_a_reply_with_one_too_few_gives_those_that_have_a_number():
    some = {"verdicts": [{"sentence": 3, "same": True}, {"sentence": 1, "same": "?"}]}
    assert answered(json.dumps(some)) == ({2: True}, 1)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ([True, False], "3 verdicts were asked for, 2 came"),
        ([{"sentence": 4, "same": True}], "have the numbers 1 to 3, each once"),
        ([{"sentence": 1, "same": True}] * 2, "have the numbers 1 to 3, each once"),
        ([{"sentence": 1, "same": "perhaps"}], "there was no verdict in it"),
    ],
)
def test_a_reply_that_does_not_say_whose_verdict_is_which_is_sent_back_once(
    reply, says
):
    bad, good = json.dumps(reply), json.dumps([True, False, False])
    assert answered(bad, good) == ({0: True, 1: False, 2: False}, 2)
    with pytest.raises(BadReply, match=f"^step 3, same: .*{says}"):
        answered(bad, bad)


def test_a_verdict_is_no_text_of_a_reply_that_goes_on_and_on():
    long = "1. yes " + "because of the well " * 9
    with pytest.raises(BadReply, match="no JSON object"):
        answered(long, long)


def test_offline_a_rumour_is_told_from_its_denial_both_ways():
    rumour, denial = SAYINGS[RUMOUR], SAYINGS[CORRECTION]
    assert offline_verdict(f"News of day 3: {rumour}.", rumour)
    assert not offline_verdict(f"News of day 3: {denial}.", rumour)
    assert offline_verdict(f"News of day 3: {denial}.", denial)
    assert not offline_verdict(f"News of day 3: {rumour}.", denial)


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("Somebody is poisoning the well of our town!", True),
        ("The town well isn't poisoned.", False),
        ("Is the town well poisoned?", False),
        ("The town well is deep.", True),  # two of three words: a rule, no reader
        ("The poison was sold at the market.", False),
        ("", False),
    ],
)
def test_offline_goes_by_shared_words_denial_and_form(line, same):
    assert offline_verdict(line, TEXT) is same


def test_offline_what_is_nearer_to_what_is_not_meant_does_not_count():
    line = "The town well is deep and cold."
    assert offline_verdict(line, TEXT)
    assert not offline_verdict(line, TEXT, "The town well is deep.")


def test_offline_a_text_without_content_words_has_no_likeness():
    assert not offline_verdict("It is so.", "It is so.")


def test_the_offline_answer_has_a_verdict_for_each_sentence():
    reply = Reply(json.dumps(SAME.offline(INPUTS)))
    verdicts = read(reply, SAME.schema(INPUTS), 100).verdicts
    assert [one.same for one in verdicts] == [True, False, False]
