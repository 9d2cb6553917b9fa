"""Language models: one technology per file, no memory logic."""
