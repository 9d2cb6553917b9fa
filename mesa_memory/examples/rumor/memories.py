"""The memories that can be compared, by name."""

from mesa_memory import MemoryModule


class NoMemory(MemoryModule):
    """Knows what has arrived since the agent's last step, and then forgets it."""

    layer = "none"

    def get_communication_history(self) -> str:
        """Nothing is kept."""
        return ""


#: known here besides the memories of the package and of installed ones
OWN = {"none": NoMemory}
