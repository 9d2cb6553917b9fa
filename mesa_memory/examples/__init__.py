"""Example models, in Mesa's layout."""
