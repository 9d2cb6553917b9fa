"""The attempts to get one model's reply to one request."""

from mesa_memory.core.requests import LLMRequest, Route
from mesa_memory.core.text.addresses import server_address
from mesa_memory.llm.providers.deadline import Patience


class RequestAttempts:
    """The attempts to get the reply of one model to one request.

    Attributes:
        place: the model, and its address if that is not the usual one.
        patience: the time that is left.
        attempts: the number of attempts begun.
        more: requests sent again at once, as the server refused their form.
        refused: True if the server had too much to do at the last attempt.
        route: the way that the answered attempt went.

    Raises:
        ValueError: if the address cannot be one.
    """

    attempts, more, refused = 0, 0, False
    route = Route("")

    def __init__(self, model: str, request: LLMRequest, deadline: float) -> None:
        base, asked = request.api_base, request.model or ""
        base = server_address(base) if base else None
        # A fallback of another provider has an address of its own.
        if model != asked and model.partition("/")[0] != asked.partition("/")[0]:
            base = None
        self.place, self.request = (model, base), request
        self.patience = Patience(deadline)

    @property
    def model(self) -> str:
        """The request's own, or a fallback."""
        return self.place[0]

    @property
    def requests(self) -> int:
        """The number of requests sent so far."""
        return self.attempts + self.more
