"""What a request used: in the ledger of its run, and in the run's record."""

from typing import TYPE_CHECKING, Any

from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.llm.cost.ledger import Reservation

if TYPE_CHECKING:
    from mesa_memory.runtime.services import Services


class Accounted:
    """One request for which there is a budget, and which is about to be answered.

    Args:
        services: of the run.
        client: who answers the request.
        set_aside: for it, in the ledger.
    """

    def __init__(
        self,
        services: "Services",
        request: LLMRequest,
        client: Any,
        set_aside: Reservation,
    ) -> None:
        self._services, self._recorder = services, services.recorder
        self._request, self._client, self._set_aside = request, client, set_aside
        self._turn = self._recorder.began(request) if self._recorder else ()

    def ended(self, reply: Reply | None, error: BaseException | None = None) -> None:
        """It was answered, or failed: then there is no reply."""
        services, request, client = self._services, self._request, self._client
        services.settle(request, client, self._set_aside, reply, error)
        if self._recorder:
            self._recorder.called(
                *(request, self._turn, reply, error, client is services.replay),
                live=services.live_answer(client),
            )
