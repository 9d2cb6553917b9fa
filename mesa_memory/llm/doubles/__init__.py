"""Answers without a provider: offline, scripted, replayed, or by a policy."""
