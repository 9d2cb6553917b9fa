"""The memory that an agent is made with."""

from mesa_llm.memory.memory import Memory


class STLTMemory(Memory):
    def get_prompt_ready(self):
        return f"Events: {self.step_content}"

    def get_communication_history(self):
        return ""

    def process_step(self, pre_step=False):
        pass
