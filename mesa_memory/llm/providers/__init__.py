"""Requests to servers of language models."""
