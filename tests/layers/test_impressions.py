"""Of whom an agent forms an impression, and from what."""

from functools import partial

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import ImpressionMemory, ScriptedLLM, configure, open_run
from mesa_memory.viz.views.requests import requests
from tests.support.single import settle

REPLY = {"text": "Seems fair.", "sentiment": 0.1, "familiarity": 0.3}
#: sights are interactions, too
SIGHTS = {"counts": ("message", "observation")}


class SugarHeap(mesa.Agent):
    """Has a state to be seen, and no mind."""

    internal_state = ("sugar: 4",)


class Trader(LLMAgent):
    """Sees everything and everybody; says what ``doing`` says."""

    doing = staticmethod(lambda trader: None)

    def step(self):
        self.generate_obs()
        self.doing(self)


class Market(mesa.Model):
    """Two traders who talk, twelve who do not, and six heaps of sugar."""

    def __init__(self, **counting):
        super().__init__(rng=1)
        self.llm = ScriptedLLM(rules={"impression": REPLY})
        configure(self, llm=self.llm, execution="blocking")
        state = ["patient", "curious about what everybody else pays for sugar today"]
        kind = partial(ImpressionMemory, **counting)
        self.traders = settle(self, kind, 14, Trader, vision=-1, internal_state=state)
        for _ in range(6):
            SugarHeap(self).pos = None

    def step(self):
        for trader in self.traders:
            trader.step()


def spoken(market, steps):
    """The first trader speaks to the second in each step; what it asked for."""
    first, second, *_ = market.traders
    first.doing = lambda trader: trader.send_message("Three coins?", [second])
    for _ in range(steps):
        market.step()
    return [r for r in market.llm.history if r.agent == 1]


@pytest.fixture
def market():
    """After five steps in which the first trader spoke to the second, seen by all."""
    market = Market(**SIGHTS)
    spoken(market, 5)
    return market


def subject(request):
    """Whom a request is about."""
    return request.inputs["subject"]


def test_those_who_exchanged_words_have_an_impression_and_nobody_else(market):
    pairs = {(request.agent, subject(request)) for request in market.llm.history}
    assert pairs == {(1, "Agent 2"), (2, "Agent 1")}
    assert set(market.traders[0].memory.impressions()) == {2}


def test_each_line_of_the_evidence_says_something_of_the_one_it_is_about(market):
    for request in market.llm.history:
        number = subject(request).removeprefix("Agent ")
        known_as = (*[f"Agent {number}{after}" for after in " :,"], f"Trader {number} ")
        assert request.inputs["since"]
        for line in request.inputs["since"]:
            assert any(name in f"{line} " for name in known_as), line
        assert "SugarHeap" not in request.prompt
        assert "Trader 9" not in request.prompt


def test_whoever_is_heard_has_a_mind_and_what_cannot_speak_has_none():
    market = Market(**SIGHTS)
    trader = market.traders[0]
    for _ in range(5):
        trader.memory.add_to_memory("message", {"message": "Hello!", "sender": 99})
        trader.memory.add_to_memory(
            "observation", {"local_state": {"Ghost 77": "there"}}
        )
        trader.memory.process_step()
    assert set(trader.memory.impressions()) == {99}


def test_sights_alone_do_not_grow_without_end():
    market = Market(**SIGHTS)
    for _ in range(60):
        market.step()
    market.traders[0].send_message("Now?", [market.traders[1]])
    market.step()
    (request,) = [r for r in market.llm.history if r.agent == 1]
    assert len(market.traders[0].memory.impression_of(2).sources) <= 40
    assert "times, first in step" in request.prompt


# -- what counts ---------------------------------------------------------------------


def test_by_default_only_messages_are_interactions_and_evidence():
    market = Market()
    assert spoken(market, 4) == []
    (request,) = spoken(market, 1)
    assert request.inputs["meetings"] == 5
    (line,) = request.inputs["since"]
    assert "5 times" in line and "Three coins?" in line


def test_an_event_of_a_kind_of_ones_own_is_about_those_whom_it_names():
    market = Market(counts={"gift"}, update_every=1)
    memory = market.traders[0].memory
    memory.add_to_memory("gift", {"sender": 3, "thing": "a fish"})
    memory.add_to_memory("message", {"sender": 4, "message": "Hello!"})
    memory.process_step()
    assert set(memory.impressions()) == {3}
    assert "a fish" in market.llm.history[0].prompt


@pytest.mark.parametrize("counts", [(), "message", ("message", 3), [""], None])
def test_what_counts_must_be_kinds_of_events(counts):
    with pytest.raises(ValueError, match=r"counts must name.*such as \('message',\)"):
        Market(counts=counts)


# -- several at once -----------------------------------------------------------------

OTHERS = (3, 4, 5, 6)


def hears(memory, *senders, about="coins"):
    for sender in senders:
        said = {"message": f"{sender} offers {about}.", "sender": sender}
        memory.add_to_memory("message", said)
    memory.process_step()


def gossip(rule):
    """The memory of a trader, renewed with each message, and the model that is asked."""
    market = Market(update_every=1)
    market.llm = ScriptedLLM(rules={"impression": rule})
    configure(market, llm=market.llm)
    return market.traders[0].memory, market.llm.history


def several(request, *left_out, **changed):
    """A good reply for all others of a request, but for some."""
    count = len(request.inputs["others"])
    return {
        "impressions": [
            {"other": n, **REPLY, "text": f"Is number {n}.", **changed.get(f"_{n}", {})}
            for n in range(1, count + 1)
            if n not in left_out
        ]
    }


def asked(history):
    """Whom each request was about."""
    return [
        [o["subject"] for o in r.inputs["others"]]
        if "others" in r.inputs
        else r.inputs["subject"]
        for r in history
    ]


def test_all_that_are_due_are_asked_for_in_one_request():
    memory, history = gossip(several)
    hears(memory, *OTHERS)
    (request,) = history
    assert request.purpose == "impression"
    made = {s: r.content["text"] for s, r in memory.impressions().items()}
    assert made == {s: f"Is number {n}." for n, s in enumerate(OTHERS, 1)}
    for number, other in enumerate(OTHERS, 1):
        part = request.prompt.split(f"Other agent {number}: ")[1].partition("\n\n")[0]
        assert part.startswith(f"Agent {other}.")
        assert [o for o in OTHERS if f"{o} offers" in part] == [other]


@pytest.mark.parametrize(
    "changed",
    [
        {"sentiment": 7},
        {"text": ""},
        {"text": "I'm sorry, but I can't assist with that request."},
        {"text": "x" * 401},
        {"familiarity": None},
        {"other": 3},
        {"other": 9},
        {"other": "the second"},
    ],
    ids=str,
)
def test_one_that_is_invalid_is_asked_for_again_alone(changed):
    def rule(request):
        if "others" in request.inputs:
            return several(request, _2=changed)
        return REPLY

    memory, history = gossip(rule)
    hears(memory, *OTHERS)
    first, *alone = asked(history)
    # Of two with the same number, nobody knows which is right.
    again = ["Agent 4", "Agent 5"] if changed.get("other") == 3 else ["Agent 4"]
    assert (first, alone) == ([f"Agent {s}" for s in OTHERS], again)
    assert set(memory.impressions()) == set(OTHERS)


def test_one_of_whom_nothing_can_be_said_keeps_back_no_other():
    def rule(request):
        return several(request, 2) if "others" in request.inputs else "No."

    memory, history = gossip(rule)
    hears(memory, *OTHERS)
    assert set(memory.impressions()) == {3, 5, 6}
    assert asked(history)[1:] == ["Agent 4", "Agent 4"]  # with its repair round
    history.clear()
    hears(memory, 3)
    # What failed is due again, with what has happened since.
    assert asked(history)[0] == ["Agent 3", "Agent 4"]


def test_several_impressions_are_read_in_many_forms():
    cases = [
        lambda made: made["impressions"],
        lambda made: {str(one.pop("other")): one for one in made["impressions"]},
        lambda made: {
            "impressions": {str(o.pop("other")): o for o in made["impressions"]}
        },
        lambda made: {"impressions": made["impressions"][::-1]},
        lambda made: {
            "impressions": [
                {"number": o.pop("other"), **o} for o in made["impressions"]
            ]
        },
        lambda made: {
            "impressions": [o for o in made["impressions"] if o.pop("other")]
        },
    ]
    for form in cases:
        memory, history = gossip(lambda r: form(several(r)))
        hears(memory, *OTHERS)
        assert len(history) == 1
        made = [memory.impression_of(s).content["text"] for s in OTHERS]
        assert made == [f"Is number {n}." for n in (1, 2, 3, 4)]


def test_without_a_model_each_impression_is_as_if_it_were_the_only_one():
    made = []
    for most in (1, 20):
        market = Market(update_every=1)
        configure(market, llm="offline")
        memory = market.traders[0].memory
        memory.layers[1].most = most
        hears(memory, *OTHERS)
        hears(memory, *OTHERS, about="thanks")
        made.append({s: r.content for s, r in memory.impressions().items()})
    assert made[0] == made[1]
    assert len(made[0]) == 4


# -- whose words an impression is made of ----------------------------------------------


def test_what_is_asked_for_again_is_recorded_counted_and_shown(tmp_path):
    slander = "Agent 4 is a coward who steals apples at night."

    def rule(request):
        if "others" not in request.inputs:
            return REPLY
        return several(request, 3, _2={"text": "A coward who steals apples at night."})

    market = Market(update_every=1)
    market.llm = ScriptedLLM(rules={"impression": rule})
    services = configure(market, llm=market.llm, record=tmp_path / "run.sqlite")
    memory = market.traders[0].memory
    for sender, text in ((3, slander), (4, "Good day to you!"), (5, "Nice fish here.")):
        memory.add_to_memory("message", {"message": text, "sender": sender})
    market.step()
    assert services.ledger.by("purpose")[("impression",)].doubtful == 1
    services.recorder.close()
    run = open_run(tmp_path / "run.sqlite")
    doubts = [row["doubtful"] for row in run.calls(as_records=True)]
    again = "of Agent 4 (words of another agent's lines), of Agent 5 (missing or not usable)"
    assert doubts == [f"asked for again: {again}", None, None]
    (first, *_) = requests(run, 1, 0, 1)
    assert first["outcome"].endswith(", doubtful")


# -- what is shown, and how it is asked for --------------------------------------------


@pytest.mark.parametrize("language", ["en", "de", "ja"])
@pytest.mark.parametrize(
    ("name", "said", "shown"),
    [
        ("Ines", "You knew that Ines is leaving, and said nothing?", True),
        ("Jon", "Jona from the coast guard asked for Jonas.", False),
        ("Jona", "What is your opinion of JONA?", True),
        ("Ines", "Inesさんをどう思いますか。", True),
        ("花子", "花子さんをどう思いますか。", True),
    ],
)
def test_impressions_of_those_named_in_the_newest_messages_are_shown(
    language, name, said, shown
):
    market = Market(update_every=1)
    configure(market, language=language)
    me, asker, whom, *_ = market.traders
    whom.name = name
    me.memory.add_to_memory("message", {"message": "Hello!", "sender": whom.unique_id})
    me.memory.process_step()
    for _ in range(3):
        market.steps += 1
    me.memory.add_to_memory("message", {"message": said, "sender": asker.unique_id})
    assert (REPLY["text"] in me.memory.format_long_term()) is shown


def test_lines_that_several_have_in_common_are_asked_about_once():
    memory, history = gossip(several)
    me, *others = memory.agent.model.traders
    me.send_message("The meeting is on day 5, at ten.", others[:3])
    me.send_message("Take sixty from both.", others[:2])
    others[0].send_message("It was not me.", [me])
    memory.process_step()
    (request,) = [r for r in history if r.agent == 1]
    prompt = request.prompt
    assert prompt.count("on day 5, at ten") == prompt.count("sixty from both") == 1
    assert prompt.startswith("With all of them:\n- Step ")
    both = prompt.partition("With Agent 2, Agent 3:\n")[2].partition("\n\n")[0]
    assert "sixty from both" in both and "It was not me" not in both
    assert "What happened, oldest first:\n- " in prompt
    assert prompt.count("What happened") == 1, "the others have nothing of their own"
    assert 'addressed to Agent 1 as "you", about 25 words' in prompt
