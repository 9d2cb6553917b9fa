"""Tests with failing providers, bad input, and Mesa-LLM's known defects."""
