"""What a request used: in the ledger of its run, and in the run's record."""

from typing import TYPE_CHECKING, Any, Self

from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.llm.ledger import Reservation

if TYPE_CHECKING:
    from mesa_memory.runtime.services import Services


class Accounted:
    """Around one request for which there is a budget.

    Args:
        services: of the run.
        client: who answers the request.
        set_aside: for it, in the ledger.

    Attributes:
        reply: put here by whoever gets it.
    """

    reply: Reply

    def __init__(
        self,
        services: "Services",
        request: LLMRequest,
        client: Any,
        set_aside: Reservation,
    ) -> None:
        self._services, self._recorder = services, services.recorder
        self._request, self._client, self._set_aside = request, client, set_aside

    def __enter__(self) -> Self:
        recorder = self._recorder
        self._turn = recorder.began(self._request) if recorder else ()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        services, request, client = self._services, self._request, self._client
        reply = None if error else self.reply
        services.settle(request, client, self._set_aside, reply)
        if self._recorder:
            self._recorder.called(
                *(request, self._turn, reply, error, client is services.replay),
                live=services.live_answer(client),
            )
