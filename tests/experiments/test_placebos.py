"""Placebo memories: what the agent is shown changes, and nothing else."""

import pickle
from collections import Counter

import mesa
import pytest

from mesa_memory import EpisodicMemory, STLTMemory, configure, open_run
from mesa_memory.errors import StudyError, UnknownMemory
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import placebo
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.memories.host.interventions import probe
from mesa_memory.memories.host.reads import SHOWN_SECTIONS
from mesa_memory.memories.placebo import FILLER, KINDS, Placebo, of_length
from mesa_memory.memories.registry import OUR_MEMORIES, find
from mesa_memory.memories.tools import search_memories
from tests.support.deciding import Deciders, provider
from tests.support.playing import play
from tests.support.single import Asked, memory_of, settle

STEPS = 6
#: memories that ask nothing in the world of ``Readers``
QUIET = ("short_term", "conversation")


def town(memory, file):
    return play(RumorModel(5, memory, rng=1, record=file), STEPS)


def shown(file):
    with open_run(file) as run:
        return [
            (row["agent"], row["step"], row["section"], row["text"])
            for row in run.prompts(as_records=True)
        ]


def own_requests(file):
    with open_run(file) as run:
        return [
            (row["agent"], row["step"], row["purpose"], row["prompt_hash"])
            for row in run.calls(as_records=True)
            if row["purpose"] not in ("reasoning", "talk")
        ]


def truth(model):
    """What each agent would be shown without its placebo."""
    for agent in model.agents:
        agent.memory.shown_instead = None
        with agent.memory.peek():
            yield agent.memory.get_prompt_ready(), agent.memory


@pytest.mark.parametrize("memory", list(OUR_MEMORIES))
def test_each_memory_is_shown_with_as_many_tokens_and_thinks_of_the_truth(
    memory, tmp_path
):
    model = town(f"placebo:neutral:{memory}", tmp_path / "run.sqlite")
    for text, of in truth(model):
        for kind, change in KINDS.items():
            told = Placebo(kind, change)(of, "memory", text)
            assert abs(count_tokens(told) - count_tokens(text)) <= 1, kind


def test_the_record_has_what_was_shown_and_a_second_run_is_the_same(tmp_path):
    for kind in KINDS:
        files = [tmp_path / f"{kind}{turn}.sqlite" for turn in (1, 2)]
        for file in files:
            town(f"placebo:{kind}:stlt", file)
        assert shown(files[0]) == shown(files[1])
        with open_run(files[0]) as run:
            settings = run.memories(as_records=True)[0]["settings"]
        assert settings["shown_instead"] == f"placebo {kind}"
    plain = tmp_path / "plain.sqlite"
    town("stlt", plain)
    first = {row[:3]: row[3] for row in shown(plain) if row[1] == 1}
    for row in shown(tmp_path / "scrambled1.sqlite"):
        if row[1] == 1 and row[:3] in first:  # the runs have not parted yet
            new = Counter(row[3].split()) - Counter(first[row[:3]].split())
            assert set(new) <= set(FILLER.split())  # padding alone


@pytest.mark.parametrize("reasoning", ["cot", "react", "rewoo"])
def test_every_way_to_decide_is_shown_the_placebo_alone(reasoning, tmp_path):
    secret, requests = "the well is poisoned", {}
    for kind in (None, "neutral"):
        with provider() as server:
            model = Deciders(server.base, reasoning, "sync", services={})
            for agent in model.agents:
                made = find(f"placebo:{kind}:stlt" if kind else "stlt")(agent)
                agent.memory = made
                made.add_to_memory("observation", {"local_state": {"well": secret}})
            model.step()
            requests[kind] = str(list(server.log))
    assert secret in requests[None] and secret not in requests["neutral"]


class Readers(mesa.Model):
    """Read their memory at each step, and live the same whatever it says."""

    def __init__(self, memory, record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        settle(self, find(memory), 3, name="ollama/test")

    def step(self):
        for agent in self.agents:
            seen = {"well": f"{self.steps} people", "baker": "angry"}
            agent.memory.add_to_memory("observation", {"local_state": seen})
            agent.memory.get_prompt_ready()
            others = [each for each in self.agents if each is not agent]
            agent.send_message(f"On day {self.steps} I sold my fish.", others)
            agent.memory.process_step()


@pytest.mark.parametrize("memory", list(OUR_MEMORIES))
def test_requests_of_the_memory_itself_are_those_of_its_class(memory, tmp_path):
    found = []
    for number, name in enumerate((memory, f"placebo:neutral:{memory}")):
        file = tmp_path / f"{number}.sqlite"
        play(Readers(name, file, rng=1), 12)
        found.append(own_requests(file))
    assert found[0] == found[1] and (found[0] or memory in QUIET)


def test_a_rewriting_is_shown_also_after_it_was_sent_to_a_worker():
    model = RumorModel(n_agents=3, rng=1)
    made = pickle.loads(pickle.dumps(placebo(EpisodicMemory, rewrite=str.upper)))
    upper = made(model.agents[0])
    upper.add_to_memory("observation", {"local_state": {"well": "poisoned"}})
    assert "POISONED" in upper.get_prompt_ready()


@pytest.mark.parametrize("memory", list(OUR_MEMORIES))
@pytest.mark.parametrize("kind", [None, *KINDS])
def test_words_that_one_agent_heard_reach_it_by_no_read_and_no_tool(memory, kind):
    """A shuffled memory shows the agent's own lines, and no search among them is its own."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    (one,) = settle(model, find(f"placebo:{kind}:{memory}" if kind else memory))
    (other,) = settle(model, find(memory))
    said = "The bridge is broken near Zurbaran:"
    for _ in range(4):
        one.memory.add_to_memory("message", {"message": said, "sender": 9})
        other.memory.add_to_memory("message", {"message": "Bread.", "sender": 9})
        one.memory.process_step()
        other.memory.process_step()
    texts = [getattr(one.memory, read)() for read in SHOWN_SECTIONS]
    texts.append(search_memories(one, "Where is the bridge broken?"))
    assert (said in str(texts)) == (kind in (None, "shuffled"))
    assert kind not in ("neutral", "other_agent") or "Zurbaran" not in str(texts)


@pytest.mark.parametrize("memory", list(OUR_MEMORIES))
def test_no_line_of_a_text_is_taken_for_a_heading_by_its_form(memory):
    model = RumorModel(3, memory, rng=1)
    of = model.agents[0].memory
    of.agent.memory.process_step()
    texts = "Here is my plan:", "Agent 7:", "Step up to the well:", "Step 4:"
    told = Placebo("neutral", KINDS["neutral"])(of, "memory", "\n".join(texts))
    assert not any(text in told for text in texts[:3]) and texts[3] in told


def test_a_program_that_recalls_under_a_placebo_is_refused_and_a_probe_sees_the_placebo():
    llm = Asked()
    agent = memory_of(find("placebo:neutral:episodic"), llm).agent
    agent.memory.add_to_memory("note", {"note": "the well behind the mill is poisoned"})
    agent.memory.process_step()
    with pytest.raises(StudyError, match="would show agent 1 the truth"):
        agent.memory.recall("well")
    with agent.memory.peek():
        assert agent.memory.recall("well")
    probe(agent, "Is the well safe?")
    assert llm.asked[-1].purpose == "probe"
    assert "poisoned" not in str(llm.asked[-1].messages())


@pytest.mark.parametrize("tokens", [0, 1, 7, 40, 400])
def test_a_text_is_cut_or_padded_to_a_number_of_tokens(tokens):
    counts = [
        count_tokens,
        lambda text: count_tokens(text, "openai/gpt-4o"),
        lambda text: len(text.split()),
    ]
    for count in counts:
        found = of_length(
            "Agent 3 says: the well\n- is poisoned, they say", tokens, count
        )
        assert tokens * 0.95 - 2 <= count(found) <= tokens


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: find("placebo:sugar:stlt"), ValueError, "or give placebo"),
        (lambda: find("placebo:neutral:nothing"), UnknownMemory, "no memory has"),
        (
            lambda: find("placebo:neutral:placebo:neutral:stlt"),
            ValueError,
            "of a placebo",
        ),
        (lambda: placebo(STLTMemory, "sugar"), ValueError, "choose from shuffled"),
        (
            lambda: placebo(STLTMemory),
            ValueError,
            "either a kind of placebo or rewrite",
        ),
    ],
)
def test_what_is_no_placebo_is_told(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
