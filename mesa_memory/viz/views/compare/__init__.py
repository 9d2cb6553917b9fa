"""The views that compare agents and runs."""
