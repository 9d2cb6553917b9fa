"""The forms in which a server takes a schema, learned once per address and model.

Servers take different forms of the same wish, and refuse some settings. A refusal that
names one of them, or may be about it, is answered by asking at once without it, or in
the next form; what works is remembered. llama.cpp's server says 500 to a form that it
does not know: the next attempt then takes the next form, which stays if it works.
"""

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from mesa_memory.core.fault_table import BAD_OUTPUT, BUSY, NAMED, REFUSED
from mesa_memory.core.requests import Route
from mesa_memory.hosts.provider_faults import fault_of, outcome
from mesa_memory.llm.schemas import json_schema, schema_of

#: the forms in which a reply by a schema is asked for, best first
FORMS = ("json_schema", "json_object with schema", "json_object", "tools", "plain")
PLAIN = FORMS[-1]
#: HTTP states with which servers refuse what they do not know
_REFUSED = (400, 404, 405, 415, 422, 501)
#: settings that can be left out
_SETTINGS = ("temperature", "seed", "max_tokens")
_OTHER_LIMIT = "max_completion_tokens"
#: replies in a row in which a model does not manage a form that has never worked
MAX_BAD_OUTPUTS = 3
#: the function that a model calls with its reply, in the form of tools
REPLY_TOOL = "reply"


class FormPlan(NamedTuple):
    """The form and settings of one request.

    Attributes:
        route: recorded in the ledger.
        schema: of the reply; None asks for any text.
        version: of the knowledge about the server.
        renamed: True if the server calls ``max_tokens`` by its newer name.
    """

    route: Route
    schema: type[BaseModel] | None
    version: int
    renamed: bool

    def arguments(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments beside the messages: accepted settings, and the form."""
        sent = {k: v for k, v in settings.items() if k not in self.route.without}
        if self.renamed and "max_tokens" in sent:
            sent[_OTHER_LIMIT] = sent.pop("max_tokens")
        return sent if self.schema is None else sent | asking(self.schema, self.form)

    @property
    def form(self) -> str:
        """One of ``FORMS``."""
        return self.route.form


class OutputFormat:
    """The forms and settings that one model at one address takes.

    Requests under way together may get the same refusal. A request that is refused
    after something new became known is sent again in the form known by then.

    Args:
        first: the form to begin with.
    """

    def __init__(self, first: str = FORMS[0]) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._form = FORMS.index(first)
        self._proven = False  # the form has been answered
        self._bad_outputs = 0  # in a row, in a form that is not proven
        self._trial: int | None = None  # another form, tried since a server's error
        self._again: int | None = None  # the form before it, to be tried once more
        self._without: tuple[str, ...] = ()
        self._renamed = False  # max_tokens has another name here

    def plan(self, client: str, schema: type[BaseModel] | None) -> FormPlan:
        """The form and settings of the next request."""
        with self._lock:
            form = self._form if self._trial is None else self._trial
            if schema is None:
                form = len(FORMS) - 1
            elif self._again is not None:
                form, self._again = self._again, None
            route = Route(client, FORMS[form], self._without)
            return FormPlan(route, schema, self._version, self._renamed)

    def answered(self, plan: FormPlan) -> None:
        """A request with this plan was answered."""
        if plan.schema is None:
            return
        form = FORMS.index(plan.form)
        with self._lock:
            if form == self._trial:
                # The server may have failed, not the form: one more request tries the
                # better form.
                self._again, self._trial = self._form, None
                self._form, self._proven = form, True
            elif form <= self._form:
                self._form, self._proven, self._trial = form, True, None

    def refused(
        self, plan: FormPlan, settings: Mapping[str, Any], error: Exception
    ) -> bool:
        """True if the request should be sent at once in another way.

        Args:
            settings: what it was to be sent with, by the names of ``LLMSettings``.
        """
        decided = outcome(error)
        if decided == BAD_OUTPUT:
            self._spoiled(plan)
        if decided not in (REFUSED, BUSY):
            return False
        status = getattr(error, "status_code", None)
        said = fault_of(error).said
        form, structured = FORMS.index(plan.form), plan.schema is not None
        with self._lock:
            if status == 500 and structured:
                return self._failed(form)
            if status not in _REFUSED:
                return False
            if plan.version != self._version:
                return True
            sent = [n for n in _SETTINGS if n in settings and n not in self._without]
            named = [name for name in sent if NAMED[name].search(said)]
            if named:
                self._leave_out(named, said)
            elif structured and plan.form != PLAIN and _about(plan.form, said):
                self._next(form)
            elif sent and NAMED["unknown"].search(said):
                self._leave_out(sent, said)
            else:
                return False
            self._version += 1
            return True

    def _failed(self, form: int) -> bool:
        """After a server's error: the next attempt is in the next form, the last once."""
        if form < self._form:  # the better form was tried once more, in vain
            return True
        if not self._proven:
            following = form + 1
            self._trial = following if following < len(FORMS) else None
        return False

    def _spoiled(self, plan: FormPlan) -> None:
        """The server says that its model's reply is not in this form."""
        with self._lock:
            current = plan.schema is not None and plan.form == FORMS[self._form]
            if self._proven or not current or plan.form == PLAIN:
                return
            self._bad_outputs += 1
            if self._bad_outputs == MAX_BAD_OUTPUTS:
                self._next(self._form)
                self._version += 1

    def _next(self, form: int) -> None:
        self._bad_outputs = 0
        if form == self._trial:
            self._trial = form + 1
        elif form == self._form:
            self._form, self._proven, self._trial = form + 1, False, None

    def _leave_out(self, names: list[str], said: str) -> None:
        if "max_tokens" in names and not self._renamed and _OTHER_LIMIT in said:
            self._renamed = True
            names = [name for name in names if name != "max_tokens"]
        self._without = tuple(sorted({*self._without, *names}))


def _about(form: str, said: str) -> bool:
    """True if a refusal names the form, or something that it does not name."""
    named = NAMED["tools" if form == "tools" else "form"]
    return bool(named.search(said) or NAMED["unknown"].search(said))


def asking(kind: type[BaseModel], form: str) -> dict[str, Any]:
    """The arguments that ask for a reply of a class in one of ``FORMS``."""
    if form == "json_schema":
        return {"response_format": json_schema(kind)}
    if form == "json_object with schema":
        wanted = {"type": "json_object", "schema": schema_of(kind)}
        return {"response_format": wanted}
    if form == "json_object":
        return {"response_format": {"type": "json_object"}}
    if form == "tools":
        function = {
            "name": REPLY_TOOL,
            "description": "Gives the reply.",
            "parameters": schema_of(kind),
        }
        chosen = {"type": "function", "function": {"name": REPLY_TOOL}}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": chosen,
        }
    return {}
