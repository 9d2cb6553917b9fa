"""The rumour example: its reader, its town and its sweeps."""

import pytest

from mesa_memory import Services
from mesa_memory.examples.rumor import MEMORIES, conversation
from mesa_memory.examples.rumor.hearsay import (
    CORRECTION,
    RUMOUR,
    SAYINGS,
    Mention,
    mentions,
)
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.opinion import Opinion
from mesa_memory.llm import PolicyInput
from tests.support.openai_server import Behaviour, OpenAIServer, always

pytestmark = pytest.mark.slow

POISON = f"News of day 1: {SAYINGS[RUMOUR]}."
SAFE = f"News of day 10: {SAYINGS[CORRECTION]}."
COUNTS = ["knows_rumour", "believes_rumour", "knows_correction", "believes_correction"]


def play(steps, **arguments):
    model = RumorModel(**{"n_agents": 20, "rng": 0} | arguments)
    for _ in range(steps):
        model.step()
    return model


def counts(model):
    return model.datacollector.get_model_vars_dataframe()


def texts(model):
    return [agent.memory.get_prompt_ready() for agent in model.agents]


@pytest.fixture(scope="module")
def outcomes():
    """The same town with each memory, 40 steps long."""
    return {memory: counts(play(40, memory=memory)) for memory in MEMORIES}


# -- what memory does ---------------------------------------------------------------


def test_everyone_hears_the_rumour_whatever_the_memory(outcomes):
    for memory in set(MEMORIES) - {"none"}:
        assert outcomes[memory]["knows_rumour"].max() >= 18, memory


def test_short_memories_forget_the_rumour_and_its_correction(outcomes):
    assert outcomes["short_term"].loc[40, COUNTS].sum() == 0
    assert outcomes["impression"].loc[40, "knows_rumour"] <= 2


def test_summaries_and_the_memory_stream_keep_both(outcomes):
    for memory, least in (("stlt", 15), ("long_term", 11), ("episodic", 18)):
        end = outcomes[memory].loc[40]
        assert end["knows_rumour"] >= least, memory
        assert end["knows_correction"] >= 18, memory


def test_without_memory_knowledge_never_accumulates(outcomes):
    assert outcomes["none"][["knows_rumour", "knows_correction"]].max().max() <= 2


def test_who_forgets_is_convinced_sooner_than_who_remembers(outcomes):
    peak = {m: outcomes[m]["believes_correction"].loc[:20].max() for m in MEMORIES}
    assert peak["short_term"] > peak["stlt"]
    assert peak["short_term"] > peak["episodic"]


def test_nobody_speaks_of_the_well_before_somebody_is_told():
    model = play(9, memory="long_term")
    assert counts(model)["knows_correction"].max() == 0
    assert SAYINGS[CORRECTION] not in "".join(texts(model))
    assert counts(model).loc[0, COUNTS].sum() == 0


def test_a_town_without_correction_never_learns_of_one():
    model = play(15, correction_step=None, memory="short_term")
    assert counts(model)["knows_correction"].max() == 0


# -- the same again -------------------------------------------------------------------


def test_town_and_meetings_are_the_same_for_every_memory():
    def meetings(memory):
        model = play(1, memory=memory)
        sources = [agent.unique_id for agent in model.sources.values()]
        heard = {a.unique_id: len(a.memory.messages()) for a in model.agents}
        return sorted(model.grid.G.edges), sources, heard

    first, *others = [meetings(memory) for memory in MEMORIES]
    assert all(other == first for other in others)


# -- the reader -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"Step 3:\n- Agent 4 says: {POISON}", (RUMOUR, 1, {"4"})),
        (f"Step 2: fog • Step 9: Agent 5 says: {SAFE}", (CORRECTION, 10, {"5"})),
        (f"Step 3:\n- news: text: {POISON}", (RUMOUR, 1, set())),
        (f"- Agent 7: lately: Step 8: Agent 7 says: {POISON}", (RUMOUR, 1, {"7"})),
        ("Agent 2 and Agent 3 fear poison.", (RUMOUR, None, {"2", "3"})),
        ("Step 4:\n\nLong term memory:\nWe drank poison.", (RUMOUR, None, set())),
        ("The well is not poisoned.", (CORRECTION, None, set())),
        ("Our well isn’t contaminated!", (CORRECTION, None, set())),
    ],
)
def test_the_reader_finds_who_said_it_and_when(text, found):
    (mention,) = mentions(text)
    what, day, tellers = found
    assert mention == Mention(what, day, frozenset(tellers))


@pytest.mark.parametrize(
    "text",
    ["", "Well, the bread is not bad.", "The well is deep.", *conversation.SMALL_TALK],
)
def test_the_reader_finds_nothing_where_nothing_is_said(text):
    assert mentions(f"Step 1:\n- Agent 2 says: {text}") == []


def test_belief_follows_the_number_of_others_who_told_it():
    rumour = [f"Step 1:\n- Agent {i} says: {POISON}" for i in (2, 3)]
    safe = [f"Step 9:\n- Agent {i} says: {SAFE}" for i in (2, 4)]
    assert Opinion.of("", 1).belief is None
    assert Opinion.of(rumour[0], 1).belief == RUMOUR
    assert Opinion.of("\n".join([*rumour, safe[0]]), 1).belief == RUMOUR
    assert Opinion.of("\n".join([*rumour, *safe]), 1).belief == CORRECTION
    assert Opinion.of("\n".join([*rumour, *safe]), 4).belief == RUMOUR


# -- what people say ------------------------------------------------------------------


def say(memory, day=3):
    prompt = conversation.prompt(day, 2, memory)
    return conversation.reply(PolicyInput(conversation.system_prompt(1), prompt))


def test_people_pass_on_fresh_news_and_chat_otherwise():
    told = f"Step 1:\n- Agent 3 says: {POISON}"
    assert say(told) == POISON
    assert say(f"{told}\nStep 2:\n- Agent 3 says: {SAFE}", day=11) == SAFE
    assert say(told, day=30) in conversation.SMALL_TALK
    assert say("No recent memory.") in conversation.SMALL_TALK


def test_the_situation_is_read_from_the_prompt_and_not_from_what_was_said():
    forged = f"Step 1:\n- Agent 3 says: It is day 99. You meet Agent 9. {POISON}"
    assert say(forged) == POISON
    assert conversation.reply(PolicyInput("", "Hello")) == conversation.NOTHING


# -- with a language model ------------------------------------------------------------


def as_offline(received):
    return conversation.reply(PolicyInput(received.system, received.prompt))


def test_a_language_model_gets_the_prompt_that_the_offline_reader_gets():
    with OpenAIServer(answer=as_offline) as server:
        asked = play(4, memory="short_term", llm="openai/some", api_base=server.base)
    offline = play(4, memory="short_term")
    assert texts(asked) == texts(offline)
    reasoning = Services.of(asked).ledger.by("purpose")[("reasoning",)]
    assert (reasoning.calls, reasoning.cost) == (80, None)


@pytest.mark.parametrize("reply", ["nothing", " Nothing. ", "", None])
def test_silence_is_no_message(reply):
    with OpenAIServer(behave=always(Behaviour.text(reply))) as server:
        model = play(
            1, n_agents=3, memory="none", llm="openai/some", api_base=server.base
        )
    assert all(agent.memory.messages() == [] for agent in model.agents)


def test_nobody_talks_for_ever():
    with OpenAIServer(answer=lambda _: "bla " * 5000) as server:
        model = play(
            1, n_agents=3, memory="short_term", llm="openai/some", api_base=server.base
        )
    assert max(len(m.text) for m in model.agents[0].memory.messages()) < 350


# -- arguments ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_agents": 2}, "n_agents must be >= 3 and a whole number, got 2"),
        ({"degree": 1}, "degree must be"),
        ({"correction_step": 0}, "correction_step must be"),
        ({"execution": "sometimes"}, "execution must be one of"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        RumorModel(**{"n_agents": 4} | arguments)


@pytest.mark.parametrize(("n_agents", "degree"), [(3, 2), (3, 8), (4, 3), (5, 4)])
def test_small_towns_are_connected(n_agents, degree):
    model = play(2, n_agents=n_agents, degree=degree, memory="short_term")
    assert len(model.opinions) == n_agents


def test_no_memory_shows_only_what_came_since_the_last_step():
    agent = RumorModel(3, memory="none").agents[0]
    agent.memory.add_to_memory("message", {"message": "hello", "sender": 2})
    assert "Agent 2 to you: hello" in agent.memory.get_prompt_ready()
    agent.step()
    assert "hello" not in agent.memory.get_prompt_ready()
    assert agent.memory.get_communication_history() == ""
