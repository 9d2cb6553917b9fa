"""Tests of retrieval: rankings, words, times, names."""
