"""The same request is answered once, across runs, arms and processes."""

import json
import os
import sqlite3
from contextlib import closing
from itertools import cycle

import mesa
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    LongTermMemory,
    Services,
    ShortTermMemory,
    arrange_prompts,
    configure,
    open_run,
    resume,
)
from mesa_memory.cli import main
from mesa_memory.llm import Reply
from mesa_memory.viz.views import cost
from tests.support.behaviours import Behaviour, always, completion
from tests.support.fleet import ASKING, HASTY
from tests.support.keeping import STEPS, live, town
from tests.support.openai_server import OpenAIServer
from tests.support.studied import PaidStreet

CALLS = 3 * STEPS


@pytest.fixture
def file(tmp_path):
    return tmp_path / "answers.sqlite"


def prompts(server):
    """What the provider was asked since the last time."""
    found = [received.prompt for received in server.log]
    server.clear()
    return found


# -- across runs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "execution"), zip(ASKING, cycle(["deferred", "blocking"]))
)
def test_a_second_run_asks_nothing_and_remembers_the_same(
    memory, execution, server, file
):
    given = {"memory": memory, "cache": file, "execution": execution}
    first = live(town(server.base, **given))
    assert first["calls"] == first["attempts"] == len(prompts(server)) > 0
    assert first["cached"] == 0
    second = live(town(server.base, **given))
    assert prompts(server) == []
    assert second["cached"] == second["calls"] == first["calls"]
    assert (second["attempts"], second["tokens"]) == (0, 0)
    for what in ("shown", "thought"):
        assert second[what] == first[what]


def test_answers_are_kept_only_where_that_was_asked_for(server, tmp_path):
    for _ in range(2):
        assert live(town(server.base))["cached"] == 0
        assert len(prompts(server)) == CALLS
    assert list(tmp_path.iterdir()) == []


def test_another_replicate_asks_anew_and_each_has_answers_of_its_own(server, file):
    for number, asked in ((0, CALLS), (1, CALLS), (0, 0), (1, 0)):
        live(town(server.base, cache=file, replicate=number))
        assert len(prompts(server)) == asked, number


def test_what_changes_an_answer_asks_anew(server, file):
    for changed in (
        {},
        {"temperature": 0.5},
        {"seed": 3},
        {"max_tokens": 300},
        {"options": {"top_p": 0.5}},
        {"options": {"extra_body": {"mode": "fast"}}},
        {"name": "openai/other"},
    ):
        for asked in (1, 0):
            live(town(server.base, count=1, cache=file, **changed), 1)
            assert len(prompts(server)) == asked, changed
    live(town(server.base, count=1, cache=file), 1)
    assert prompts(server) == []


def test_how_a_request_is_sent_changes_no_answer(server, file):
    secret = {"Authorization": "Bearer sk-secret-12345"}
    for changed, asked in (
        ({}, 1),
        ({"timeout": 50, "attempts": 4, "concurrency": 3, "backoff": 0.02}, 0),
        ({"options": {"api_key": "sk-another-key-0123456789"}}, 0),
        ({"options": {"user": "somebody", "service_tier": "flex"}}, 0),
        ({"execution": "blocking"}, 0),
        ({"options": {"extra_headers": secret}}, 1),
        ({"options": {"extra_headers": {}}}, 0),
    ):
        live(town(server.base, count=1, cache=file, **changed), 1)
        assert len(prompts(server)) == asked, changed


def test_a_server_named_in_the_options_has_its_own_answers(server, file):
    with OpenAIServer() as other:
        for pointed in (
            lambda base: {"options": {"api_base": base}},
            lambda base: {"options": {"base_url": f"{base}/"}},
            lambda base: {"options": {"api_base": base}, "client": "litellm"},
        ):
            file = file.with_name(f"other-{file.name}")
            for one in (server, other):
                given = {"count": 1, "cache": file, **pointed(one.base)}
                live(town("http://127.0.0.1:9/v1", **given), 1)
                assert len(prompts(one)) == 1
            live(town(other.base, count=1, cache=file), 1)
            assert prompts(other) == []


def test_another_server_asks_anew_whether_given_or_configured(
    server, file, monkeypatch
):
    def asked(base, one):
        live(town(base, count=1, cache=file), 1)
        return len(prompts(one))

    assert asked(server.base, server) == 1
    with OpenAIServer() as other:
        assert asked(other.base, other) == 1
        monkeypatch.setenv("OPENAI_API_BASE", other.base)
        assert asked(None, other) == 0
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        assert asked(None, server) == 0


# -- within a run --------------------------------------------------------------------


class Singer(mesa.Model):
    """One agent who hears what the agents of other models hear, too."""

    def __init__(self, base, **services):
        super().__init__(rng=1)
        self.services = configure(self, **HASTY | services)
        singer = LLMAgent(self, CoTReasoning, "openai/test", api_base=base)
        self.memory = singer.memory = LongTermMemory(singer)

    def hear(self, text):
        self.memory.add_to_memory("message", {"message": text, "sender": 99})
        self.memory.process_step()


def test_identical_requests_at_the_same_time_are_one_request(file):
    with OpenAIServer(latency=0.2) as server:
        choir = [Singer(server.base, cache=file) for _ in range(6)]
        for singer in choir:
            singer.hear("The mill burns.")
        for singer in choir:
            singer.services.flush()
        assert len(prompts(server)) == 1
    totals = [singer.services.ledger.total for singer in choir]
    assert sum(total.calls for total in totals) == 6
    assert sum(total.cached for total in totals) == 5
    assert len({singer.memory.long_term_memory for singer in choir}) == 1


# -- what is not kept ----------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        Behaviour.text("I'm sorry, but I can't assist with that request."),
        Behaviour.text('{"summary": ""}'),
        Behaviour.text('{"summary": "How can I help you today?"}'),
        Behaviour.text('{"summ'),
        Behaviour.text('{"summary": "Word 1 of 1 at the mill."}', "length"),
        Behaviour.text(None),
        Behaviour.status(500),
    ],
)
def test_a_bad_answer_is_not_kept(bad, file):
    with OpenAIServer(behave=always(bad)) as server:
        made = town(server.base, count=1, cache=file, max_pending_steps=50)
        live(made, 1)
        asked = prompts(server)
        assert asked
        # The memory asks again, and so does another run.
        live(town(server.base, count=1, cache=file, max_pending_steps=50), 1)
        assert prompts(server) == asked
    with OpenAIServer() as server:
        assert "Summary of" in live(town(server.base, count=1, cache=file))["shown"][0]


def test_a_repaired_exchange_is_kept_as_what_it_is(file):
    def behave(received):
        good = '{"summary": "Agent 99 says word 1 of 1 at the mill."}'
        return Behaviour.text(good if len(received.messages) > 2 else "{}")

    with OpenAIServer(behave=behave) as server:
        first = live(town(server.base, count=1, cache=file), 1)
        assert len(prompts(server)) == 2
        second = live(town(server.base, count=1, cache=file), 1)
        # What was wrong is asked for again; how it was repaired is known.
        assert len(prompts(server)) == 1
    assert second["shown"] == first["shown"] and second["cached"] == 1


def test_the_answer_of_a_fallback_is_not_kept_for_the_model_that_was_asked(file):
    def behave(received):
        return Behaviour.status(400, "no") if received.model == "test" else None

    with OpenAIServer(behave=behave) as server:
        given = {"count": 1, "cache": file, "fallbacks": ("openai/other",)}
        for _ in range(2):
            live(town(server.base, **given), 1)
            assert {r.model for r in server.log} == {"test", "other"}
            server.clear()


class Own:
    """A client of a user's own."""

    asked = 0

    async def acomplete(self, request):
        self.asked += 1
        said = "Agent 99 says words 1, 2, 3 and 4 at the mill."
        return Reply(json.dumps({"summary": said}))


def test_answers_of_an_object_of_ones_own_are_not_kept(file, caplog):
    own = Own()
    for _ in range(2):
        live(town(None, count=1, llm=own, cache=file))
    assert own.asked == 2 * STEPS
    told = [r for r in caplog.records if "are not cached" in r.getMessage()]
    assert len(told) == 2  # once in each run


# -- reasoning -----------------------------------------------------------------------

TOOL = {
    "type": "function",
    "function": {"name": "wave", "parameters": {"type": "object", "properties": {}}},
}


def calling(received):
    """A reply that calls a tool, and says what it thought."""
    if "tools" not in received.body:
        return None
    body = json.loads(completion(received, None, "tool_calls"))
    call = {"name": "wave", "arguments": '{"to": "Anna"}'}
    body["choices"][0]["message"] |= {
        "tool_calls": [{"id": "call-7", "type": "function", "function": call}],
        "reasoning_content": "Anna is there.",
    }
    return Behaviour.raw(json.dumps(body).encode())


def thinker(base, **services):
    model = mesa.Model(rng=1)
    configure(model, **HASTY | services)
    agent = LLMAgent(model, CoTReasoning, "openai/test", api_base=base)
    agent.memory = ShortTermMemory(agent)
    arrange_prompts(agent)
    return agent


def test_reasoning_is_kept_whole_with_the_tools_it_calls(file):
    with OpenAIServer(behave=calling) as server:
        given = {"prompt": "Who is there?", "tool_schema": [TOOL]}
        first = thinker(server.base, cache=file).llm.generate(**given)
        agent = thinker(server.base, cache=file)
        second = agent.llm.generate(**given)
        assert len(prompts(server)) == 1
        assert second.model_dump() == first.model_dump()
        (call,) = second.choices[0].message.tool_calls
        assert (call.id, call.function.name) == ("call-7", "wave")
        assert second.choices[0].message.reasoning_content == "Anna is there."
        total = Services.of(agent.model).ledger.total
        assert (total.calls, total.cached, total.tokens) == (1, 1, 0)
        other = [TOOL | {"function": TOOL["function"] | {"name": "nod"}}]
        agent.llm.generate("Who is there?", tool_schema=other)
        agent.llm.generate("Who is there?")
        assert len(prompts(server)) == 2


@pytest.mark.parametrize(
    "poison",
    [
        {"raw": None},
        {"raw": {"choices": []}},
        {"text": "", "raw": None},
        {"finish": "length"},
    ],
    ids=str,
)
def test_an_own_request_never_gets_a_stored_answer_without_a_message(poison, file):
    with OpenAIServer(lambda received: "The mill.") as server:
        thinker(server.base, cache=file).llm.generate("Where?")
        with closing(sqlite3.connect(file)) as on, on:
            (kept,) = on.execute("SELECT value FROM cached").fetchone()
            value = json.dumps(json.loads(kept) | poison).encode()
            on.execute("UPDATE cached SET value = ?", (value,))
        told = thinker(server.base, cache=file).llm.generate("Where?")
        assert told.choices[0].message.content == "The mill."
        assert len(prompts(server)) == 2


# -- recorded ------------------------------------------------------------------------


def test_a_recorded_run_says_which_calls_were_cached(server, file, tmp_path):
    for name in ("first", "second"):
        made = town(server.base, cache=file, record=str(tmp_path / f"{name}.sqlite"))
        live(made)
        made.services.recorder.close()
    for name, cached in (("first", False), ("second", True)):
        with open_run(tmp_path / f"{name}.sqlite") as run:
            calls = run.calls(as_records=True)
            assert [row["cached"] for row in calls] == [cached] * CALLS
            assert not any(row["replayed"] for row in calls)
            (spent,) = run.cost(as_records=True)
            viewed = cost.spent(run).counts["cached_calls"].sum()
        assert viewed == spent["cached_calls"] == CALLS * cached
        if cached:
            assert (spent["tokens_in"], spent["attempts"], spent["cost"]) == (0, 0, 0)
    told = CliRunner().invoke(main, ["cost", str(tmp_path / "second.sqlite")])
    assert "from the cache" in told.output and "of them cached" not in told.output


def test_a_run_of_kept_answers_is_replayed_and_resumed_as_any(server, file, tmp_path):
    place = str(tmp_path / "run.sqlite")
    for _ in range(2):
        street = PaidStreet(server.base, n=3, rng=1)
        configure(street, record=place, cache=file)
        street.step()
        street.step()
        Services.of(street).recorder.close()
    prompts(server)
    held = [agent.memory.get_prompt_ready() for agent in street.agents]
    again = resume(PaidStreet, place, base=server.base)
    assert [agent.memory.get_prompt_ready() for agent in again.agents] == held
    configure(again, cache=file, record=None)
    again.step()
    assert len(prompts(server)) == 3
    played = PaidStreet(server.base, n=3, rng=1)
    configure(played, replay=place)
    played.step()
    played.step()
    assert [agent.memory.get_prompt_ready() for agent in played.agents] == held
    assert prompts(server) == []


# -- across processes ----------------------------------------------------------------


def test_a_child_of_a_process_shares_the_file(server, file):
    made = town(server.base, cache=file)
    live(made, 1)
    prompts(server)
    child = os.fork()
    if not child:
        code = 1
        try:
            twin = town(server.base, cache=file)
            code = 0 if live(twin, 1)["cached"] == 3 and live(twin, 1) else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(prompts(server)) == 3
    live(made, 1)
    assert prompts(server) == []
