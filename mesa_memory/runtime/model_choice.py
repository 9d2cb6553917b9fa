"""The language model that a memory asks, by Mesa-LLM's arguments and the run's services."""

from typing import Any

from mesa_memory.core.text.redaction import cause
from mesa_memory.errors import LLMRejected
from mesa_memory.hosts.mesa_llm import own_llm
from mesa_memory.llm.doubles import override as overrides
from mesa_memory.llm.doubles.offline import advice, answerer
from mesa_memory.llm.tokens import count_tokens
from mesa_memory.runtime import reasoning  # noqa: F401, stands between agents and LLMs


class ModelChoice:
    """Chooses the model for each request of one memory.

    Args:
        memory: the memory; its agent and its services are asked for anew each time.

    Attributes:
        model_name, api_base: the memory's own, as given; None asks the agent's.
    """

    model_name: str | None = None
    api_base: str | None = None
    _llm: Any = None

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    @property
    def llm(self) -> Any:
        """Mesa-LLM's llm object of this memory."""
        if self._llm is None:
            model, own = self.target()[0], own_llm(self.memory.agent)
            self._llm = self.module_llm(model) if model else own
        return self._llm

    @llm.setter
    def llm(self, llm: Any) -> None:
        self._llm = llm

    def module_llm(self, model: str) -> Any:
        """Mesa-LLM's llm object for a model; checks its name and its key."""
        llm = overrides.module_llm(model, self.target()[1])
        llm.system_prompt = getattr(self.memory, "system_prompt", None)
        return llm

    def set_own(self, name: str | None, api_base: str | None) -> None:
        """Takes the model and the address that the memory was given, if any.

        Raises:
            ValueError: if the name is not ``provider/model`` or its key is missing.
        """
        self.model_name, self.api_base = name, api_base
        services = self.memory.services  # from now on the model's steps are guarded
        if name and services.llm is None:
            self._llm = self.module_llm(name)

    def target(self, purpose: str = "") -> tuple[str | None, str | None]:
        """The model that is asked for a purpose, and the address of its provider."""
        services = self.memory.services
        if own := services.models.get(purpose):
            usual, base = self.target()
            there = own.partition("/")[0] == (usual or "").partition("/")[0]
            return own, base if there else None
        if chosen := self.model_name or services.model:
            return chosen, self.api_base
        agents = own_llm(self.memory.agent)
        name = getattr(agents, "llm_model", None)
        base = getattr(agents, "api_base", None)
        base = self.api_base or (base if isinstance(base, str) else None)
        return name if isinstance(name, str) else None, base

    def user_llm(self) -> overrides.LLMOverride | None:
        """The user's override of Mesa-LLM's llm object; None without one."""
        services = self.memory.services
        if services.replay is not None or services.offline_for_all:
            return None
        offline = services.llm or (self.target()[0] or "").startswith("offline/")
        if self._llm is None and offline:  # so the user did not override it
            return None
        try:
            return overrides.override(self.llm)
        except ValueError as error:  # no such provider, or no key
            agent, step = self.memory.agent.unique_id, self.memory.view().now
            where = {"purpose": "connect", "agent": agent, "step": step}
            raise LLMRejected(str(error), **where) from cause(error)

    def asks_instantly(self) -> bool:
        """True if requests are answered without waiting."""
        has_own = self.user_llm() is not None
        instant: bool = self.memory.services.instant(self.target()[0], has_own)
        return instant

    def count_tokens(self, text: str) -> int:
        """The tokens of a text for the model that is asked; see ``llm.tokens``."""
        return count_tokens(text, self.target()[0])

    def answered_by(self, purpose: str) -> str:
        """A sentence's end: who has answered requests of a purpose; and what to do."""
        known = self.memory.services.ledger.by("purpose", "model")
        found = [answerer(model) for name, model in known if name == purpose]
        return f"{' and '.join(found)}.{advice(*found)}"
