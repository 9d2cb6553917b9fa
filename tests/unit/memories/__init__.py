"""Tests of single layers: ``next`` and ``send``, no memory, no model, no thread."""
