"""The memories: logic that yields effects and does no I/O."""

# First, as it says what to do where Mesa-LLM cannot be imported.
import mesa_memory.hosts.mesa_llm.agents  # noqa: F401
