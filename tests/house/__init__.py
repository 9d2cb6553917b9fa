"""Tests of how the code is laid out: one rule a file, each with its known exceptions."""
