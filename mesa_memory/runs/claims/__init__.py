"""The sentences of a text that state another one: by names, roles, negations, meaning."""
