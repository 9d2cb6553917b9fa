"""Tests of the dashboard: data, views, pages in a browser."""
