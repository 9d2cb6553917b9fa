"""Rows of the spread view."""
