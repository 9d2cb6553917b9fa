"""The memories of the market's own, besides the package's."""

from mesa_memory import MemoryModule


class BlankMemory(MemoryModule):
    """Shows nothing: the base that the other memories are compared with."""

    def get_prompt_ready(self) -> str:
        """Nothing."""
        return ""

    def format_short_term(self) -> str:
        """Nothing."""
        return ""

    def get_communication_history(self) -> str:
        """Nothing."""
        return ""


OWN = {"none": BlankMemory}
