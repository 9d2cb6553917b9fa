"""Tests of core: data and logic alone."""
