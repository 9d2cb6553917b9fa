"""Layers: the parts of a memory. They need neither services, models nor stores."""
