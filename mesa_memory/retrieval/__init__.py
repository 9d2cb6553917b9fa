"""Which records come to mind, in which order, and why."""
