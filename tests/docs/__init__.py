"""Tests that documentation, examples and benchmarks are true."""
