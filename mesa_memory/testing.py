"""Checks that a layer or a memory of your own keeps the contract of this package.

    from mesa_memory.testing import check_memory

    def test_my_memory_keeps_the_contract():
        check_memory(MoodMemory)

Each check lives through a few steps offline, without a network, and raises
``AssertionError`` with the clause that is broken. ``UndeclaredState`` and other errors of
the package are raised as they are.
"""

import json
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mesa
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory.core.codec import decode_snapshot, encode_snapshot
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.core.snapshot import InMemoryRecords
from mesa_memory.errors import LLMUnavailable
from mesa_memory.hosts.mesa_llm import LLMAgent
from mesa_memory.layers.base import Layer
from mesa_memory.layers.window import Window
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import register_policy
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.layered import LayeredMemory
from mesa_memory.runs.recording.configure import configure
from mesa_memory.runs.recording.resume import resume
from mesa_memory.runtime.services import Services

__all__ = ["check_layer", "check_memory"]

#: makes the memory of an agent
type MakeMemory = Callable[[Any], Any]
#: makes a layer, or all layers that it needs
type MakeLayer = Callable[[], Layer | Iterable[Layer]]

#: days that a check lives through
DAYS = 8
#: days on which the model cannot be reached
DAYS_WITHOUT_MODEL = (3, 4)
#: tokens of a prompt that has to be shortened
SMALL_BUDGET_TOKENS = 150
#: said to Ada, one line a day
SAID = (
    "My name is Bo, and the mill by the river is mine.",
    "The bridge broke last night!",
    "Carl promised me ten crowns for the flour.",
    "Carl lives in the red house.",
    "I do not trust Carl any more.",
    "The mill was sold to Dora on Monday.",
    "Thank you for your help with the roof.",
    "The new bridge is as wide as two carts.",
)


def check_layer(make: MakeLayer) -> None:
    """Checks a layer as the only one, beside a window, and beside another of its kind.

    Args:
        make: makes a new layer, or a list with the layer and the layers that it reads.

    Raises:
        AssertionError: for a broken clause of the contract.
    """
    for host in (MemoryModule, LayeredMemory):
        _check(partial(_hosted, host, [make]))
        for beside in (partial(Window, 3), make):
            _check_shown(_lived(partial(_hosted, host, [make, beside])))
    _check_budget(partial(_hosted, LayeredMemory, [make], budget=SMALL_BUDGET_TOKENS))


def check_memory(make: MakeMemory) -> None:
    """Checks a memory, and all of its layers.

    Args:
        make: makes the memory of an agent, such as its class.

    Raises:
        AssertionError: for a broken clause of the contract.
    """
    _check(make)
    if isinstance(_lived(make, 0), LayeredMemory):
        _check_budget(make)


def _check(make: MakeMemory) -> None:
    memory = _lived(make)
    _check_offline(make, memory)
    _check_shown(memory)
    _check_foreign(make, memory)
    _check_snapshot(make, memory)
    _check_failure(make)
    _check_resumed(make)


def _check_offline(make: MakeMemory, memory: Any) -> None:
    _hold(
        _prompt(_lived(make)) == _prompt(memory),
        "two offline runs have the same prompts: use no clock, no random number of "
        "Python's own and no order of a set",
    )


def _check_shown(memory: Any) -> None:
    """Records in the sections of a prompt are held, and their lifetime is open."""
    held = {record.id for record in memory.current_records()}
    for line in memory.recent():
        _hold(
            set(line.ids) <= held,
            f"{sorted(set(line.ids) - held)} is shown and was closed: a record ends by "
            "close() of each layer that holds it",
        )


def _check_foreign(make: MakeMemory, memory: Any) -> None:
    """A layer that belongs to an agent is refused by the memories of others."""
    other = _Town(make).agents[1]
    for layer in memory.layers:
        try:
            MemoryModule(other, layers=[layer])
        except ValueError:
            continue
        _hold(False, f"another agent's memory accepts the layer {layer.name!r}")


def _check_snapshot(make: MakeMemory, memory: Any) -> None:
    """A new memory that takes up a snapshot shows and holds the same."""
    records = InMemoryRecords({record.id: record for record in memory.held_records()})
    state = json.loads(json.dumps(encode_snapshot(memory.snapshot())))
    twin = _Town(make, memory.agent.model.steps).agents[0].memory
    twin.restore(decode_snapshot(state, records), records)
    _same(_prompt(twin), _prompt(memory), "a restored snapshot shows the same prompt")
    _same(_held(twin), _held(memory), "a restored snapshot holds the same records")
    again = json.loads(json.dumps(encode_snapshot(twin.snapshot())))
    _same(again["parts"], state["parts"], "a restored snapshot has the same layers")


def _check_failure(make: MakeMemory) -> None:
    """A request that fails changes nothing, and is sent again."""
    town = _Town(make)
    memory = town.agents[0].memory
    for _ in range(DAYS):
        town.llm.is_down = town.steps + 1 in DAYS_WITHOUT_MODEL
        town.step()
        if town.llm.is_down:
            before = _parts(memory)
            memory.process_step()
            _same(
                _parts(memory),
                before,
                "a failed request changes nothing: set state after the last yield",
            )
    uninterrupted = _lived(make)
    _same(
        _covered(uninterrupted) - _covered(memory),
        set(),
        "an event of a step whose request failed is remembered after the next step",
    )
    asked = uninterrupted.agent.model.llm.purposes
    _same(
        town.llm.purposes,
        asked,
        "what is due follows from the state alone, so a failed request is sent again",
    )


def _check_resumed(make: MakeMemory) -> None:
    """A run that is interrupted and resumed ends as one that is not."""
    with TemporaryDirectory() as folder:
        file = str(Path(folder) / "run.sqlite")

        class Town(_Town):
            def __init__(self, rng: Any = None) -> None:
                super().__init__(make, rng=rng)

        town = Town(rng=1)
        configure(town, record=file)
        for _ in range(DAYS // 2):
            town.step()
        configure(town, record=None)
        resumed = resume(Town, file)
        while resumed.steps < DAYS:
            resumed.step()
        configure(resumed, record=None)
        memory = resumed.agents[0].memory
        whole = _lived(make)
        _same(_prompt(memory), _prompt(whole), "a resumed run shows the same prompt")
        _same(_held(memory), _held(whole), "a resumed run holds the same records")


def _check_budget(make: MakeMemory) -> None:
    """A prompt is within the budget of its memory."""
    memory = _lived(make)
    used = memory.count(memory.get_prompt_ready())
    _hold(used <= memory.budget, f"the prompt has {used} of {memory.budget} tokens")


class _Model(OfflineLLM):
    """The offline model, which can be down."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down, self.purposes = False, set[str]()

    def complete(self, request: LLMRequest) -> Reply:
        """See ``OfflineLLM``."""
        if self.is_down:
            raise LLMUnavailable("the model of this check is down")
        self.purposes.add(request.purpose)
        return super().complete(request)


class _Town(mesa.Model):
    """Two agents; Ada is told one line a day, sees one thing and answers."""

    def __init__(self, make: MakeMemory, days: int = 0, rng: Any = 1) -> None:
        super().__init__(rng=rng)
        self.llm = _Model()
        configure(self, llm=self.llm, execution="blocking")
        quiet = register_policy("quiet", lambda turn: "I wait.")
        for name in ("Ada", "Bo"):
            agent = LLMAgent(self, CoTReasoning, quiet)
            agent.name = name
            agent.memory = make(agent)
        for _ in range(days):
            super().step()

    def step(self) -> None:
        """One day."""
        super().step()
        ada, bo = self.agents
        memory = ada.memory
        memory.process_step(pre_step=True)
        said = SAID[(self.steps - 1) % len(SAID)]
        memory.add_to_memory("observation", {"self_state": {"day": self.steps}})
        memory.add_to_memory("message", {"message": said, "sender": bo.unique_id})
        memory.get_prompt_ready()
        answer = {"message": "I see.", "sender": ada.unique_id, "recipients": [2]}
        memory.add_to_memory("message", answer)
        memory.process_step()
        Services.of(self).flush()


def _lived(make: MakeMemory, days: int = DAYS) -> Any:
    town = _Town(make)
    for _ in range(days):
        town.step()
    return town.agents[0].memory


def _hosted(host: Any, makers: Iterable[MakeLayer], agent: Any, **given: Any) -> Any:
    """A memory with the layers that are made."""
    made = [make() for make in makers]
    layers = [[each] if isinstance(each, Layer) else each for each in made]
    return host(agent, layers=chain.from_iterable(layers), **given)


def _prompt(memory: Any) -> str:
    with memory.peek():
        return str(memory.get_prompt_ready())


def _held(memory: Any) -> list[str]:
    return sorted(record.id for record in memory.current_records())


def _parts(memory: Any) -> tuple[Any, Any]:
    state = encode_snapshot(memory.snapshot())
    return state.get("parts"), state.get("state")


def _covered(memory: Any) -> set[str]:
    """Ids of the events that the memory holds, or has made something of."""
    held = memory.held_records()
    keys = [record.id for record in held] + [key for r in held for key in r.sources]
    return {key for key in keys if key.split("/")[-2] in ("message", "observation")}


def _same(found: Any, expected: Any, clause: str) -> None:
    _hold(found == expected, f"{clause}\nexpected: {expected}\nfound:    {found}")


def _hold(holds: bool, clause: str) -> None:
    if not holds:
        raise AssertionError(clause)
