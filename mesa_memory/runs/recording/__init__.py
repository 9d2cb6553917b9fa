"""A run written down as it happens, gone on with, branched, and answered from."""
