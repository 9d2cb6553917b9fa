"""A step stays short: the calls of the package's functions and the files they are in."""

import pytest

import mesa_memory
from benchmarks.structure import entered, traced
from tests.house.layout import ROOT
from tests.support.walker import Walk

#: three events and one prompt: the most calls, and the most files; a few calls more than
#: a step alone, as what other tests have left may be told of it
BOUNDS = {
    "ShortTermMemory": (342, 18),
    "STLTMemory": (412, 21),
    "LongTermMemory": (716, 33),
    "EpisodicMemory": (788, 36),
    "ImpressionMemory": (525, 23),
    "FactMemory": (1452, 42),
    "ConversationMemory": (535, 23),
    "NarrativeMemory": (494, 22),
    "LayeredMemory": (884, 30),
}
#: the shortest of several steps, in their thread: when rows are written is up to time
RECORDED = (1_100, 50)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_step_enters_few_functions_and_files(name):
    found = traced(Walk(getattr(mesa_memory, name)).step)
    _within(found, BOUNDS[name])


def test_a_recorded_step_enters_few_functions_and_files(tmp_path):
    model = Walk(mesa_memory.EpisodicMemory, tmp_path / "run.sqlite")
    steps = [traced(model.step, here=True) for _ in range(4)]
    mesa_memory.Services.of(model).recorder.close()
    _within(min(steps, key=len), RECORDED)


def test_contributing_has_the_path_of_an_event_and_of_a_recall():
    told = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = {file for file, _ in entered()}
    missing = [file for file in sorted(files) if f"`{file}`" not in told]
    assert missing == [], "python -m benchmarks.structure --path prints the path anew"


def _within(found, bound):
    calls, files = len(found), len({file for file, _ in found})
    assert calls > 100, "the step was not seen"
    most_calls, most_files = bound
    assert calls <= most_calls and files <= most_files, f"{calls} in {files} files"
