"""A step stays short: the calls of the package's functions and the files they are in."""

import pytest

import mesa_memory
from benchmarks.structure import traced
from tests.support.walker import Walk

#: three events and one prompt: the most calls, and the most files
BOUNDS = {
    "ShortTermMemory": (750, 28),
    "STLTMemory": (810, 29),
    "LongTermMemory": (1_370, 44),
    "EpisodicMemory": (1_770, 45),
    "ImpressionMemory": (1_180, 30),
    "FactMemory": (2_320, 52),
    "ConversationMemory": (1_540, 30),
    "NarrativeMemory": (1_190, 29),
    "LayeredMemory": (1_850, 37),
}
#: the shortest of several steps, in their thread: when rows are written is up to time
RECORDED = (2_550, 64)


@pytest.mark.parametrize("name", BOUNDS)
def test_a_step_enters_few_functions_and_files(name):
    found = traced(Walk(getattr(mesa_memory, name)).step)
    _within(found, BOUNDS[name])


def test_a_recorded_step_enters_few_functions_and_files(tmp_path):
    model = Walk(mesa_memory.EpisodicMemory, tmp_path / "run.sqlite")
    steps = [traced(model.step, here=True) for _ in range(4)]
    mesa_memory.Services.of(model).recorder.close()
    _within(min(steps, key=len), RECORDED)


def _within(found, bound):
    calls, files = len(found), len({file for file, _ in found})
    assert calls > 100, "the step was not seen"
    most_calls, most_files = bound
    assert calls <= most_calls and files <= most_files, f"{calls} in {files} files"
