"""Tells where ``Study`` is.

``from mesa_memory import Study`` looks for a module when the package has no such name, and
would replace the message of an AttributeError by its own.
"""

raise ImportError("write from mesa_memory.experiments import Study")
