"""The views of requests, budgets and cost."""
