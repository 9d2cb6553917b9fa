"""Serves pages and feeds them with new steps."""
