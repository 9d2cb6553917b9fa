"""The views of facts, impressions, chapters and evidence."""
