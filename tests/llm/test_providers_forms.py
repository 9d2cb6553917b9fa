"""In which form servers of all kinds are asked for a reply, on both ways to them."""

import json

import pytest

from mesa_memory import LLMRejected, LLMUnavailable
from mesa_memory.tasks.impress import Impression
from tests.support import ways
from tests.support.client import ask, ask_all, client, question
from tests.support.openai_server import Behaviour, OpenAIServer, always, completion
from tests.support.single import table

way = ways.way  # each test on both

#: how servers refuse a form, and by name a setting
WORDS = table("refusing_words")
ANSWER = {"text": "A good soul.", "sentiment": 0.5, "familiarity": 0.1}


def answer(received):
    return json.dumps(ANSWER)


def form_of(received):
    """The form in which a request asks for its reply."""
    body = received.body
    if "tools" in body:
        return "tools"
    form = body.get("response_format") or {"type": "plain"}
    return form["type"] + (" with schema" if "schema" in form else "")


class Server(OpenAIServer):
    """Knows some forms, and refuses the others in its own words."""

    def __init__(self, *known, refusal=None, settings=()):
        self.known, self.settings = known, settings
        self.refusal = refusal or Behaviour.status(400, "unknown response_format")
        super().__init__(answer, behave=self.refuse)

    def refuse(self, received):
        for name, said in self.settings:
            if name in received.body:
                return Behaviour.status(400, said)
        if form_of(received) not in self.known:
            return self.refusal
        return called(received) if form_of(received) == "tools" else None

    @property
    def forms(self):
        return [form_of(received) for received in self.log]


def called(received):
    """The answer as what a tool is called with."""
    call = {"id": "1", "type": "function",
            "function": {"name": "reply", "arguments": json.dumps(ANSWER)}}  # fmt: skip
    body = json.loads(completion(received, None, "tool_calls"))
    body["choices"][0]["message"]["tool_calls"] = [call]
    return Behaviour.raw(json.dumps(body).encode())


def asked(server, **parts):
    return question(server, schema=Impression, **parts)


ORDER = ["json_schema", "json_object with schema", "json_object", "tools", "plain"]


@pytest.mark.parametrize("known", ORDER)
def test_the_first_form_that_a_server_knows_is_found_and_remembered(known, way):
    with Server(known) as server:
        llm = client()
        first, second = ask(llm, asked(server)), ask(llm, asked(server))
    before = ORDER.index(known)
    assert server.forms == [*ORDER[: before + 1], known]
    assert json.loads(first.text) == json.loads(second.text) == ANSWER
    assert (first.attempts, second.attempts) == (before + 1, 1)
    assert (first.route.client, first.route.form) == (way, known)


@pytest.mark.parametrize("code", [400, 422])
def test_a_refusal_is_understood_in_many_words(code):
    for said in WORDS["forms"]:
        with Server("json_object", refusal=Behaviour.status(code, said)) as server:
            assert ask(client(), asked(server)).route.form == "json_object"


def test_a_servers_error_for_a_form_moves_on_once_the_next_one_works():
    failing = Behaviour.status(500, "Internal Server Error")
    with Server("json_object with schema", "plain", refusal=failing) as server:
        llm = client()
        routes = [ask(llm, asked(server)).route.form for _ in range(3)]
    assert routes == ["json_object with schema"] * 3
    # The better form is tried once more: the error might have been the server's own.
    assert server.forms == [*ORDER[:2], *ORDER[:2], ORDER[1]]


def test_a_servers_error_that_passes_does_not_cost_the_best_form():
    with Server("json_schema", "json_object with schema") as server:
        behaviours = iter([Behaviour.status(500)])
        server.behave = lambda received: next(behaviours, None)
        llm = client()
        routes = [ask(llm, asked(server)).route.form for _ in range(3)]
    assert routes == ["json_object with schema", "json_schema", "json_schema"]


def test_a_lasting_outage_is_no_refusal_of_a_form():
    with OpenAIServer(answer, behave=always(Behaviour.status(500))) as server:
        llm = client()
        for _ in range(3):
            with pytest.raises(LLMUnavailable):
                ask(llm, asked(server))
        assert server.requests == 9
        server.behave = None
        ask(llm, asked(server))
        assert ask(llm, asked(server)).route.form == "json_schema"


REFUSALS = WORDS["settings"]


@pytest.mark.parametrize("code", ["json_validate_failed", "tool_use_failed"])
def test_after_three_bad_outputs_the_next_form_is_tried_until_one_works(code, way):
    bad = Behaviour.status(400, "Failed to generate JSON.", code_name=code)
    with Server("plain", refusal=bad) as server:
        llm = client()
        replies = [ask(llm, asked(server)) for _ in range(14)]
    forms = [form for form in ORDER[:-1] for _ in range(3)]
    assert server.forms == [*forms, "plain", "plain"]
    assert [bool(reply.text) for reply in replies] == [False] * 12 + [True] * 2


def test_a_form_that_has_worked_is_kept_after_bad_outputs():
    bad = Behaviour.status(400, "No.", code_name="json_validate_failed")
    with Server("json_schema") as server:
        llm = client()
        ask(llm, asked(server))
        server.known, server.refusal = (), bad
        for _ in range(5):
            ask(llm, asked(server))
        assert server.forms == ["json_schema"] * 6


def test_a_setting_that_is_refused_is_left_out_from_then_on():
    for name, refusal in REFUSALS.items():
        values = {"temperature": 0.5, "seed": 7, "max_tokens": 300}
        with Server("json_schema", settings=[(name, refusal)]) as server:
            llm = client(**values)
            replies = [ask(llm, asked(server)) for _ in range(2)]
        assert [reply.attempts for reply in replies] == [2, 1]
        assert replies[1].route.without == (name,)
        for other in values.keys() - {name}:
            assert server.log[-1].body[other] == values[other]
        assert name not in server.log[-1].body


def test_the_newer_name_of_a_limit_is_taken():
    said = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead."
    )
    with Server("json_schema", settings=[("max_tokens", said)]) as server:
        llm = client(max_tokens=300)
        reply = [ask(llm, asked(server)) for _ in range(2)][1]
    assert reply.route.without == ()
    assert server.log[-1].body["max_completion_tokens"] == 300


def test_an_option_of_the_users_own_is_not_left_out():
    refusing = Server("json_schema", settings=[("seed", REFUSALS["seed"])])
    with refusing as server, pytest.raises(LLMRejected, match="seed"):
        ask(client(options={"seed": 7}), asked(server))


@pytest.mark.parametrize(
    "said", ["no such option", "This model's maximum context length is 10 tokens"]
)
def test_a_refusal_of_something_else_is_not_asked_again(said):
    with OpenAIServer(behave=always(Behaviour.status(400, said))) as server:
        with pytest.raises(LLMRejected):
            ask(client(), asked(server))
        assert server.requests == 1


def test_requests_at_once_are_refused_at_most_once_each_for_a_form():
    with Server("json_object") as server:
        replies = ask_all(client(), [asked(server)] * 20)
    assert {reply.route.form for reply in replies} == {"json_object"}
    assert max(reply.attempts for reply in replies) <= 3


def test_each_model_and_address_has_a_form_of_its_own():
    with Server("json_object") as one, Server("json_schema") as other:
        llm = client()
        forms = [ask(llm, asked(server)).route.form for server in (one, other, one)]
    assert forms == ["json_object", "json_schema", "json_object"]
