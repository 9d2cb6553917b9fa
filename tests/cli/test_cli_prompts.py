"""``mesa-memory prompts`` prints what a model would be asked."""

import json

import pytest
from click.testing import CliRunner

from mesa_memory.cli import main
from mesa_memory.cli.prompts import examples
from mesa_memory.core.prompt_files import languages
from mesa_memory.tasks import registered
from tests.support.turns import in_turn


def printed(*arguments):
    result = CliRunner().invoke(main, ["prompts", *arguments])
    return result.exit_code, result.output


def test_every_task_of_the_package_has_an_example():
    ours = {p for p, t in registered().items() if "mesa_memory.tasks" in t.origin}
    assert set(examples()) == ours


@in_turn(task=sorted(examples()), language=languages())
def test_the_request_of_a_task_is_printed_in_each_language(task, language):
    code, said = printed("--task", task, "--language", language)
    assert code == 0, said
    assert f"[{task}: system]" in said
    assert "Ada" in said.partition(f"[{task}: prompt]")[0]
    *_, schema = said.partition(f"[{task}: schema]\n")
    assert task == "probe" or json.loads(schema)["type"] == "object"


def test_an_own_file_is_printed_as_it_would_be_sent(tmp_path):
    (tmp_path / "consolidate.md").write_text("## system\n\nKeep it short, {{ me }}.\n")
    _, said = printed("--task", "consolidate", "--folder", str(tmp_path))
    assert "Keep it short, Ada." in said


def test_the_source_of_a_file_is_a_file_that_can_be_changed(tmp_path):
    _, said = printed("--task", "consolidate", "--source")
    changed = said.replace("## system\n\n", "## system\n\nBe brief. ")
    (tmp_path / "consolidate.md").write_text(changed)
    _, said = printed("--task", "consolidate", "--folder", str(tmp_path))
    assert "[consolidate: system]\nBe brief. " in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--task", "dream"], "the names are: consolidate"),
        (["--language", "tlh"], "the languages are"),
    ],
)
def test_an_unknown_name_is_told_with_those_that_exist(arguments, told):
    code, said = printed(*arguments)
    assert code == 2
    assert told in " ".join(said.split())
