"""A model that sends back the example of its prompt gives no answer."""

import json
import re

import pytest

from mesa_memory.core.prompt_files import languages
from mesa_memory.core.wording import Wording
from mesa_memory.tasks import EXTRACT
from tests.tasks.test_tasks import EACH, FACT, LINES, OURS, WHOSE, answered


@EACH
def test_no_request_has_a_blank_that_could_be_copied(task, inputs):
    prompt = task.request(inputs, **WHOSE).prompt
    assert "…" not in prompt.splitlines()[-1] and '"…"' not in prompt


@pytest.mark.parametrize("language", languages())
def test_facts_of_the_worked_example_are_asked_for_again(language):
    request = EXTRACT.request(OURS[EXTRACT] | {"wording": Wording(language)}, **WHOSE)
    found = re.findall(r"[(（](Lea.+?)[)）]", request.prompt)
    parts = [re.split("[,，、] *", each) for each in found]
    keys = ("subject", "attribute", "value")
    copied = [dict(zip(keys, each), sources=[1], speaker="Lea") for each in parts]
    good = {**FACT, "value": "broken", "sources": [1]}
    texts = [json.dumps({"facts": facts}) for facts in (copied, [*copied, good])]
    extracted, asked = answered(EXTRACT, request, *texts)
    assert len(copied) == len(asked) == 2
    assert [one.value for one in extracted.candidates if one.sources] == ["broken"]


def test_a_lea_whom_the_events_name_may_sell_her_boat():
    lines = ["Lea to you: I sold my boat.", *LINES]
    request = EXTRACT.request(OURS[EXTRACT] | {"lines": lines}, **WHOSE)
    sold = {"subject": "Lea", "attribute": "boat", "value": "sold", "sources": [1]}
    extracted, _ = answered(EXTRACT, request, json.dumps({"facts": [sold]}))
    assert [one.sources for one in extracted.candidates] == [(0,)]
