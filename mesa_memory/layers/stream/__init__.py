"""The memory stream: events with importance, recall and reflection."""
