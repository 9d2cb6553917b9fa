"""Texts of models and people: secrets, addresses, names, and models' replies."""
