"""Experiments: draws, metrics, questionnaires."""
