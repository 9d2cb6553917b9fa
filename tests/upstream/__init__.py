"""Mesa-LLM's own tests, run against this package's memories."""
