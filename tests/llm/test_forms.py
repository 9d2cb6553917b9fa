"""The form of requests follows the answers and refusals of their server."""

from pydantic import BaseModel

from mesa_memory.llm.providers.errors import StateError
from mesa_memory.llm.providers.structured_output import FORMS, OutputFormat


class Answer(BaseModel):
    """A reply."""

    text: str


def test_each_request_has_its_own_arguments_as_litellm_may_change_them():
    forms = OutputFormat()
    first, second = (forms.plan("litellm", Answer).arguments({}) for _ in range(2))
    assert first["response_format"] is not second["response_format"]


def test_after_a_refusal_there_is_another_plan():
    forms = OutputFormat()
    before = forms.plan("direct", Answer)
    refused = StateError(400, "response_format is not supported")
    assert forms.refused(before, {}, refused)
    after = forms.plan("direct", Answer)
    assert (before.form, after.form) == FORMS[:2]
    assert after.version == before.version + 1


def test_a_better_form_is_tried_once_more_by_one_request_alone():
    forms = OutputFormat()
    assert not forms.refused(forms.plan("direct", Answer), {}, StateError(500, "?"))
    tried = forms.plan("direct", Answer)
    forms.answered(tried)
    assert forms.plan("direct", Answer).form == FORMS[0]
    assert forms.plan("direct", Answer).form == tried.form == FORMS[1]
