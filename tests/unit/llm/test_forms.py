"""How a request is sent is worked out once, until the server says something new."""

from pydantic import BaseModel, create_model

from mesa_memory.llm.providers.errors import StateError
from mesa_memory.llm.providers.structured_output import FORMS, PLANS, Negotiation


class Answer(BaseModel):
    """A reply."""

    text: str


def test_requests_that_go_alike_have_one_plan():
    forms = Negotiation()
    assert forms.plan("lean", Answer) is forms.plan("lean", Answer)
    assert forms.plan("lean", Answer).arguments({}) == forms.plan(
        "litellm", Answer
    ).arguments({})


def test_litellm_has_arguments_of_its_own_each_time_as_it_may_change_them():
    forms = Negotiation()
    first, second = (forms.plan("litellm", Answer).arguments({}) for _ in range(2))
    assert first["response_format"] is not second["response_format"]


def test_after_a_refusal_there_is_another_plan():
    forms = Negotiation()
    before = forms.plan("lean", Answer)
    refused = StateError(400, "response_format is not supported")
    assert forms.refused(before, {}, refused)
    after = forms.plan("lean", Answer)
    assert (before.form, after.form) == FORMS[:2]
    assert after.version == before.version + 1


def test_a_better_form_is_tried_once_more_by_one_request_alone():
    forms = Negotiation()
    assert not forms.refused(forms.plan("lean", Answer), {}, StateError(500, "?"))
    tried = forms.plan("lean", Answer)
    forms.answered(tried)
    assert forms.plan("lean", Answer).form == FORMS[0]
    assert forms.plan("lean", Answer).form == tried.form == FORMS[1]


def test_plans_for_classes_made_for_each_request_are_not_kept_for_ever():
    forms = Negotiation()
    for _ in range(PLANS + 1):
        forms.plan("lean", create_model("Answer", text=(str, ...)))
    assert len(vars(forms)["_plans"]) <= PLANS
