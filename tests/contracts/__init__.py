"""Tests that every backend of a kind must pass."""
