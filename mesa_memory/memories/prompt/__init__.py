"""A memory's prompt: sections within one budget of tokens."""
