"""The recall view."""
