"""Prompt files: filled in with values, exchanged by a user's, checked before a run."""

import json
import pickle
import re
from itertools import product
from types import SimpleNamespace

import pytest
from jinja2 import Template
from mesa import Model

from mesa_memory import LongTermMemory, configure
from mesa_memory.core.prompt_files import FOLDER, WHOSE, languages
from mesa_memory.core.wording import ENGLISH, Wording, Wordings
from mesa_memory.errors import PromptFileError
from mesa_memory.llm.schemas import schema_of
from mesa_memory.tasks import (
    CHAPTER,
    CONSOLIDATE,
    CONVERSATION,
    GRADE,
    IMPRESS,
    QUESTIONS,
    REFLECT,
    STORY,
)
from tests.support.models import hear
from tests.support.single import scripted, table

LINES = {
    "summary": "Ada owes Bo.",
    "events": "Step 1:\n- Bo came",
    "words": 20,
    "stale": False,
}


def own(folder, name, text):
    """A user's folder with one prompt file."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_values_are_put_in_as_they_are():
    told = ENGLISH("consolidate", "prompt", **LINES | {"summary": "{{ 1 }} <b>&"})
    assert "- {{ 1 }} <b>&\n" in told
    assert "at most 20 words" in told


def test_an_own_file_changes_its_part_and_no_other(tmp_path):
    own(tmp_path, "consolidate.md", "## system\n\nKeep it short.\n")
    wording = Wording(folder=tmp_path)
    assert wording("consolidate", "system") == "Keep it short."
    assert wording("consolidate", "prompt", **LINES) == ENGLISH(
        "consolidate", "prompt", **LINES
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("consolidat.md", "## system\nx", "the names are: .*consolidate"),
        ("consolidate.md", "## systm\nx", "its parts are: system, prompt"),
        ("consolidate.md", "## system\n{{ mood }}", "values that exist are: events, "),
        ("consolidate.md", "## prompt\n{{ events }}", "must use 'summary'"),
        ("consolidate.md", "## system\n{% if %}", "not a Jinja template"),
        ("memory.md", "## step\n{{ step.__class__ }}", "uses '__class__'"),
        ("memory.md", "## step\n{{ step.upper() }}", "uses 'Call'"),
        ("memory.md", "## step\n{{ step.real }}", "uses 'real'"),
        ("memory.md", "## step\n{{ step['__doc__'] }}", r"uses \[…\] with a name"),
        ("memory.md", "## step\n{{ step | attr('x') }}", "uses the filter 'attr'"),
        ("memory.md", "## step\n{{ 'x' * 10**9 }}", "uses '(Mul|Pow)'"),
        ("memory.md", "## step\n{{ '%99999999d' % 1 }}", "uses % with '%99999999d'"),
        ("memory.md", "## step\n{% include 'x' %}", "uses 'Include'"),
        ("memory.md", "## step\n{% macro x() %}{% endmacro %}", "uses 'Macro'"),
        (
            "memory.md",
            "## step\n{% for a in step %}{% for b in step %}x{% endfor %}{% endfor %}",
            "a loop within a loop",
        ),
        ("memory.md", "## step\n{{ " + "(" * 5000 + "1", "not a Jinja template"),
        ("impression.md", "## offline seems\n{{ subject.nme }}", "uses 'nme'"),
    ],
)
def test_a_wrong_file_is_told_at_configure_and_changes_nothing(
    tmp_path, name, text, said
):
    model = Model()
    services = configure(model, llm="offline")
    before = services.wordings
    with pytest.raises(PromptFileError, match=said):
        configure(model, prompts=own(tmp_path, name, text))
    assert services.wordings is before


@pytest.mark.parametrize(
    ("part", "values", "said"),
    [
        ("{{ step + 1 }}", {"step": "one"}, "cannot be filled in: can only concat"),
        ("{{ '%d' % step }}", {"step": "one"}, "cannot be filled in: %d format"),
        ("{{ step[9] }}", {"step": "one"}, "cannot be filled in"),
        (
            "{% for a in step %}" + "long " * 50 + "{% endfor %}",
            {"step": "a" * 400},
            "100000 char",
        ),
    ],
)
def test_a_part_that_cannot_be_filled_in_is_told_by_file_and_part(
    tmp_path, part, values, said
):
    wording = Wording(folder=own(tmp_path, "memory.md", f"## step\n{part}\n"))
    with pytest.raises(PromptFileError, match=f"part 'step' .*'memory'.*{said}"):
        wording.told("step", **values)


def test_a_long_text_of_long_values_is_no_fault():
    events = "a" * 200_000
    assert events in ENGLISH("consolidate", "prompt", **LINES | {"events": events})


def test_a_missing_folder_and_an_unknown_language_are_told(tmp_path):
    with pytest.raises(PromptFileError, match="there is no folder"):
        configure(Model(), prompts=tmp_path / "nowhere")
    with pytest.raises(PromptFileError, match=r"the languages are: .*en"):
        configure(Model(), language="tlh")


def test_an_own_file_is_in_the_request(tmp_path):
    folder = own(tmp_path, "consolidate.md", "## system\n\nKeep it short.\n")
    rules = {"consolidate": {"summary": "All is well."}}
    memory, llm = scripted(LongTermMemory, rules, prompts=folder)
    hear(memory, (2, "Hello."))
    (*_, request) = llm.history
    assert request.system.startswith(
        "Keep it short. The agent is Agent 1. Lines starting with"
    )


def test_a_wording_is_the_same_in_another_process(tmp_path):
    folder = own(tmp_path, "en/consolidate.md", "## system\n\nKeep it short.\n")
    sent = pickle.dumps(Wording(folder=folder))
    (folder / "en" / "consolidate.md").unlink()
    assert pickle.loads(sent)("consolidate", "system") == "Keep it short."


@pytest.mark.parametrize("language", languages())
def test_every_language_has_all_files_parts_and_values(language):
    first, there = ENGLISH.files, Wording(language).files
    assert list(there) == list(first)
    for name, file in there.items():
        assert list(file.parts) == list(first[name].parts), name
        file.check_against(first[name])


def test_a_file_uses_no_value_that_its_head_does_not_name():
    for name, file in ENGLISH.files.items():
        used = set().union(*(file.used(part) for part in file.parts))
        assert used - WHOSE == file.allowed - WHOSE, f"{FOLDER}/en/{name}.md"


@pytest.mark.parametrize("language", languages())
def test_a_phrase_says_what_its_template_says(language):
    wording = Wording(language)
    for name, file in wording.files.items():
        for part, phrase in file.phrases.items():
            template = Template(file.parts[part], trim_blocks=True, lstrip_blocks=True)
            for given in product((True, False), repeat=len(phrase.asked)):
                empty = {n for n, there in zip(phrase.asked, given) if not there}
                values = {n: "" if n in empty else f"100% {n}" for n in file.used(part)}
                told = wording(name, part, **values)
                assert told == template.render(values).strip("\n"), (name, part, empty)


# -- the language of an agent, where it is to be detected ---------------------------------

TOLD = table("spoken")["prompts"]


@pytest.mark.parametrize("language", TOLD)
def test_the_language_of_the_prompts_is_found(language):
    agent = SimpleNamespace(system_prompt=TOLD[language])
    assert Wordings("auto").of_agent(agent).language == language


def test_without_much_to_go_by_it_is_english_and_an_own_language_comes_first():
    agent = SimpleNamespace(system_prompt=None, step_prompt="Go.")
    assert Wordings("auto").of_agent(agent).language == "en"
    own = {"languages": lambda agent: agent.tongue}
    agent.tongue = "pt"
    assert Wordings("auto", **own).of_agent(agent).language == "pt"
    assert Wordings("zh", **own).of_agent(agent).language == "pt"
    agent.tongue, agent.system_prompt = "auto", TOLD["es"]
    assert Wordings("zh", **own).of_agent(agent).language == "es"


@pytest.mark.parametrize(
    ("language", "chars", "most"),
    [
        ("en", 4000, 600), ("en", 400, 60), ("en", 60, 9), ("en", 700, 100),
        ("de", 4000, 550), ("ja", 4000, 4000), ("ja", 777, 750), ("zh", 95, 90),
    ],
)  # fmt: skip
def test_limits_in_words_are_round_numbers(language, chars, most):
    wording = Wording(language)
    inputs = table("task_inputs")["inputs"]["consolidate"]
    prompt = CONSOLIDATE.prompt({**inputs, "max_chars": chars, "wording": wording})
    assert [int(n) for n in re.findall(r"\d+", prompt.splitlines()[-1])] == [most]


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("end", [".", "!", "", "…"])
def test_a_role_ends_with_one_full_stop(language, end):
    told = {"me": "Jon", "role": f"You are short of money{end}"}
    system = CONSOLIDATE.system({"wording": Wording(language), **told}, "Say one line.")
    after = system.partition(told["role"])[2]
    assert after[0] in '"」'
    stops = re.match(r"[.。]*", after[1:])[0]
    assert len(stops) == (0 if end or language == "ja" else 1)
    assert system.endswith("\nSay one line.")


TASKS = [CONSOLIDATE, STORY, CONVERSATION, CHAPTER, IMPRESS, REFLECT, QUESTIONS, GRADE]


@pytest.mark.parametrize("task", TASKS, ids=repr)
def test_what_a_prompt_says_of_a_reply_is_not_said_again_in_the_schema(task):
    inputs = table("task_inputs")["inputs"][task.purpose]
    for given in (inputs, {"observer": "Ann", "others": [inputs] * 2, **inputs}):
        assert '"description"' not in json.dumps(schema_of(task.schema(given)))
