"""Rows of the story view."""
