"""Tests of single modules: ``next`` and ``send``, no model, no thread."""
