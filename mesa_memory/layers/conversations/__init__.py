"""Conversations: turns under way, and summaries of the ones that are over."""
