"""Story: the agents where they are, what they tell each other, and one of them as a person."""

from typing import Any

import solara

from mesa_memory.viz.background_count import use_prepared
from mesa_memory.viz.background_query import use_answer
from mesa_memory.viz.data.activity import MEASURES as COUNTED
from mesa_memory.viz.data.spread import spread
from mesa_memory.viz.data.story import colouring as data
from mesa_memory.viz.data.story import frames, scene
from mesa_memory.viz.data.story.colouring import Colouring
from mesa_memory.viz.data.story.said import said
from mesa_memory.viz.data.story.scene import Scene
from mesa_memory.viz.run_view import Source
from mesa_memory.viz.selection import Selection
from mesa_memory.viz.serving.portions import use_portions
from mesa_memory.viz.views.navigation import to_spread
from mesa_memory.viz.views.nothing import NoMemories
from mesa_memory.viz.views.story.curves import Curves
from mesa_memory.viz.views.story.person import Person
from mesa_memory.viz.widgets import Choose, SearchBox, Section
from mesa_memory.viz.widgets.stage import STYLE as STAGE
from mesa_memory.viz.widgets.stage import Ground, Legend, Reel, Stage
from mesa_memory.viz.widgets.timeline import number

#: what agents may be coloured by besides the outcomes and measures
TEXT = "text"
#: agents times steps of a run whose texts are read at once
QUICK = 1_000
#: those by what memories did
MEASURES = {f"memory:{name}": label for name, (label, _) in COUNTED.items()}


@solara.component
def StoryView(source: Source, selection: Selection) -> Any:
    """The story of a run: picture, person and curves, all at the chosen step."""
    step = selection.step(source)
    if step is None or not source.agent_ids:
        NoMemories()
        return
    told = source.grown(scene.scene)
    key = _colour(selection, told)
    place = source.steps.index(step)
    with solara.Column(gap="0px"):
        if key == TEXT:
            ByText(source, selection, told, place)
        elif key.startswith("memory:"):
            ByMeasure(source, selection, told, place, key.removeprefix("memory:"))
        else:
            ByOutcome(source, selection, told, place, key.removeprefix("outcome:"))


def _colour(selection: Selection, told: Scene) -> str:
    """What agents are coloured by: as chosen, else the first outcome, else events."""
    outcomes = [f"outcome:{name}" for name in told.outcomes]
    allowed = [*outcomes, *MEASURES, TEXT]
    return selection.option("colour", next(iter(outcomes), "memory:events"), allowed)


@solara.component
def Colours(selection: Selection, told: Scene) -> Any:
    """What the colours show."""
    key = _colour(selection, told)
    choices = {f"outcome:{name}": f"Outcome: {name}" for name in told.outcomes}
    choices |= {name: f"Memory: {label.lower()}" for name, label in MEASURES.items()}
    choices[TEXT] = "Memory: like a text …"
    corner = [] if key == TEXT else ["mm-story-corner"]
    with solara.Div(classes=["mm-row", *corner]):
        Choose(
            "Colour shows",
            key,
            choices,
            lambda value: selection.set_option("colour", value),
        )
        if key == TEXT:
            SearchBox(
                "Text to look for in all memories",
                selection.text.strip(),
                lambda value: selection.choose(text=value.strip()),
            )


@solara.component
def ByOutcome(
    source: Source, selection: Selection, told: Scene, place: int, name: str
) -> Any:
    """Coloured by what the model said of its agents."""
    found = solara.use_memo(lambda: data.of_outcome(told, name), [id(told), name])
    Scenery(source, selection, told, found, place)


@solara.component
def ByMeasure(
    source: Source, selection: Selection, told: Scene, place: int, measure: str
) -> Any:
    """Coloured by what memories did; counting a long run takes a while."""
    ready = use_prepared(source)
    counted = source.activity() if ready else None
    found = solara.use_memo(
        lambda: data.of_measure(counted, measure) if counted else _nothing(source),
        [id(counted), measure],
    )
    Scenery(source, selection, told, found, place)


@solara.component
def ByText(source: Source, selection: Selection, told: Scene, place: int) -> Any:
    """Coloured by who holds a memory like a text."""
    text = selection.text.strip()
    quick = len(source.steps) * len(source.agent_ids) < QUICK or not text
    answer = use_answer(
        source, _holding, text, quick=quick, says="Reading all texts of the run …"
    )
    found = solara.use_memo(lambda: answer or _nothing(source), [id(answer)])
    Scenery(source, selection, told, found, place)


def _nothing(source: Source) -> Colouring:
    """No colours, until there is something to show."""
    return data.nothing(source.agent_ids, len(source.steps))


def _holding(run: Any, text: str) -> Colouring | None:
    """Who holds a memory like a text; None for a blank one."""
    if not text:
        return None
    held = spread.holding(spread.found(run, text), spread.MIN_SIMILARITY)
    return data.of_text(held, text)


@solara.component
def Scenery(
    source: Source, selection: Selection, told: Scene, found: Colouring, place: int
) -> Any:
    """Picture, person and curves."""
    agent = selection.agent(source)
    solara.Style(STYLE + STAGE)
    with solara.Div(classes=["mm-story"]):
        with Section("Story", hint="who tells whom; click an agent, or what was said"):
            Colours(selection, told)
            Picture(source, selection, told, found, place)
        Person(source, selection, agent, place)
    Curves(source, selection, told, found)


@solara.component
def Picture(
    source: Source, selection: Selection, told: Scene, found: Colouring, place: int
) -> Any:
    """The agents at the step, and what they say; it plays by itself."""
    agents = told.agents
    shown = min(len(source.steps), found.values.shape[1])
    version = _use_version(told, found)
    now, need = use_portions((version, source.key), place, shown)
    pictures = solara.use_memo(
        lambda: _frames(source, told, found, now), [version, source.key, tuple(now)]
    )
    reel = solara.use_memo(
        lambda: _reel(source, told, version), [version, id(told), source]
    )
    begin = solara.use_ref(place).current
    ground = solara.use_memo(
        lambda: _ground(told, agents, place), [id(told), id(told.space(place))]
    )
    low, high = solara.use_memo(lambda: found.range, [id(found)])
    chosen = selection.agent(source)

    def explain(at: int, message: int) -> None:
        (of_step,) = source.of(said, at, 1)
        known = [m for m in of_step if m.sender in agents and m.recipient in agents]
        if message < len(known):
            one = known[message]
            to_spread(selection, one.text, one.recipient, source.steps[at])

    Stage(
        reel=reel,
        frames=pictures,
        begin=begin,
        selected=agents.index(chosen) if chosen in agents else -1,
        ground=ground,
        legend=Legend(found.label, found.classes, low, high),
        on_need=need,
        on_agent=lambda n: selection.choose(agent=agents[n]),
        on_message=explain,
    )


def _use_version(told: Scene, found: Colouring) -> int:
    """Counts up whenever pictures that were made before do not hold any more."""
    before, number = solara.use_ref((told, found)), solara.use_ref(0)
    scene, colouring = before.current
    moved = (scene.moving, scene.agents) != (told.moving, told.agents)
    if moved or not (found is colouring or found.goes_on(colouring)):
        number.current += 1
    before.current = (told, found)
    return number.current


def _frames(
    source: Source, told: Scene, found: Colouring, now: list[range]
) -> list[dict[str, Any]]:
    """The pictures of some steps."""
    made = []
    for some in now:
        messages = source.of(said, some.start, len(some))
        made += frames.frames(told.agents, found, told, messages, some.start)
    return made


def _reel(source: Source, told: Scene, version: int) -> Reel:
    """What the pictures are of."""
    count = len(told.agents)
    return Reel(
        f"{source.key} {version}",
        [number(step) for step in source.steps],
        [source.called(agent) for agent in told.agents],
        list(range(count - len(told.others), count)),
    )


def _ground(told: Scene, agents: list[Any], place: int) -> Ground:
    space = told.space(place)
    cells, ties = space.get("cells"), space.get("ties")
    return Ground(
        frames.box(told, place),
        frames.flat(agents, told, place),
        ties if isinstance(ties, list) and told.placed else [],
        cells if isinstance(cells, list) and len(cells) == 2 and told.placed else [],
    )


STYLE = """
.mm-story { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 16px; align-items: start; }
.mm-story > .mm-section { position: relative; }
.mm-story-corner { position: absolute; right: 16px; top: 10px; }
@media (max-width: 1000px) {
  .mm-story { grid-template-columns: minmax(0, 1fr); }
  .mm-story-corner { position: static; }
}
"""
