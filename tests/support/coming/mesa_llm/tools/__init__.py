"""Tools: what an agent may ask for while it thinks."""
