"""Facts: statements with their evidence and speakers."""
