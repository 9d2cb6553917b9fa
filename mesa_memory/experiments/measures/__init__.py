"""Measures of memory and questionnaires."""
