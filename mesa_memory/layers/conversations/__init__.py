"""Conversations: turns under way, and summaries of finished ones."""
