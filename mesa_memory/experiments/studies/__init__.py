"""Studies: runs of a model with memory as a factor."""
