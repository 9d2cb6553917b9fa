"""The memories: logic that yields effects and does no I/O."""
