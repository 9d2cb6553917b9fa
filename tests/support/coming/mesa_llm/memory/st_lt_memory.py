"""The memory that an agent is made with."""

from mesa_llm.memory.memory import Memory


class STLTMemory(Memory):
    def __init__(self, agent, llm_model=None, fallback_model=None, max_retries=5):
        super().__init__(agent, llm_model)
        self.fallback_model, self.max_retries = fallback_model, max_retries

    def get_prompt_ready(self):
        return f"Events: {self.step_content}"

    def get_communication_history(self):
        return ""

    def process_step(self, pre_step=False):
        pass
