"""An audit finds an agent that reads the form of its memory and not what it says."""

from contextlib import closing

import mesa
import numpy as np
import pytest

from mesa_memory import ShortTermMemory, STLTMemory, configure
from mesa_memory.errors import StudyError
from mesa_memory.experiments import Study, draw
from mesa_memory.memories.registry import find
from mesa_memory.memories.rephrasings import WORDINGS
from mesa_memory.stores.open import open_store
from mesa_memory.stores.studies import Studies
from tests.support.single import settle


class Well(mesa.Model):
    """People hear of many things, of the well among them, and decide by their memory."""

    def __init__(self, memory="short_term", n=6, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.afraid = 0.0
        settle(self, find(memory), n, name="ollama/test")

    def step(self):
        afraid = []
        for agent in self.agents:
            news = draw(agent, "news").random(3)
            for number, chance in enumerate(news):
                late = self.steps > 6 and chance < 0.5
                what = "the well is poisoned" if late else "the bread is warm"
                agent.memory.add_to_memory(
                    "news",
                    {"text": f"Agent 9 says {number} on day {self.steps}: {what}"},
                )
            agent.memory.process_step()
            afraid.append(agent.memory.get_prompt_ready().count("poisoned"))
        self.afraid = float(np.mean(afraid))


def afraid(model):
    return model.afraid


def audit(tmp_path, **given):
    study = Study(
        Well, {"memory": ["short_term", "stlt"]}, seeds=range(10), steps=8,
        outcomes={"afraid": afraid}, store=tmp_path / "well.sqlite", record=False,
    )  # fmt: skip
    study.run("serial", progress=False)
    return study.audit("short_term", executor="serial", progress=False, **given)


KINDS = {"short_term": ShortTermMemory, "stlt": STLTMemory}


class ByName(Well):
    """Looks its memory up by name, as many models do."""

    def __init__(self, memory="short_term", n=2, rng=None):
        super().__init__(KINDS[memory], n, rng)


class Checked(Well):
    """Takes classes, and nothing else."""

    def __init__(self, memory=ShortTermMemory, n=2, rng=None):
        if not isinstance(memory, type):
            raise TypeError("a class, please")
        super().__init__(memory, n, rng)


@pytest.mark.parametrize(
    "model, levels",
    [(ByName, ["short_term", "stlt"]), (Checked, [ShortTermMemory, STLTMemory]),
     (ByName, ["short_term", STLTMemory])],
    ids=["audit", "audit of classes", "placebo"],
)  # fmt: skip
def test_a_model_that_takes_names_alone_is_told_before_the_first_run(
    model, levels, tmp_path
):
    study = Study(
        model, {"memory": levels}, seeds=range(2), steps=2,
        outcomes={"afraid": afraid}, store=tmp_path / "study.sqlite",
    )  # fmt: skip
    with pytest.raises(StudyError, match=r"change two lines.*own_memories") as error:
        study.run("serial", progress=False)
        level = study.design.levels("memory")[0]
        study.audit(level, executor="serial", progress=False)
    assert "No run was made" in str(error.value)
    with closing(open_store(study.location)) as store:
        made = [c for row in (1, 2) for c in Studies(store).cases(row) if c.run]
    assert len(made) in (0, 4), "of the study itself alone"


def blamed(found):
    return {each.arm for each in found.wordings.contrasts if each.p_holm < 0.05}


@pytest.mark.slow
def test_who_counts_words_is_not_blamed_and_finished_runs_are_not_repeated(tmp_path):
    found = audit(tmp_path, wordings={"loud": str.upper})
    assert blamed(found) == {"loud"}  # "POISONED" is another word
    assert {each.arm for each in found.wordings.contrasts} == {*WORDINGS, "loud"}
    assert not found.unchanged  # nothing is recorded
    again = audit(tmp_path, wordings={"loud": str.upper})
    assert str(again) == str(found) and found.effect is None


def test_an_unknown_level_or_a_taken_name_is_told(tmp_path):
    with pytest.raises(ValueError, match="no arm has memory='mood'; the arms have"):
        study = Study(
            Well, {"memory": ["stlt"]}, steps=1, outcomes={"afraid": afraid},
            store=tmp_path / "s.sqlite",
        )  # fmt: skip
        study.audit("mood")
    with pytest.raises(ValueError, match="a wording of the audit is called 'prose'"):
        study.audit("stlt", wordings={"prose": str.lower})


def test_a_wording_that_changes_no_character_is_named_and_not_counted(tmp_path, caplog):
    study = Study(
        Well, {"memory": ["short_term"], "n": [1]}, seeds=range(2), steps=2,
        outcomes={"afraid": afraid}, store=tmp_path / "s.sqlite",
    )  # fmt: skip
    study.run("serial", progress=False)
    own = {"same": lambda text: text.replace("dragon", "cat"), "loud": str.upper}
    found = study.audit("short_term", wordings=own, executor="serial", progress=False)
    assert found.unchanged == ("same",)
    assert "not counted, as they changed no character: same" in str(found)
    assert {each.arm for each in found.wordings.contrasts} == {*WORDINGS, "loud"}
    assert (
        "2 seeds cannot show an effect of one of 8 wordings: at least 9" in caplog.text
    )


@pytest.mark.parametrize("name", WORDINGS)
def test_a_wording_keeps_the_words(name):
    text = (
        "Long term memory:\n- Step 1: I met Agent 2\n- Step 2: rain\n\n"
        "Short term memory:\n- Step 3: Agent 4 gave me my hat\n"
    )
    told = WORDINGS[name](None, "memory", text)
    assert told != text
    for word in ("met Agent 2", "rain", "Agent 4 gave", "hat"):
        assert word in told
    assert ("memory:" in told) == (name not in ("no headings", "markdown"))
