"""What a layer needs to be tested alone: a view, and events."""

import numpy as np

from mesa_memory.core.journal import Journal, RecordBus
from mesa_memory.core.requests import Embedded
from mesa_memory.core.wording import ENGLISH
from mesa_memory.hosts.mesa_llm import Names, NamesNow
from mesa_memory.layers.view import Limits, StepView


class LayerRuntime:
    """Stands behind a layer in place of a memory; nobody is asked and nobody told."""

    embeds_here = False
    name = "none"  # of its embedder
    failures_allowed = 3
    wording = ENGLISH

    def __init__(self):
        self.bus, self.agent = RecordBus(), Owner()
        self.services = self.embedder = self
        self.memory, self.layers = self, ()
        self.journal, self.model_choice = Journal("test"), self
        self.journal.join(self.bus)

    def target(self, purpose=""):
        return "test/model", None

    def system_for(self, task, inputs):
        return task.system(inputs)

    def user_llm(self):
        return None

    def records(self):
        return []

    def pending(self):
        return []

    def view(self):
        names = NamesNow(Names.of(self.agent.model))
        now = self.agent.model.steps
        facts = self.agent, now, names, self.wording, self, Limits()
        return StepView(self, *facts, self.journal)

    def embed(self, texts):
        return Embedded(np.array([[1.0, 0.0] for _ in texts]), self.name)

    def note_language(self, language):
        self.language = language

    def say_once(self, text, *parts):
        self.said = text % parts


class Clock:
    """A model of which only the clock is read."""

    steps = 0
    time = 0.0
    agents = ()


class Owner:
    """An agent of which only the id and the clock are read."""

    unique_id = 1

    def __init__(self):
        self.model = Clock()


def joined(layer):
    """The layer, as a part of a memory."""
    layer.join(LayerRuntime())
    return layer


def happens(layers, *texts):
    """One step in which these messages are heard; their records."""
    layers[0].memory.agent.model.steps += 1
    view = layers[0].memory.view()
    events = [view.open("message", {"message": text, "sender": 2}) for text in texts]
    for layer in layers:
        layer.admit(view, view.now, events)
    return events
