"""Several layers in one memory, within one budget of tokens."""

import asyncio
import random

import litellm
import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    EventStream,
    Layer,
    LayeredMemory,
    LLMUnavailable,
    OfflineLLM,
    ScriptedLLM,
    Services,
    Window,
    configure,
    open_run,
)
from mesa_memory.core.render import count_tokens
from mesa_memory.layers import Line
from mesa_memory.layers.impressions import Impressions
from mesa_memory.memories.prompt.budget import PERMANENT
from tests.support.layered import four
from tests.support.single import settle


class Neighbour(LLMAgent):
    def step(self):
        for text in self.model.news(self):
            self.memory.add_to_memory("message", {"message": text, "sender": 9})
        self.shown = self.memory.get_prompt_ready()


class Street(mesa.Model):
    def __init__(self, memory=four, count=1, name="", rng=1, **services):
        super().__init__(rng=rng)
        services.setdefault("llm", "offline")
        configure(self, **services)
        self.news = lambda agent: [f"Day {self.steps}: the bridge is broken!"]
        settle(self, memory, count, Neighbour, name)

    @property
    def first(self):
        return self.agents[0].memory

    def step(self):
        self.agents.do("step")


def lived(street, days):
    for _ in range(days):
        street.step()
    Services.of(street).flush()
    return street


# -- what is shown --------------------------------------------------------------------


def test_layers_stand_in_the_order_of_how_seldom_they_change_and_recent_steps_last():
    text = lived(
        Street(lambda agent: four(agent, capacity=30)), 6
    ).first.get_prompt_ready()
    heads = [
        "What happened before (until step 3):\n- ",
        "Your impressions of others:\n- Agent 9: ",
        "Most important memories:\nStep 1:\n- ",
        "Short term memory:\nStep ",
    ]
    places = [text.find(head) for head in heads]
    assert -1 not in places and places == sorted(places), text


def test_an_event_that_two_layers_hold_is_shown_once():
    street = lived(Street(lambda agent: four(agent, capacity=30)), 6)
    text = street.first.get_prompt_ready()
    stream = text.partition("Most important")[2]
    for day in range(1, 7):
        assert stream.count(f"Day {day}: the bridge") == 1, text


def test_what_there_is_no_room_for_is_counted_reported_and_recorded(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street(lambda agent: four(agent, 150), record=file)
    street = lived(street, 12)
    text = street.first.get_prompt_ready()
    report = street.first.budget_report()
    assert report.budget == 150 >= report.tokens
    left = {each.name: each.lines_left_out for each in report.sections}
    assert left["stream"] > 0 and len(report.left_out["stream"]) == left["stream"]
    assert f"({left['stream']} memories of less weight not shown)" in text
    configure(street, record=None)
    with open_run(file) as run:
        assert text.splitlines()[0] in run.prompts(1, 12)["text"].iloc[-1]
        assert "of less weight not shown)" in run.prompts(1, 12)["text"].iloc[-1]
        shown = run.recalls(agent=1, step=12)["shown"]
        assert 0 < shown.sum() < len(shown)


class Chapters(Layer):
    name, heading, volatility = "chapters", "Chapters", 0.0

    def summary(self, view):
        return [Line(f"Chapter {n} ended.", rank=PERMANENT) for n in range(1, 9)]


def test_what_is_permanent_stays_when_all_else_is_trimmed():
    street = Street(lambda agent: LayeredMemory(agent, [Window(50), Chapters()], 150))
    text = lived(street, 40).first.get_prompt_ready()
    assert all(f"- Chapter {n} ended." in text for n in range(1, 9))
    assert "earlier events not shown)" in text


def test_shares_say_how_much_of_the_budget_each_layer_has():
    class Long(Layer):
        def summary(self, view):
            return [Line(f"Line {n} of {self.name}.") for n in range(500)]

    class Other(Long):
        name = "other"

    def made(agent):
        return LayeredMemory(
            agent, [Window(5), Long(), Other()], shares={"layer": 1, "other": 3}
        )

    report = Street(made).first.budget_report()
    one, other = (section.tokens for section in report.sections[:2])
    assert 2.7 < other / one < 3.3
    assert 1900 < report.tokens <= 2000, "what recent steps leave goes to the others"


# -- the budget holds -------------------------------------------------------------------

WORDS = ["mill", "Brücke", "橋が壊れた", "🔥🔥", "x" * 70, "and", "so", "1234567890"]


def rambling(dice):
    """News of any length, in any script."""
    return [
        " ".join(dice.choices(WORDS, k=dice.choice([1, 5, 40, 300])))
        for _ in range(dice.randrange(4))
    ]


def any_layers(agent, dice):
    """Some layers, with any budget and shares."""
    window = Window(dice.choice([1, 5, 30]))
    layers = [
        window,
        *dice.sample([Impressions(window, 1), EventStream(), Chapters()], 2),
    ]
    names = ["recent", *(layer.name for layer in layers[1:])]
    shares = {name: dice.choice([0.1, 1, 5]) for name in names if dice.random() < 0.5}
    return LayeredMemory(agent, layers, dice.choice([100, 130, 300, 1000]), shares)


@pytest.mark.parametrize("model", ["openai/gpt-4o", "openai/gpt-4", "offline/quiet"])
@pytest.mark.parametrize("seed", range(12))
def test_no_prompt_is_above_its_budget_as_the_model_counts(seed, model):
    dice = random.Random(seed)
    street = Street(lambda agent: any_layers(agent, dice), name=model)
    street.news = lambda agent: rambling(dice)
    for _ in range(8):
        street.step()
        text = street.agents[0].shown
        if model.startswith("openai"):
            tokens = litellm.token_counter(model=model, text=text)
        else:
            tokens = count_tokens(text)
        assert tokens <= street.first.budget


# -- layers think at the same time ----------------------------------------------------------


class Together:
    """Answers once so many requests are there at the same time."""

    def __init__(self, count):
        self.count, self.most, self.waiting = count, 0, 0
        self._model = OfflineLLM()

    async def acomplete(self, request):
        self.waiting += 1
        for _ in range(200):
            self.most = max(self.most, self.waiting)
            if self.most >= self.count:
                break
            await asyncio.sleep(0.01)
        reply = self._model.complete(request)
        self.waiting -= 1
        return reply


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_all_layers_ask_at_the_same_time(execution):
    llm = Together(3)
    street = Street(llm=llm, execution=execution)
    llm.count = 1
    lived(street, 3)
    llm.count, llm.most = 3, 0  # summary, impression and grades are due in one step
    lived(street, 1)
    assert llm.most == 3


def test_records_are_numbered_by_layer_so_that_no_reply_has_to_be_first():
    street = lived(Street(lambda agent: four(agent, capacity=100)), 8)
    ids = [record.id for record in street.first.held_records()]
    assert "1/layered/summary/summary/5" in ids
    assert "1/layered/impressions/impression/1" in ids
    assert "1/layered/message/8" in ids
    assert len(set(ids)) == len(ids)


# -- a layer fails ---------------------------------------------------------------------------

PURPOSES = {"summary": "consolidate", "impressions": "impression", "stream": "grade"}


def failing(purpose):
    offline = OfflineLLM()

    def down(request):
        raise LLMUnavailable(
            "down", purpose=request.purpose, agent=1, step=request.step
        )

    rules = {p: lambda r: offline.complete(r).text for p in PURPOSES.values()}
    return ScriptedLLM(rules={**rules, purpose: down})


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_a_layer_that_fails_leaves_the_prompt_complete_but_for_its_own_section(
    execution,
):
    for name, purpose in PURPOSES.items():
        street = Street(llm=failing(purpose), execution=execution)
        sound = Street(llm=failing("none"), execution=execution)
        for each in (street, sound):
            lived(each, 6)
        now, wanted = (s.first._composed() for s in (street, sound))
        names = [section.name for section in wanted.report.sections]
        for place, each in enumerate(names):
            if each == name:
                assert "(not up to date since step" in now.texts[place]
                assert ": LLMUnavailable)" in now.texts[place]
                assert "not up to date" not in wanted.texts[place]
            elif each not in (
                "recent",
                "stream",
            ):  # what is not summed up is shown there
                assert now.texts[place] == wanted.texts[place]
        for day in range(1, 7):
            assert f"Day {day}: the bridge" in now.text
        configure(street, llm="offline")
        lived(street, 1)
        assert "not up to date" not in street.first.get_prompt_ready()


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ({"sumary": 1}, "shares has no layer 'sumary'; the layers are"),
        ({"summary": 0}, "must be above 0"),
        ({"summary": float("nan")}, "must be above 0"),
    ],
)
def test_shares_that_mean_nothing_are_refused(shares, told):
    with pytest.raises(ValueError, match=told):
        Street(lambda agent: LayeredMemory(agent, shares=shares))


def test_a_memory_needs_layers_and_not_classes_of_them():
    with pytest.raises(ValueError, match="at least one layer"):
        Street(lambda agent: LayeredMemory(agent, []))
    with pytest.raises(TypeError, match="objects of classes of Layer"):
        Street(lambda agent: LayeredMemory(agent, [Window]))
