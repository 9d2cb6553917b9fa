"""Mesa-LLM's names that are private or move between versions."""
