"""Arms that are the same up to a step: their beginning is run and paid for once."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    LongTermMemory,
    OfflineLLM,
    Services,
    configure,
    implant,
    open_run,
    register_policy,
)
from mesa_memory.errors import UnknownMemory
from mesa_memory.experiments.prefixes import From, run_arms


class Provider:
    """Answers offline, as a provider would, and counts what it is asked."""

    def __init__(self):
        self.calls, self.offline = 0, OfflineLLM()

    def complete(self, request):
        self.calls += 1
        return self.offline.complete(request)


class Neighbour(LLMAgent):
    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        told = self.random.choice(others)
        self.send_message(f"Day {self.model.steps}: all is well.", [told])


class Street(mesa.Model):
    def __init__(self, n=3, rng=None):
        super().__init__(rng=rng)
        for _ in range(n):
            agent = Neighbour(
                self, CoTReasoning, register_policy("quiet", lambda turn: "")
            )
            agent.memory = LongTermMemory(agent)

    def step(self):
        self.agents.shuffle_do("step")


def rumour(model):
    implant(next(iter(model.agents)), "message", {"message": "The well is poisoned!"})


def alarm(model):
    for agent in model.agents:
        implant(agent, "message", {"message": "The bridge is on fire!"})


def memories(model):
    return [agent.memory.get_prompt_ready() for agent in model.agents]


ARMS = (None, From(6, rumour), From(6, alarm), From(4, "swap:short_term", "forget"))
STEPS, SEED = 9, {"rng": 5}


def lived(arm):
    """An arm run by itself, from its first step; and how often the model was asked."""
    provider, street = Provider(), Street(**SEED)
    configure(street, llm=provider, execution="blocking")
    for step in range(STEPS):
        if arm is not None and step == arm.step:
            arm.apply(street)
        street.step()
    Services.of(street).flush()
    return memories(street), provider.calls


def forked(file, arms=ARMS, provider=None):
    provider = provider or Provider()
    prepare = lambda model: configure(model, llm=provider, execution="blocking")  # noqa: E731
    found = run_arms(
        Street, SEED, arms, steps=STEPS, store=file, measure=memories, prepare=prepare
    )
    return found, provider.calls


def test_arms_forked_from_one_beginning_are_what_they_are_when_run_by_themselves(
    tmp_path,
):
    arms, calls = forked(tmp_path / "arms.sqlite")
    alone = [lived(arm) for arm in ARMS]
    assert [arm.result for arm in arms] == [result for result, _ in alone]
    assert len({str(arm.result) for arm in arms}) == len(ARMS)
    assert 0 < calls < 0.75 * sum(each for _, each in alone)


def test_each_arm_is_a_recorded_run_that_knows_its_beginning(tmp_path):
    file = tmp_path / "arms.sqlite"
    arms, _ = forked(file)
    trunk = arms[0].run
    for arm in arms[1:]:
        with open_run(file, arm.run) as run:
            assert (run.parent, run.parent_step) == (trunk, arm.change.step)
            assert run.name == f"arms: {arm.label}"
            assert len(run.steps) == STEPS
            assert run.status in ("finished", "stopped")


def test_arms_that_are_there_are_not_run_again_and_new_ones_are_added(tmp_path):
    file, provider = tmp_path / "arms.sqlite", Provider()
    before, calls = forked(file, ARMS[:2], provider)
    again, same = forked(file, ARMS[:2], provider)
    assert same == calls
    assert again == before
    more, _ = forked(file, ARMS, provider)
    assert more[:2] == before
    assert [arm.result for arm in more] == [lived(arm)[0] for arm in ARMS]


def test_an_arm_that_was_killed_goes_on_where_it_ended(tmp_path):
    class Power(Exception):
        pass

    class Failing(Provider):
        def complete(self, request):
            if self.calls == limit:
                raise Power
            return super().complete(request)

    file = tmp_path / "arms.sqlite"
    _, whole = forked(tmp_path / "whole.sqlite")
    asked = 0
    for limit in (5, 20, 4, 9):
        provider = Failing()
        with pytest.raises(Power):
            forked(file, ARMS, provider)
        asked += provider.calls
    arms, rest = forked(file)
    assert asked + rest == whole, "no call was paid twice"
    assert [arm.result for arm in arms] == [lived(arm)[0] for arm in ARMS]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: From(0, rumour), ValueError, "step must be >= 1"),
        (lambda: From(3, "episodic"), ValueError, "swap:episodic"),
        (lambda: From(3, "swap:epi"), UnknownMemory, "choose from short_term"),
        (lambda: From(3, 7), ValueError, "a function of the model"),
        (lambda: forked(":memory:", []), ValueError, "at least one arm"),
        (lambda: forked("x", [From(9, rumour)]), ValueError, "before the last one"),
        (lambda: forked("x", [From(2, rumour)] * 2), ValueError, "label of its own"),
    ],
)
def test_a_wrong_arm_is_refused_before_anything_is_run(make, error, said):
    with pytest.raises(error, match=said):
        make()
