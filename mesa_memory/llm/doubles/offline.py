"""No language model at all: every task answered by deterministic text processing.

Each task brings its own answer, see ``tasks``. It reads the request's structured inputs,
never the prompt's prose, so it makes large runs, teaching and ablations free, and it is
an honest experimental arm.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from mesa_memory.core.content import count_tokens, one_line, plain
from mesa_memory.core.requests import ChatRequest, LLMRequest, Reply
from mesa_memory.errors import LLMRejected
from mesa_memory.llm.doubles.generic import EMPTY_ANSWER, generic, last_text
from mesa_memory.llm.doubles.policy import PROVIDER as OFFLINE
from mesa_memory.llm.doubles.policy import PolicyInput, answer
from mesa_memory.tasks import find


class OfflineLLM:
    """Answers every task by its own ``offline``, and reasoning by policy.

    A task without one, and a request of no task, is answered from its schema and
    inputs, see ``generic``.

    Args:
        answers: purpose -> function of the request's ``inputs`` that gives the fields
            of the reply, or its text; in place of the task's own.

    Example:
        >>> llm = OfflineLLM({"mood": lambda inputs: {"mood": "calm"}})
    """

    instant = True
    #: a subclass may have an ``__init__`` of its own
    _answers: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {}

    def __init__(
        self, answers: Mapping[str, Callable[[Mapping[str, Any]], Any]] | None = None
    ) -> None:
        self._answers = dict(answers or {})

    def complete(self, request: LLMRequest) -> Reply:
        """The answer, the same in every process.

        Raises:
            LLMRejected: if no answer to a task of the user's own can be made.
        """
        if isinstance(request, ChatRequest):
            return self._reason(request)
        task = find(request.purpose)
        own = self._answers.get(request.purpose)
        think = own or (None if task is None else task.offline)
        if think is None:
            return self._made(request)
        given = think(request.inputs)
        if not isinstance(given, str):
            given = json.dumps(given, ensure_ascii=False)
        return _reply(request, given)

    async def acomplete(self, request: LLMRequest) -> Reply:
        """``complete``, for event loops."""
        return self.complete(request)

    def _made(self, request: LLMRequest) -> Reply:
        """An answer that is made from the schema and the inputs."""
        given = {k: v for k, v in request.inputs.items() if k != "wording"}
        if request.schema is None:
            return _reply(request, last_text(plain(given)) or EMPTY_ANSWER)
        try:
            made = generic(request.schema, given)
        except ValueError as error:
            raise LLMRejected(
                f"the offline model finds no answer to {request.purpose!r} that "
                f"{request.schema.__name__} accepts ({one_line(str(error))}). Give one: "
                f"Task({request.purpose!r}, …, offline=function), or for one run "
                f"configure(model, llm=OfflineLLM({{{request.purpose!r}: function}})), "
                "where the function takes the request's inputs and returns the fields",
                purpose=request.purpose,
                agent=request.agent,
                step=request.step,
            ) from error
        return _reply(request, json.dumps(made, ensure_ascii=False))

    def _reason(self, request: LLMRequest) -> Reply:
        turn = PolicyInput.of(request.messages(), request.arguments)
        name = (request.model or "").partition("/")[2]
        response = answer(name, turn)
        content = response.choices[0].message.content
        reply = _reply(request, content, f"{OFFLINE}/{name}")
        return Reply(**{**vars(reply), "raw": response})


def _reply(request: LLMRequest, text: str | None, model: str = OFFLINE) -> Reply:
    prompt = sum(count_tokens(m["content"] or "") for m in request.messages())
    return Reply(text, model, prompt, count_tokens(text or ""), cost=0.0)


#: the words for the offline model in a text for people
RULES = "the offline rules of mesa-memory"


def advice(*answerers: str) -> str:
    """The page to read if nothing came of the answers; empty if no rules gave them."""
    if RULES not in answerers:
        return ""
    return (
        " The page 'What the offline model reads' (docs/guide/offline.md) lists sentences "
        "that they understand."
    )


def answerer(model: str) -> str:
    """The words for a model in a methods text; rules and policies are told apart."""
    if model == OFFLINE:
        return RULES
    return f"the policy {model}" if model.startswith(f"{OFFLINE}/") else model
