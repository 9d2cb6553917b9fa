"""A memory of a third party: statements count less from speakers who were often wrong."""

from pydantic import BaseModel, Field

from mesa_memory import Layer, LayeredMemory, Window
from mesa_memory.layers import Line
from mesa_memory.tasks import Task


class Verdict(BaseModel):
    contradicted: list[int] = Field(description="numbers of the statements ruled out")


def words(text):
    return {word.strip(".!?").lower() for word in text.split() if len(word) > 3}


def ruled_out(inputs):
    """Without a model, "no bridge here" rules out a statement about a bridge."""
    seen = [words(line) for line in inputs["seen"] if " no " in line]
    said = enumerate((words(line) for line in inputs["statements"]), 1)
    return {"contradicted": [n for n, line in said if any(line & o for o in seen)]}


def prompt(inputs):
    numbered = [f"{n}. {line}" for n, line in enumerate(inputs["statements"], 1)]
    return "\n".join(["Statements:", *numbered, "Observations:", *inputs["seen"]])


JUDGE = Task(
    "reliability",
    Verdict,
    system="You compare statements with observations. Reply with JSON only.",
    prompt=prompt,
    offline=ruled_out,
)


class Reliability(Layer):
    """Keeps the newest statements, and how often each speaker was wrong."""

    name, heading, volatility = "reliability", "Statements, and who makes them", 0.6
    state = ("statements", "seen", "said", "wrong")

    def __init__(self, most=10):
        self.most, self.statements, self.seen = most, [], []
        self.said, self.wrong = {}, {}

    def admit(self, view, step, events):
        for event in events:
            if event.kind == "observation":
                self.seen = [*self.seen, event]
            elif event.kind == "message" and event.subject is not None:
                speaker = event.content["sender"]
                if speaker != view.agent.unique_id:
                    self.statements = [*self.statements, event]
                    self.said[speaker] = self.said.get(speaker, 0) + 1

    def remember(self, view):
        while len(self.statements) > self.most:
            self.close(view, self.statements.pop(0), "evicted")
        if not (self.seen and self.statements):
            return
        shown = [self.line(view, event).text for event in self.statements]
        seen = [self.line(view, event).text for event in self.seen]
        reply = yield from view.ask(JUDGE, statements=shown, seen=seen)
        numbers = {n - 1 for n in reply.contradicted if 0 < n <= len(shown)}
        for event in [self.statements[n] for n in sorted(numbers)]:
            speaker = event.content["sender"]
            self.wrong[speaker] = self.wrong.get(speaker, 0) + 1
            self.statements.remove(event)
            self.close(view, event, "refused")
        for event in self.seen:
            self.close(view, event, "evicted")
        self.seen = []

    def summary(self, view):
        lines = []
        for event in self.statements:
            speaker = event.content["sender"]
            wrong, said = self.wrong.get(speaker, 0), self.said[speaker]
            note = f" ({view.names(speaker)} was wrong {wrong} of {said} times)"
            text = self.line(view, event).text + note * bool(wrong)
            lines.append(Line(text, (event,), event.step, rank=1 - wrong / said))
        return lines


class ReliabilityMemory(LayeredMemory):
    def __init__(self, agent):
        super().__init__(agent, layers=[Window(2), Reliability()], budget=1000)
