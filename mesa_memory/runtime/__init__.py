"""The wiring: performs the requests of memories, in order of the steps."""
