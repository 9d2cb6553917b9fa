"""Where this reasoning is imported from."""

from mesa_llm.reasoning.reasoning import ReActReasoning

__all__ = ["ReActReasoning"]
