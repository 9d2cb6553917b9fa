"""The tokens of a text by the tokenizer of the model that is asked."""

import pytest

from mesa_memory.llm.tokens import count_tokens
from tests.support.network import elsewhere  # noqa: F401 - guards every test here

TEXT = "会议改到星期二九点 hello world"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1-mini", "o3", "gpt-5"])
@pytest.mark.parametrize("before", ["", "openrouter/openai/", "github/"])
def test_a_model_of_openai_is_counted_the_same_under_each_of_its_names(before, model):
    assert count_tokens(TEXT, before + model) == count_tokens(TEXT, f"openai/{model}")
    assert count_tokens("hello world", before + model) == 2
    assert count_tokens("antidisestablishmentarianism", before + model) == 6


@pytest.mark.parametrize("model", [None, "", "mistral/small", "ollama/llama3"])
def test_another_model_is_estimated_by_bytes(model):
    assert count_tokens(TEXT, model) == 10
    assert count_tokens("", model) == 0


def test_a_deployment_with_a_name_of_its_own_is_counted_by_a_tokenizer():
    assert count_tokens("hello world", "azure/our-deployment") == 2
