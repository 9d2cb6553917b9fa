"""Estimates of calls, tokens and cost."""
