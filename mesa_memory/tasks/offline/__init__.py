"""Text processing for tasks that no model answers."""
