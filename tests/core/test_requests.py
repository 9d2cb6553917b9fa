"""A request's reply is read against its schema: once, whoever reads it first."""

import json

from pydantic import BaseModel

from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest, ask, run
from mesa_memory.core.text.replies import Unusable


class Mood(BaseModel):
    mood: str


REQUEST = LLMRequest("mood", 1, 2, "system", "prompt", Mood)
GOOD, BAD = (Reply(json.dumps({"mood": mood})) for mood in ("glad", "none"))


class Keeper:
    """Answers, and finds out before whether the answer can be used."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.accepted = []

    def perform(self, request):
        reply = self.replies.pop(0)
        try:
            request.accepts(reply)
        except Unusable:
            self.accepted.append(False)
        else:
            self.accepted.append(True)
        return reply


def asked(keeper):
    """What the flow returns, and the values that were checked."""
    checked = []

    def check(reply):
        checked.append(reply.mood)
        return reply.mood

    return run(ask(REQUEST, 100, check), keeper), checked


def test_a_reply_that_was_accepted_is_not_read_again():
    keeper = Keeper(GOOD)
    assert asked(keeper) == ("glad", ["glad"])
    assert keeper.accepted == [True]


def test_another_reply_than_the_accepted_one_is_read():
    class Other(Keeper):
        def perform(self, request):
            super().perform(request)
            return Reply(json.dumps({"mood": "sad"}))

    assert asked(Other(GOOD)) == ("sad", ["glad", "sad"])


def test_a_reply_that_was_not_accepted_is_asked_for_again():
    keeper = Keeper(BAD, GOOD)
    assert asked(keeper) == ("glad", ["glad"])
    assert keeper.accepted == [False, True]
