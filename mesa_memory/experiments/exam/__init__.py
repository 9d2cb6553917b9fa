"""The exam of memories: a life made for the purpose, with items whose truth is known."""
