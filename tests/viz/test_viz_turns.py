"""A model that several windows show steps once at a time."""

import copy
import pickle
import threading

import mesa

from mesa_memory.viz.live.step_lock import StepLock, stop_all, take_turns


class Slow(mesa.Model):
    """Notes when somebody comes in while a step is running."""

    def __init__(self):
        super().__init__(rng=1)
        self.inside, self.most, self.entered = 0, 0, 0

    def step(self):
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered += 1
        threading.Event().wait(0.002)
        self.inside -= 1


def played(model, times=10):
    for _ in range(times):
        model.step()


def test_two_who_play_the_same_model_do_not_step_it_at_once():
    model = Slow()
    take_turns(model)
    take_turns(model)
    assert not isinstance(model.step.inner, StepLock)
    players = [threading.Thread(target=played, args=(model,)) for _ in range(2)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    assert (model.most, model.entered, model.steps) == (1, 20, 20)


def test_a_play_that_is_stopped_ends_its_step_and_makes_no_other_one():
    model = Slow()
    take_turns(model)
    player = threading.Thread(target=played, args=(model, 1000))
    player.start()
    while model.entered < 3:
        threading.Event().wait(0.001)
    stop_all()
    made = model.entered
    assert (model.inside, model.running) == (0, False)
    player.join()
    assert (model.entered, model.steps) == (made, made)


def test_a_copy_of_a_model_steps_for_itself():
    model = Slow()
    take_turns(model)
    other = copy.deepcopy(model)
    stop_all()
    other.step()
    assert (other.steps, model.steps) == (1, 0)
    assert pickle.loads(pickle.dumps(model)).step.__func__ is Slow._wrapped_step
