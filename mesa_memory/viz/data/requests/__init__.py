"""Rows of the views of requests and cost."""
