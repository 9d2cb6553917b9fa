"""Rows of the views of requests, budgets and cost."""
