"""Tests of recorded runs: written, resumed, replayed, read, changed."""
