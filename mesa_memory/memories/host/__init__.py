"""The host of layers: Mesa-LLM's protocol, reads, state and interventions."""
