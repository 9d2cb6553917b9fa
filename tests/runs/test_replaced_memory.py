"""An agent that is given another memory in the middle of a run."""

from functools import partial

import pytest
from mesa_llm.memory.st_lt_memory import STLTMemory

from mesa_memory import (
    EpisodicMemory,
    Services,
    ShortTermMemory,
    fork,
    open_run,
    resume,
)
from mesa_memory.errors import ParameterError, UnknownMemory
from mesa_memory.interventions import replace_memory
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support.hamlet import Hamlet
from tests.support.playing import ended, held, lived, play, recorded
from tests.support.tables import tables


class Street(Hamlet):
    def __init__(self, memory="stlt", record=None, rng=1):
        super().__init__(memory, record, 3, rng)


class Mine(OUR_MEMORIES["short_term"]):
    """A class of the user's own."""


small = partial(EpisodicMemory, max_capacity=3)


class Mixed(Street):
    """Its first agent has a memory of Mesa-LLM's own."""

    def __init__(self, record=None, rng=1):
        super().__init__("stlt", record, rng)
        one = self.agents[0]
        one.memory = STLTMemory(agent=one, llm_model="offline/test", display=False)


def street(steps, kind="stlt", record=None):
    made = lived(Street(kind, record), steps)
    Services.of(made).flush()
    return made


def contents(memory):
    return [(r.kind, r.step, r.content) for r in memory.current_records()]


def test_every_memory_takes_its_own_place_and_that_of_some_other_and_lives_on():
    names = list(OUR_MEMORIES)
    pairs = [
        (was, names[n - step]) for step in (0, 1, 4) for n, was in enumerate(names)
    ]
    for was, now in pairs:
        place = street(6, was)
        agent = place.agents[0]
        old = agent.memory
        new = replace_memory(agent, now)
        assert agent.memory is new is not old
        mine = {(layer.name, type(layer)) for layer in old.layers}
        both = mine & {(layer.name, type(layer)) for layer in new.layers}
        if was == now:
            assert contents(new) == contents(old), (was, now)
            assert new.get_prompt_ready() == old.get_prompt_ready(), (was, now)
        elif not both:
            arrived = {r.id for r in new.current_records()}
            assert len(arrived) <= 3, "only what no layer had received yet"
        Services.of(lived(place, 4)).flush()
        assert new.current_records(), (was, now)


def test_an_event_that_waits_for_the_next_step_is_not_lost():
    place = street(2)
    one, other = place.agents[0], place.agents[1]
    one.send_message("Flee!", [other])
    new = replace_memory(other, "episodic")
    assert "Flee!" in new.get_prompt_ready()
    place.step()
    said = [r for r in new.current_records() if "Flee!" in str(r.content)]
    assert [(r.origin, r.step) for r in said] == [("event", 2)]


def test_a_replaced_memory_ends_at_once_and_its_copies_lead_to_their_originals(
    tmp_path,
):
    file = tmp_path / "run.sqlite"
    place = street(4, record=file)
    agent = place.agents[0]
    old = agent.memory.current_records()
    new = replace_memory(agent, "layered")
    copies = {r.sources[0]: r.origin for r in new.current_records() if r.sources}
    assert copies.items() <= {r.id: r.origin for r in old}.items() and len(copies) > 5
    assert len(new.current_records()) == len(old), "the newest wait for the next step"
    play(place, 1)
    with open_run(file) as run:
        rows = {row["id"]: row for row in tables(file)["records"]}
        (change,) = run.interventions(as_records=True)
    assert change["kind"] == "replace_memory"
    assert change["detail"]["memory"] == "LayeredMemory"
    assert change["detail"]["layers"] == ["window", "summary"]
    for record in old:
        assert rows[record.id]["closed_because"] == "replaced"
        assert rows[record.id]["valid_to"] == 4


def test_a_fork_gives_its_agents_another_memory_and_is_resumed_with_it(tmp_path):
    file = tmp_path / "run.sqlite"
    ended(street(4, record=file))
    whole = fork(Street, file, memory="episodic")
    assert {type(a.memory).__name__ for a in whole.agents} == {"EpisodicMemory"}
    whole.step()
    then = held(whole)
    ended(whole)
    again = resume(Street, file)
    assert held(again) == then
    assert recorded(file, 2, 5).items() <= then.items()
    play(again, 1)
    ids = [agent.unique_id for agent in again.agents]
    some = fork(Street, file, run=1, memory={ids[0]: "fact", ids[1]: Mine})
    kinds = [type(a.memory).__name__ for a in some.agents]
    assert kinds == ["FactMemory", "Mine", "STLTMemory"]
    ended(some)
    again = resume(Street, file)
    assert [type(a.memory).__name__ for a in again.agents] == kinds
    ended(again)
    with open_run(file, 1) as run:
        assert run.steps == [1, 2, 3, 4], "the first run is as it was"


@pytest.mark.parametrize(
    "kinds",
    [(Mine, "short_term", Mine), ("stlt", small, "placebo:neutral:stlt")],
    ids=["own class", "settings and placebo"],
)  # fmt: skip
def test_forks_of_forks_with_other_memories_are_forked_and_resumed(kinds, tmp_path):
    file = tmp_path / "run.sqlite"
    place = lived(street(2, record=file), 1)
    replace_memory(place.agents[0], "stlt")
    ended(lived(place, 1))
    for kind in kinds:
        branch = lived(fork(Street, file, memory=kind), 1)
        then, shown = held(branch), [a.memory.get_prompt_ready() for a in branch.agents]
        ended(branch)
        again = resume(Street, file)
        assert held(again) == then
        assert [a.memory.get_prompt_ready() for a in again.agents] == shown
        ended(lived(again, 1))


def test_a_memory_in_the_place_of_another_packages_is_resumed(tmp_path):
    file = tmp_path / "run.sqlite"
    place = Mixed(file)
    replace_memory(place.agents[0], "episodic")
    ended(lived(place, 2))
    again = resume(Mixed, file)
    assert type(again.agents[0].memory) is EpisodicMemory
    ended(lived(again, 1))


def test_a_wrong_memory_is_refused_and_leaves_no_fork(tmp_path):
    file = tmp_path / "run.sqlite"
    ended(street(2, record=file))
    for wrong, error, said in (
        ("epsiodic", UnknownMemory, "no memory has the name 'epsiodic'"),
        ({99: "fact"}, ValueError, r"no agent 99 .* agents 1, 2, 3"),
        (7, UnknownMemory, "no memory has the name 7"),
    ):
        with pytest.raises(error, match=said):
            fork(Street, file, memory=wrong)
    with open_run(file) as run:
        assert len(run.runs()) == 1


class Chosen(Hamlet):
    """Is given a class of memory, as README's street is."""

    def __init__(self, memory, record=None, rng=None):
        super().__init__("stlt", record, rng=rng)
        for agent in self.agents:
            agent.memory = memory(agent)


def test_a_model_with_an_argument_memory_is_told_how_to_give_it(tmp_path):
    file = tmp_path / "run.sqlite"
    with pytest.warns(UserWarning, match="memory"):
        place = Chosen(lambda agent: ShortTermMemory(agent), file, rng=1)
    play(place, 1)
    with pytest.raises(
        ParameterError, match=r"fork\(partial\(Chosen, memory=…\), file\)"
    ):
        fork(Chosen, file, memory=EpisodicMemory)
    branch = fork(partial(Chosen, memory=ShortTermMemory), file, memory=EpisodicMemory)
    assert {type(a.memory).__name__ for a in branch.agents} == {"EpisodicMemory"}
    ended(branch)
