"""A market in which a good name is worth something, if anybody remembers it."""
