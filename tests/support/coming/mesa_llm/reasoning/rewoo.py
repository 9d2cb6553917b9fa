"""Where this reasoning is imported from."""

from mesa_llm.reasoning.reasoning import ReWOOReasoning

__all__ = ["ReWOOReasoning"]
