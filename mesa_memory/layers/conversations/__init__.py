"""Conversations: turns under way, and summaries of those that are over."""
