from pydantic import create_model

from mesa_memory import Layer, MemoryModule, Window
from mesa_memory.layers import Line
from mesa_memory.tasks import Task

FEEL = Task("temper", create_model("Feeling", mood=(str, ...)), system="You have moods.",
            prompt="You felt {before}. How do you feel now?".format_map,
            offline=lambda inputs: {"mood": "calm"})  # fmt: skip


class Mood(Layer):
    name, state, mood = "mood", ("mood",), None

    def remember(self, view):
        if view.now - (self.mood.step if self.mood else 0) >= 3:
            reply = yield from view.ask(FEEL, before=self.mood and self.mood.content)
            self.mood = self.revise(view, self.mood, "mood", {"text": reply.mood})

    def summary(self, view):
        known = [self.mood] if self.mood else []
        return [Line(f"I feel {mood.content['text']}.", (mood,)) for mood in known]


class MoodMemory(MemoryModule):
    def __init__(self, agent):
        super().__init__(agent, layers=[Window(5), Mood()])
