"""Example models, in Mesa's layout."""

#: names for ``mesa-memory batch``
EXAMPLES = ("rumor",)
