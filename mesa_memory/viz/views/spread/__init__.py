"""The spread view."""
