"""Cached answers of language models."""
