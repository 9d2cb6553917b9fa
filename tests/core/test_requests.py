"""A request's reply is read against its schema."""

import json

from pydantic import BaseModel

from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest, ask, run


class Mood(BaseModel):
    mood: str


REQUEST = LLMRequest("mood", 1, 2, "system", "prompt", Mood)


class Swapping:
    """Finds out that an answer can be used, and gives another one."""

    def perform(self, request):
        glad, sad = (Reply(json.dumps({"mood": mood})) for mood in ("glad", "sad"))
        request.accepts(glad)
        return sad


def test_another_reply_than_the_accepted_one_is_read():
    assert run(ask(REQUEST, 100, lambda reply: reply.mood), Swapping()) == "sad"
