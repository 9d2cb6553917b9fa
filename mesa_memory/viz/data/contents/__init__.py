"""Rows of the views of facts, impressions, chapters and evidence."""
