"""The story view."""
