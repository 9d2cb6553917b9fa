"""The rules that every host keeps with its layers, also with layers of a user's own."""

import pytest

from mesa_memory import (
    EpisodicMemory,
    Layer,
    LayeredMemory,
    MemoryModule,
    RunningSummary,
    Window,
)
from mesa_memory.core.codec import decode_snapshot, encode_snapshot
from mesa_memory.core.snapshot import InMemoryRecords
from mesa_memory.errors import UndeclaredState
from tests.support.fleet import Town

both_hosts = pytest.mark.parametrize("host", [MemoryModule, LayeredMemory])


class Closer(Layer):
    """Closes each message when it comes, for a reason."""

    name, state = "closer", ()

    def __init__(self, reason="evicted"):
        self.reason = reason

    def admit(self, view, step, events):
        for event in events:
            self.close(view, event, self.reason)


class Keeper(Layer):
    """Holds the newest messages, and closes what it has no room for."""

    name, state = "keeper", ("kept",)

    def __init__(self, most=1):
        self.most, self.kept = most, []

    def admit(self, view, step, events):
        self.kept = [*self.kept, *events]

    def remember(self, view):
        while len(self.kept) > self.most:
            self.close(view, self.kept[0], "consolidated")
            self.kept = self.kept[1:]
        return
        yield

    def summary(self, view):
        return [self.line(view, event) for event in self.kept]


def town_of(host, make, count=2):
    town = Town("short_term", count, llm="offline", execution="blocking")
    for citizen in town.citizens:
        citizen.memory = host(citizen, layers=make())
    return town, town.citizens[0]


@both_hosts
@pytest.mark.parametrize("taken", [Window, Keeper])
def test_a_layer_of_another_agent_is_refused(host, taken):
    town, ann = town_of(host, lambda: [Window(), taken()])
    town.tell(ann, "A secret of Ann's.")
    town.advance()
    other = town.citizens[1]
    for layers in (
        ann.memory.layers,
        [ann.memory.layers[1]],
        [Window(), *ann.memory.layers],
    ):
        with pytest.raises(ValueError, match="belongs to another memory, of agent 1"):
            host(other, layers=layers)
        with pytest.raises(ValueError, match="belongs to another memory, of agent 1"):
            host(ann, layers=layers)  # nor may two memories of one agent share it
    with pytest.raises(ValueError, match="twice"):
        host(other, layers=[window := Window(), window])
    with pytest.raises(ValueError, match="must be one of the memory's layers"):
        host(other, layers=[Window(), RunningSummary(Window())])


@both_hosts
@pytest.mark.parametrize("first", ["closer", "window"])
def test_a_record_is_open_while_a_window_shows_it(host, first):
    make = (
        (lambda: [Closer("consolidated"), Window(2)])
        if first == "closer"
        else (lambda: [Window(2), Closer("consolidated")])
    )
    town, ann = town_of(host, make, 1)
    for day in range(4):
        town.tell(ann, f"Day {day}.")
        town.advance()
    shown = [f"Day {day}." in ann.memory.get_prompt_ready() for day in range(4)]
    assert shown == [False, False, True, True]
    records = town.events()
    assert [record.current for record in records] == shown
    assert [r.closed_because for r in records] == ["consolidated"] * 2 + [None] * 2


@both_hosts
def test_a_record_that_two_layers_hold_ends_with_the_second(host):
    town, ann = town_of(host, lambda: [Keeper(1), Keeper(2), Window(3)], 1)
    for day in range(5):
        town.tell(ann, f"Day {day}.")
        town.advance()
    assert [record.current for record in town.events()] == [False] * 2 + [True] * 3


@both_hosts
@pytest.mark.parametrize("reason", ["boring", "", None, 3])
def test_an_unknown_reason_is_told_with_the_known_ones(host, reason):
    town, ann = town_of(host, lambda: [Window(), Closer(reason)], 1)
    town.tell(ann, "Hello.")
    with pytest.raises(ValueError, match=r"evicted, .*superseded") as told:
        town.advance()
    assert repr(reason) in str(told.value)


class Setting(Layer):
    """Sets an attribute while it works."""

    name, state = "setting", ("known",)

    def __init__(self):
        self.known, self.most, self.seen = 0, 3, []

    def admit(self, view, step, events):
        self.known += len(events)


class Lazy(Setting):
    def admit(self, view, step, events):
        self.mood = "calm"


class Counting(Setting):
    def remember(self, view):
        self.most += 1
        return
        yield


class Appending(Setting):
    def admit(self, view, step, events):
        self.seen.append(step)


class Saving(Appending):
    def snapshot(self):
        return {**super().snapshot(), "seen": list(self.seen)}

    def restore(self, snapshot, shelf):
        super().restore(snapshot, shelf)
        self.seen = list(snapshot["seen"])


class Nested(Setting):
    def __init__(self):
        super().__init__()
        self.wrong = {"ada": [0, 0]}

    def admit(self, view, step, events):
        self.wrong["ada"][1] += 1


class Ending(Setting):
    def step_ends(self, view):
        self.ended = view.now


class Marking(Window):
    """Adds an attribute to a layer that has a snapshot of its own."""

    def admit(self, view, step, events):
        super().admit(view, step, events)
        self.marked = events[-1]


@both_hosts
@pytest.mark.parametrize(
    ("kind", "name"),
    [(Lazy, "mood"), (Counting, "most"), (Appending, "seen"), (Nested, "wrong"),
     (Ending, "ended"), (Marking, "marked")],
)  # fmt: skip
def test_state_that_is_not_declared_is_told_once_at_the_first_step(host, kind, name):
    town, ann = town_of(host, lambda: [Window(), kind()], 1)
    town.tell(ann, "Hello.")
    write = f"write state = .*{name!r}.*in {kind.__name__}"
    with pytest.raises(UndeclaredState, match=write):
        town.advance()
    for day in range(3):
        town.tell(ann, f"Day {day}.")
        town.advance()
    assert "Hello." in ann.memory.get_prompt_ready()
    assert "Day 2." in ann.memory.get_prompt_ready()


class Remembering:
    def remember(self, view):
        yield from super().remember(view)
        self.mood = "calm"


class Beginning:
    def step_begins(self, now, waiting):
        super().step_begins(now, waiting)
        self.expected = len(waiting)


class Closing:
    def step_ends(self, now):
        super().step_ends(now)
        self.seen = {"steps": [now]}


def town_with(base, way, **members):
    """A town of one agent whose memory is of a user's class."""
    town = Town("short_term", 1, llm="offline", execution="blocking")
    (ann,) = town.citizens
    ann.memory = type("Mine", (way, base), members)(ann)
    return town, ann


@pytest.mark.parametrize("base", [MemoryModule, LayeredMemory, EpisodicMemory])
@pytest.mark.parametrize(
    ("way", "name"), [(Remembering, "mood"), (Beginning, "expected"), (Closing, "seen")]
)
def test_undeclared_state_of_a_memory_is_told_once_too(base, way, name):
    town, ann = town_with(base, way)
    told = []
    for day in range(3):
        town.tell(ann, f"Day {day}.")
        for begins in (True, False):
            try:
                ann.memory.process_step(pre_step=begins)
            except UndeclaredState as error:
                told.append(str(error))
        town.steps += 1
    assert len(told) == 1 and f"state = ({name!r},) in Mine" in told[0]
    assert len(ann.memory.messages()) == 3
    town, ann = town_with(base, way, state=(name,))
    town.tell(ann, "Hello.")
    for begins in (True, False):
        ann.memory.process_step(pre_step=begins)
    kept = getattr(ann.memory, name)
    state = encode_snapshot(ann.memory.snapshot())
    setattr(ann.memory, name, None)
    records = InMemoryRecords({r.id: r for r in ann.memory.held_records()})
    ann.memory.restore(decode_snapshot(state, records), records)
    assert getattr(ann.memory, name) == kept


@both_hosts
def test_declared_state_of_a_class_that_extends_ours_is_kept(host):
    class Kept(Marking):
        state = ("marked",)

    town, ann = town_of(host, lambda: [Kept(1)], 1)
    for day in range(3):
        town.tell(ann, f"Day {day}.")
        town.advance()
    (layer,) = ann.memory.layers
    marked = layer.marked
    layer.held.clear()  # only the state holds the record now
    town.tell(ann, "Another day.")
    layer.admit = lambda view, step, events: None
    town.advance()
    assert marked.current and marked in ann.memory.current_records()
    assert layer.marked is marked
    state = encode_snapshot(ann.memory.snapshot())
    layer.marked = None
    records = InMemoryRecords({marked.id: marked})
    ann.memory.restore(decode_snapshot(state, records), records)
    assert layer.marked is marked


@both_hosts
@pytest.mark.parametrize("kind", [Setting, Saving])
def test_state_that_is_kept_and_arguments_are_not_told(host, kind):
    town, ann = town_of(host, lambda: [Window(), kind()], 1)
    for day in range(3):
        town.tell(ann, f"Day {day}.")
        town.advance()
        ann.memory.layers[1].most = day  # by hand, between two steps
    assert ann.memory.layers[1].most == 2


@pytest.mark.parametrize(
    ("base", "name", "method", "right"),
    [
        (Layer, "admit", lambda self, step, events: None, "view, step, events"),
        (Layer, "summary", lambda self: [], "view"),
        (MemoryModule, "remember", lambda self: None, "view"),
    ],
)
def test_a_class_without_the_view_is_refused_with_the_right_arguments(
    base, name, method, right
):
    with pytest.raises(TypeError, match=rf"must be {name}\(self, {right}\)"):
        type("Old", (base,), {name: method})
