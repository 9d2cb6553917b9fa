"""Where this reasoning is imported from."""

from mesa_llm.reasoning.reasoning import CoTReasoning

__all__ = ["CoTReasoning"]
