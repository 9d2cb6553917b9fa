"""Tests of what memories remember, forget, show and cost."""
