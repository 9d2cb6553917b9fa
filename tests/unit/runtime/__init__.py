"""Tests of the runtime: flows, handlers, reasoning."""
