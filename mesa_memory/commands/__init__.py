"""The commands that read recorded runs, one per file; ``cli`` puts them together."""
