"""The tools of one agent."""

import json


class ToolManager:
    """Bare it has no tools; all of a process stand in one list."""

    instances = []

    def __init__(self, tools=None):
        ToolManager.instances.append(self)
        self.tools = {}
        for each in tools or ():
            self.register(each)

    def register(self, fn):
        self.tools[fn.__name__] = fn

    def get_tools_schema(self, tools=None):
        """None means all here, as no call of this stand-in selects none."""
        named = self.tools.values() if tools is None else tools
        return [fn.__tool_schema__ for fn in named]

    def call_tools(self, agent, llm_response):
        answers = []
        for call in llm_response.tool_calls or ():
            name, arguments = call.function.name, json.loads(call.function.arguments)
            answer = self.tools[name](agent=agent, **arguments)
            told = {"tool_call_id": call.id, "role": "tool", "name": name}
            answers.append({**told, "response": str(answer)})
        return answers
