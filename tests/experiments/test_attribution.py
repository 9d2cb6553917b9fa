"""Attribution finds the memory on which an outcome depends, and blames nothing else."""

import random
import re
from pathlib import Path

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from scipy import stats

from mesa_memory import FactMemory, ShortTermMemory, configure, register_policy
from mesa_memory.cli import main
from mesa_memory.errors import StoreError
from mesa_memory.experiments import attribute, draw
from mesa_memory.experiments.erasures import Shown, candidates
from mesa_memory.runs.recording.resume import copy_at
from mesa_memory.statistics.difference import GroupDifference
from tests.support.playing import play
from tests.support.single import settle

SECRET = "The bridge is broken"
CUT, LAST = 2, 4
#: the noise of a language model: no two answers draw the same number
NOISE = random.Random(1)


class Walker(LLMAgent):
    """Takes the ford if its memory shows that the bridge is broken."""

    def step(self):
        day = f"Day {self.model.steps}: the weather is mild."
        self.memory.add_to_memory("observation", {"text": day})
        shown = self.memory.get_prompt_ready()
        asked = f"{shown}\n\nBridge or ford?"
        said = self.llm.generate(asked).choices[0].message.content
        self.model.fords += said == "ford"
        self.memory.process_step()


class Valley(mesa.Model):
    """Walkers, of whom one knows a secret, and may tell the others on day 1."""

    walker = Walker

    def __init__(
        self, n=4, planted=True, told=False, noise=0.0, memory=ShortTermMemory,
        record=None, rng=None,
    ):  # fmt: skip
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        self.fords, self.told = 0, told

        def policy(turn):
            ford = "broken" in turn.prompt  # also as a fact
            return "ford" if ford != (NOISE.random() < noise) else "bridge"

        name = register_policy(f"valley-{noise}", policy)
        settle(self, memory, n, self.walker, name)
        self.knower = draw(self, "knower").integers(n) if planted else None
        if planted:
            knower = list(self.agents)[self.knower]
            knower.memory.add_to_memory("observation", {"text": SECRET})

    def step(self):
        if self.told and self.steps == 1:
            knower = list(self.agents)[self.knower]
            others = [agent for agent in self.agents if agent is not knower]
            knower.send_message(SECRET, others)
        self.agents.do("step")

    def get_state(self):
        return {"fords": self.fords}

    def set_state(self, state):
        self.fords = state["fords"]


def fords(model):
    return model.fords


def recorded(folder, **given):
    """A recorded valley, at the end."""
    file = str(folder / f"valley-{given}.sqlite")
    return file, play(Valley(record=file, **given), LAST)


def asked(file, **given):
    given = {"screen": 2, "progress": False} | given
    return attribute(Valley, file, step=CUT, outcome=fords, steps=LAST, **given)


@pytest.mark.parametrize("told", [False, True])
def test_a_planted_memory_is_found_with_all_who_were_told(tmp_path, told):
    file, model = recorded(tmp_path, rng=1, told=told)
    found = asked(file)
    assert found.exact and found.outcome == model.fords
    (blamed,) = found.blamed
    assert blamed.erasure.text == SECRET
    knower = int(model.knower) + 1
    expected = {1, 2, 3, 4} if told else {knower}
    assert {*blamed.erasure.records} == expected
    table = found.table()
    assert table["what"].iloc[0] == SECRET
    # Each who knows walks two days more.
    assert blamed.difference.mean == -2 * len(expected)
    assert f"Without “{SECRET}” (agents" in str(found)


def test_nothing_is_blamed_where_nothing_was_planted_and_the_run_stays(tmp_path):
    file, _ = recorded(tmp_path, rng=1, planted=False)
    before = Path(file).read_bytes()
    found = asked(file)
    assert Path(file).read_bytes() == before
    assert found.blamed == []
    assert found.sufficient == []
    assert sorted(each.kept for each in found.effects) == [False] * CUT + [True] * CUT
    # As it was twice, each group twice, and without all of them.
    assert found.runs == 2 + 2 * CUT + 1
    assert "No memory was found" in str(found)


@pytest.mark.parametrize(
    "given", [{}, {"planted": False}, {"told": True, "noise": 0.5}]
)
def test_the_runs_that_are_made_are_within_those_that_were_said(
    tmp_path, caplog, given
):
    found = asked(recorded(tmp_path, rng=1, **given)[0], **given)
    said = r"steps: (\d+) if answers are always the same, else up to (\d+)"
    fewest, most = map(int, re.search(said, caplog.text).groups())
    assert found.runs == fewest if found.exact else fewest < found.runs <= most


class Asked(Walker):
    """Is asked for the way, and then who sings."""

    def step(self):
        super().step()
        self.llm.generate(f"{self.memory.get_prompt_ready()}\n\nWho sings?")


class Choirs(Valley):
    """A valley whose walkers are asked two questions in a step."""

    walker = Asked


def test_one_of_several_decisions_of_a_step_is_asked_about(tmp_path):
    file = str(tmp_path / "run.sqlite")
    model = play(Choirs(record=file, rng=1), LAST)
    one = {"agent": int(model.knower) + 1, "step": 3, "screen": 2, "progress": False}
    with pytest.raises(
        ValueError, match=r"made 2 decisions .* 1 “ford”, 2 “ford”.*None"
    ):
        attribute(Choirs, file, **one)
    for wrong in (0, 3):
        with pytest.raises(ValueError, match=f"decision= .*, got {wrong}"):
            attribute(Choirs, file, decision=wrong, **one)
    for other in ({"agent": None, "steps": 4}, {}):
        with pytest.raises(TypeError, match=r"decision=1 chooses .* give agent="):
            attribute(Choirs, file, decision=1, outcome=len, **one | other)
    for number in (1, 2):
        found = attribute(Choirs, file, decision=number, **one)
        (blamed,) = found.blamed
        assert found.decision == "ford" and blamed.instead == "bridge"
        assert blamed.difference.mean == 1
    place = f"{Choirs.__module__}:Choirs"
    given = ["--model", place, "--agent", str(one["agent"]), "--step", "3"]
    done = CliRunner().invoke(main, ["attribute", file, *given])
    assert done.exit_code != 0 and "Give decision= one of" in done.output
    given += ["--decision", "2", "--screen", "2"]
    done = CliRunner().invoke(main, ["attribute", file, *given])
    assert "the decision is “bridge”" in done.output, done.output


def test_an_event_and_the_facts_that_say_it_in_other_words_are_one_group(tmp_path):
    file, _ = recorded(tmp_path, n=2, told=True, memory=FactMemory, rng=1)
    model = copy_at(Valley, file, CUT, memory=FactMemory)
    groups = {each.text: each for each in candidates(model, None)}
    event = groups[SECRET]
    assert event.followers == 0 and {*event.records} == {1, 2}
    (fact,) = event.also
    assert fact.startswith("the bridge") and "broken" in fact
    assert {*map(len, event.records.values())} == {2, 3}


@pytest.mark.parametrize("told", [False, True])
def test_an_event_of_which_only_the_fact_is_shown_is_erased_with_it(tmp_path, told):
    file, model = recorded(tmp_path, n=2, told=told, memory=FactMemory, rng=1)
    found = asked(file, memory=FactMemory)
    (blamed,) = found.blamed
    assert blamed.erasure.text == SECRET and blamed.erasure.followers == 0
    knowers = {1, 2} if told else {int(model.knower) + 1}
    assert {*blamed.erasure.records} == knowers
    # An event and a fact; the one who knows has its own message, too.
    assert {len(names) for names in blamed.erasure.records.values()} <= {2, 3}
    assert blamed.difference.mean == -2 * len(knowers)


def test_a_fact_of_several_events_is_a_group_of_its_own(tmp_path):
    file, _ = recorded(tmp_path, n=2, told=True, memory=FactMemory, rng=1)
    model = copy_at(Valley, file, CUT, memory=FactMemory)
    for agent in model.agents:
        heard = {"message": "They say that the bridge is broken.", "sender": 9}
        agent.memory.add_to_memory("message", heard)
        agent.memory.process_step()
    text = "\n".join(a.memory.get_prompt_ready() for a in model.agents)
    shown = Shown({str(a.unique_id): text for a in model.agents}, frozenset())
    groups = {each.text: each for each in candidates(model, shown)}
    (fact,) = [text for text, each in groups.items() if text.startswith("the bridge")]
    assert {*map(len, groups[fact].records.values())} == {1}


def test_one_decision_depends_on_the_line_of_its_prompt(tmp_path, caplog):
    file, model = recorded(tmp_path, rng=1, told=True)
    knower = int(model.knower) + 1
    hearer = next(n for n in range(1, 5) if n != knower)
    found = attribute(Valley, file, agent=hearer, step=3, screen=2, progress=False)
    (blamed,) = found.blamed
    assert found.exact and found.step == 2 and found.decision == "ford"
    assert {*blamed.erasure.records} == {hearer} and SECRET in blamed.erasure.text
    assert blamed.instead == "bridge"
    assert f"Without “{blamed.erasure.text}” the decision is “bridge”." in str(found)
    # Three groups: as it was twice, each erased, each kept, and without all.
    assert found.runs == 9 and "9 if answers are always the same, else" in caplog.text
    assert (
        "Each sends about 4 requests, for $0.0000; all send 36 to 192." in caplog.text
    )
    assert found.calls == 4 * found.runs and found.cost == 0
    assert "Runs of 1 steps" in caplog.text
    with pytest.raises(ValueError, match="after the first, got 1"):
        attribute(Valley, file, agent=hearer, step=1, progress=False)
    with pytest.raises(ValueError, match="no agent 77"):
        attribute(Valley, file, agent=77, step=3, progress=False)
    with pytest.raises(TypeError, match="agent=15, step=7"):
        attribute(Valley, file, step=3)


class Doubled(Valley):
    """One walker hears of the bridge twice, in other words; one hint is enough."""

    hints = f"{SECRET}.", "The bridge is broken now!"

    def __init__(self, n=2, record=None, rng=None):
        super().__init__(n=n, planted=False, record=record, rng=rng)
        for hint in self.hints:
            heard = {"message": hint, "sender": 2}
            self.agents[0].memory.add_to_memory("message", heard)


class Apart(Doubled):
    """The hints do not say the same."""

    hints = (
        f"{SECRET} says the miller, who was at the river in the night",
        f"A letter came with the post this morning about many things: {SECRET}",
    )


def hints_of(model, agent, tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(model(record=file, rng=1), LAST)
    asks = {"outcome": fords, "steps": LAST} if agent is None else {"agent": agent}
    asks |= {"step": CUT if agent is None else CUT + 1}
    return attribute(model, file, **asks, screen=2, progress=False)


@pytest.mark.parametrize("agent", [None, 1])
def test_paraphrases_are_one_group(tmp_path, agent):
    found = hints_of(Doubled, agent, tmp_path)
    (blamed,) = found.blamed
    (alone,) = found.sufficient
    assert blamed.erasure.text == alone.erasure.text == Doubled.hints[0]
    assert blamed.erasure.also == Doubled.hints[1:]
    assert "and 1 paraphrases" in str(found)


@pytest.mark.parametrize("agent", [None, 1])
def test_of_two_hints_each_is_sufficient_and_none_is_necessary(tmp_path, agent):
    found = hints_of(Apart, agent, tmp_path)
    assert found.blamed == []
    assert {each.erasure.text for each in found.sufficient} == {*Apart.hints}
    rows = found.table().set_index("what").loc[list(Apart.hints)]
    assert (rows.effect == 0).all() and (rows.alone != 0).all()
    assert f"With “{Apart.hints[0]}” alone" in str(found)


def test_an_attribution_that_is_stopped_keeps_what_was_found(tmp_path):
    file, _ = recorded(tmp_path, rng=1, told=True)
    some = asked(file, max_runs=4)
    assert some.stopped and some.runs == 4 and len(some.effects) == 2
    ends = iter(range(99))

    def impatient(model):
        if next(ends) == 3:
            raise KeyboardInterrupt
        return fords(model)

    found = attribute(
        Valley, file, step=CUT, steps=LAST, outcome=impatient, screen=2, progress=False
    )
    assert found.stopped and len(found.effects) == 1
    assert "stopped before all" in str(found)


def test_wrong_numbers_and_steps_are_told(tmp_path):
    file, _ = recorded(tmp_path, rng=1)
    with pytest.raises(ValueError, match="steps must be after step=2, got steps=2"):
        attribute(Valley, file, step=2, outcome=fords, steps=2)
    with pytest.raises(ValueError, match="screen must be"):
        asked(file, screen=1)
    with pytest.raises(StoreError, match="lacks a finished step 9"):
        attribute(Valley, file, step=9, outcome=fords, steps=12, progress=False)


def test_the_difference_of_two_groups_is_that_of_scipy():
    one, other = [3, 4, 4, 6, 7], [1, 2, 4, 3, 2]
    found = GroupDifference(one, other)
    welch = stats.ttest_ind(one, other, equal_var=False)
    assert found.interval == pytest.approx(tuple(welch.confidence_interval()))
    exact = stats.permutation_test((one, other), lambda a, b: sum(a) / 5 - sum(b) / 5)
    assert found.p == pytest.approx(exact.pvalue)
    # The mean of twelve equal outcomes is not exactly this outcome.
    assert GroupDifference([0.1] * 2, [0.1] * 12).mean == 0
    assert GroupDifference([1, 1], [1, 1]).p == 1 and GroupDifference(
        [2, 2], [1, 1]
    ).interval == (1, 1)


@pytest.mark.slow
def test_it_is_found_where_a_tenth_of_the_answers_flip(tmp_path):
    NOISE.seed(1)
    given = {"screen": 12}
    first = null = 0
    for seed in range(3):
        file, _ = recorded(tmp_path, rng=seed, told=True, noise=0.1)
        found = asked(file, **given)
        first += [e.erasure.text for e in found.blamed][:1] == [SECRET]
        file, _ = recorded(tmp_path, rng=seed, planted=False, noise=0.1)
        null += bool(asked(file, **given).blamed)
    assert (first, null) == (3, 0)
