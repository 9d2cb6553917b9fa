"""Random numbers have an address, and nothing else decides what they are."""

import copy
import warnings

import mesa
import numpy as np
import pytest

from mesa_memory import Recording, Services, configure, fork, resume
from mesa_memory.errors import NoSeed
from mesa_memory.experiments import draw

#: the first numbers of one address; they must never change
PINNED = [
    4345673630420437959,
    7912521026461695435,
    3510734911125514654,
    2752778252565971083,
]


class Walker(mesa.Agent):
    """Goes somewhere, and may draw for other things before."""

    def step(self) -> None:
        for _ in range(self.model.more * (self.unique_id % 3)):
            self.model.rng.random()
            draw(self, "other things").random()
        place = int(draw(self, "where").integers(1000))
        self.model.went.append([self.model.steps, self.unique_id, place])


class Yard(mesa.Model):
    """Made with a seed, or without one."""

    def __init__(self, more: int = 0, rng=None) -> None:
        super().__init__(rng=rng)
        self.more, self.went = more, []
        for _ in range(4):
            Walker(self)

    def step(self) -> None:
        self.agents.shuffle_do("step")

    def get_state(self):
        return {"went": self.went}

    def set_state(self, state) -> None:
        self.went = state["went"]


class Unseeded(Yard):
    """Cannot be given a seed at all."""

    def __init__(self, more: int = 0) -> None:
        super().__init__(more)


def walked(model, steps=5):
    for _ in range(steps):
        model.step()
    return sorted(model.went)


def first(generator):
    return generator.integers(2**63, size=4).tolist()


def test_a_draw_does_not_depend_on_what_others_draw_nor_on_their_order():
    assert walked(Yard(rng=3)) == walked(Yard(more=5, rng=3))
    assert walked(Yard(rng=3)) != walked(Yard(rng=4))


def test_each_part_of_an_address_matters_and_the_same_address_is_the_same_generator():
    model = Yard(rng=3)
    one, other = list(model.agents)[:2]
    addresses = [
        draw(one, "a"), draw(other, "a"), draw(model, "a"), draw(one, "b"),
        draw(one, "a", step=1), draw(one, "a", step=1.5), draw(one, "a", step=-1),
    ]  # fmt: skip
    assert len({str(first(each)) for each in addresses}) == len(addresses)
    assert first(draw(one, "a")) == first(draw(one, "a", step=0))
    assert first(draw(one, "a", step=2)) == first(draw(one, "a", step=np.float64(2)))
    model.step()
    assert first(draw(one, "a")) == first(draw(one, "a", step=1))
    number = first(draw(one, "a"))
    one.unique_id = str(one.unique_id)
    assert first(draw(one, "a")) != number


def test_the_numbers_of_an_address_are_those_of_before():
    model = mesa.Model(rng=42)
    assert first(draw(model, "meeting", step=3)) == PINNED


@pytest.mark.parametrize("kind", [Yard, Unseeded])
def test_a_resumed_and_a_forked_run_draw_the_same(kind, tmp_path):
    given = {"rng": 3} if kind is Yard else {}
    file = str(tmp_path / "run.sqlite")
    model = kind(**given)
    configure(model, record=Recording(file, checkpoint_every=1))
    twin = copy.deepcopy(model)  # its seed, too
    whole = walked(twin, 6)
    walked(model, 3)
    Services.of(model).recorder.close()
    branch = fork(kind, file)
    assert walked(branch, 3) == whole
    Services.of(branch).recorder.close()
    again = resume(kind, file, run=1)
    assert walked(again, 3) == whole


def test_a_fork_with_another_seed_draws_by_it(tmp_path):
    file = str(tmp_path / "run.sqlite")
    model = Yard(rng=3)
    configure(model, record=file)
    walked(model, 3)
    Services.of(model).recorder.close()
    other = fork(Yard, file, rng=4)
    assert first(draw(other, "x")) == first(draw(Yard(rng=4), "x", step=3))


@pytest.mark.parametrize("seed", [None, np.random.SeedSequence(5)])
def test_any_seed_that_mesa_takes_will_do(seed):
    model = mesa.Model(rng=seed)
    assert first(draw(model, "x")) == first(draw(model, "x"))
    if seed is not None:
        assert first(draw(mesa.Model(rng=seed), "x")) == first(draw(model, "x"))


def test_a_seed_is_the_same_by_either_name():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        former = mesa.Model(seed=5)
    assert first(draw(former, "x")) == first(draw(mesa.Model(rng=5), "x"))


def test_what_has_no_seed_is_told_so():
    class Early(mesa.Model):
        def __init__(self):
            draw(self, "town")
            super().__init__(rng=1)

    with pytest.raises(NoSeed, match=r"after the model's super\(\).__init__"):
        Early()
    with pytest.raises(NoSeed, match="str lacks one"):
        draw("a model", "x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((3,), "purpose must be a text"),
        (("x", float("nan")), "step must be a finite number"),
    ],
)
def test_a_wrong_address_is_refused(given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        draw(mesa.Model(rng=1), *given)
