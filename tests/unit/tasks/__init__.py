"""Tests of tasks: requests, checks and answers without a model, by ``next`` and ``send``."""
