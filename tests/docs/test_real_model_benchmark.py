"""The benchmark of a real model counts right, here with servers that answer as told."""

import logging

import jinja2
import pytest

from benchmarks import real_model
from benchmarks.small_model import GEMMA, TEMPLATES
from tests.support.openai_server import Behaviour, OpenAIServer, always

QUICK = {"backoff": 0.01}
REFUSAL = "I am sorry, but I cannot help with that request."
#: what each memory asks for
PURPOSES = {
    "STLT": {"consolidate"},
    "LongTerm": {"consolidate"},
    "Episodic": {"grade"},
    "Impression": {"impression"},
    "Fact": {"extract"},
    "Conversation": {"conversation"},
    "Narrative": {"chapter", "story"},
    "Layered": {"consolidate", "impression"},
}
NONE = ["0%", "0%"]
ASKING = [name for name in real_model.MEMORIES if name != "ShortTerm"]


@pytest.fixture(autouse=True)
def _as_loud_as_before():
    """The benchmark quiets the package; other tests want to hear it."""
    logger = logging.getLogger("mesa_memory")
    level = logger.level
    yield
    logger.setLevel(level)


def rows(name, server, steps=6):
    whom = {"llm_model": "openai/test", "api_base": server.base}
    return real_model.lived(name, 3, steps, whom, real_model.SETTINGS | QUICK)


@pytest.mark.parametrize("name", ASKING)
def test_a_model_answers_at_once_or_refuses_everything_and_no_run_ends(name):
    refuse = always(Behaviour.text(REFUSAL))
    for behave, expected in ((None, ["100%", *NONE]), (refuse, [*NONE, "100%"])):
        with OpenAIServer(behave=behave) as server:
            found = rows(name, server)
        for row in found:
            assert [row[how] for how in real_model.OUTCOMES] == expected
            assert row["ended"] == "yes" and row["lost"].startswith("0/")
            assert row["requests"] and row["prompt tokens"] and row["seconds"] > 0
        assert {row["purpose"] for row in found} == PURPOSES[name]


def test_what_is_repaired_is_told_apart():
    def second(received):
        repair = len(received.body["messages"]) > 2
        return None if repair else Behaviour.text(REFUSAL)

    with OpenAIServer(behave=second) as server:
        (row,) = rows("LongTerm", server)
    assert [row[how] for how in real_model.OUTCOMES] == ["0%", "100%", "0%"]


def test_a_run_that_ends_early_says_where_and_why():
    with OpenAIServer(behave=lambda _: Behaviour.status(401, "no key")) as server:
        (row,) = rows("LongTerm", server)
    assert row["ended"].endswith("LLMRejected") and "step" in row["ended"]


def test_a_model_that_has_no_template_gets_the_system_text_with_the_first_question():
    # Of llama.cpp's server, the last message is the reply to come.
    said = "system Be brief.|user Ann?|assistant A fisher.|user Bob?|assistant "
    messages = [
        dict(zip(("role", "content"), m.split(" ", 1))) for m in said.split("|")
    ]
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    text = template.from_string(TEMPLATES[GEMMA]).render(
        messages=messages, bos_token="<bos>"
    )
    assert text == (
        "<bos><start_of_turn>user\nBe brief.\n\nAnn?<end_of_turn>\n"
        "<start_of_turn>model\nA fisher.<end_of_turn>\n"
        "<start_of_turn>user\nBob?<end_of_turn>\n<start_of_turn>model\n"
    )
