"""How much of a prompt a provider can read from its cache, and what that is worth.

    python -m benchmarks.prefixes [--people 12] [--steps 24] [--json]

The offline example, the town of the rumour, with people who plan by Mesa-LLM's CoT or
ReAct: its own prompts are shorter than the 1,024 tokens below which nobody caches, so
they also get rules of the town and tools. Counted are the tokens (of OpenAI's
``cl100k_base``) of all requests with which an agent plans or acts that have 1,024 or
more, and of them those that lie in a prefix identical to that of the same request a step
before; tools come first, as providers read them. *Settled* are requests between which no
summary changed and no block of steps left the window. Beside it Mesa-LLM's order.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import litellm
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.reasoning import Observation

from benchmarks.tables import show
from mesa_memory import arrange_prompts, configure, register_policy
from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest
from mesa_memory.examples.rumor import conversation
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.llm import ToolCall
from mesa_memory.llm.doubles.offline import OfflineLLM
from mesa_memory.llm.doubles.policy import PolicyInput

MEMORIES = ("short_term", "stlt", "long_term", "episodic", "impression")
REASONING = {"CoT": CoTReasoning, "ReAct": ReActReasoning}
#: shorter prompts are not cached
LEAST = 1024

RULES = """
The town lies in a valley between two hills, and has a market square, a mill, a smithy, a
tavern, a school, a church with a tower, and some forty houses along three streets. The
river comes from the northern hill, passes the mill, and leaves the town under the old
bridge. Most people draw their water from the well on the market square; those by the
river have pumps of their own. There is no doctor nearer than a day's ride.

A step is a day. People work in the morning: the miller grinds, the smith shoes horses,
farmers are in the fields, the teacher is at the school. At noon they eat at home. In the
afternoon they meet one neighbour, talk, and go home before the tower clock strikes nine.
On Saturdays there is a market, to which farmers of the villages around bring bread,
salt, cloth, geese and news. On Sundays nobody works. Once a year, at the end of harvest,
there is a supper in the long hall for everybody.

How people talk here. They greet each other by name. They tell what they have seen with
their own eyes as something they have seen, and what they were told as something they
were told, and by whom, and on which day. They do not make things up, and do not repeat
a tale as the truth when they know that it was denied. Somebody who learns that what he
told was wrong says so to those whom he told it. News is worth telling for about ten
days; after that it is old. Where there is no news they talk about the weather, the
harvest, the price of salt, the children, or the geese. Nobody speaks for longer than two
sentences at a time, and nobody shouts. What is told in confidence is not passed on.

What the town has agreed on. Water is shared, and whoever finds that something is wrong
with it tells the mayor at once. Whoever breaks something mends it. Debts are paid at the
end of harvest. A promise that was made before a witness holds. Strangers may stay for
three nights at the tavern, and are asked where they come from and what they have heard.
Quarrels are brought before the mayor, who hears both sides on the next Monday. The
bridge is closed to carts after heavy rain, until the carpenter has looked at it.

What to weigh. Your health and that of your family come first, then that of your
neighbours, then your work. A warning that may be true is worth more than small talk. An
account of somebody who was there is worth more than one that has passed through many
mouths; three people who were told by the same person are one witness, not three. If two
accounts contradict each other, the one that names who tested what, and when, is worth
more. It is no shame to say that you do not know.

How to plan. Say first what is new today, then what you remember of it, then what you
could do and what might come of it. Choose one thing to do. You may speak to the person
whom you meet; all other people are too far away. If there is nothing worth saying, keep
silent and go on with your work.
""".strip()


class Planner(Townsperson):
    """Plans what to say to a neighbour, and says it with a tool."""

    reasoning_class: Any = CoTReasoning
    block: int | None = 5

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.reasoning = self.reasoning_class(self)
        self.system_prompt = f"{self.system_prompt}\n\n{RULES}"
        arrange_prompts(self, self.block)

    def step(self) -> None:
        """Meets a random neighbour, looks around, plans and acts."""
        other = self.random.choice(list(self.cell.neighborhood.agents))
        seen = {f"Agent {other.unique_id}": "met"}
        self.memory.add_to_memory("observation", {"local_state": seen})
        day = self.model.steps
        prompt = f"It is day {day}. You meet Agent {other.unique_id}. What do you do?"
        own = {"agent_unique_id": self.unique_id, "day": day}
        self.apply_plan(self.reasoning.plan(prompt, Observation(day, own, seen)))


class PlanningTown(RumorModel):
    """The town, with people who plan."""

    person = Planner


def planned(turn: PolicyInput) -> Any:
    """What a person says, worked out as in the example: thought first, then done."""
    if "speak_to" in turn.tools:
        who, _, words = turn.prompt.rpartition("Say to Agent ")[2].partition(": ")
        given = {"listener_agents_unique_ids": [int(who)], "message": words.strip()}
        return [ToolCall("speak_to", given)]
    text = f"{turn.system}\n{turn.prompt}"
    day, other = text.rpartition("It is day ")[2].split(". You meet Agent ")
    situation = f"It is day {day}. You meet Agent {other.partition('.')[0]}."
    me = text.partition("You are Agent ")[2].partition(",")[0]
    asked = conversation.prompt(int(day), other.partition(".")[0], text)
    words = conversation.reply(PolicyInput(f"You are Agent {me},", asked))
    thought = f"{situation} I remember what I was told and weigh who said it."
    said = f"Say to Agent {other.partition('.')[0]}: {words}"
    if turn.fields:
        return {"reasoning": thought, "action": said}
    return f"Thought 1: {thought}\nThought 4: I say what is new.\nAction: {said}"


class Keeping(OfflineLLM):
    """Answers offline, and keeps the requests with which people reason."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[Any, dict[float, list[LLMRequest]]] = defaultdict(dict)

    def complete(self, request: LLMRequest) -> Reply:
        """See ``OfflineLLM``."""
        if request.purpose == "reasoning":
            of_step = self.kept[request.agent].setdefault(request.step, [])
            of_step.append(request)
        return super().complete(request)


def lived(
    memory: str, reasoning: str, block: int | None, people: int, steps: int
) -> tuple[Keeping, dict[tuple[Any, float], Any]]:
    """The requests of a run; and for each agent and step what was settled before it."""
    Planner.reasoning_class, Planner.block = REASONING[reasoning], block
    town = PlanningTown(people, memory, correction_step=5, rng=1)
    client = Keeping()
    configure(town, llm=client)
    model = register_policy("planner", planned)
    for person in town.agents:
        person.llm.llm_model = model
    known = {}
    for _ in range(steps):
        for person in town.agents:
            known[person.unique_id, town.steps + 1] = settled_by(person.memory)
        town.step()
    return client, known


def settled_by(memory: Any) -> Any:
    """What stays the same as long as nothing is consolidated and no block leaves."""
    summary = getattr(memory, "long_term_memory", None)
    with memory.peek(), memory.cache_layout():
        recent = memory.format_short_term().partition("\n")[0]
    window = getattr(memory, "short_term_memory", None)
    return summary, recent if window else None


@cache
def tokens_of(text: str) -> tuple[int, ...]:
    """A text's tokens."""
    return tuple(litellm.encode(model="gpt-4", text=text))


def tokens(request: LLMRequest) -> list[int]:
    """A request's tokens in the order in which providers read it."""
    given = request.arguments
    form = given.get("response_format")
    schema = form.model_json_schema() if hasattr(form, "model_json_schema") else form
    parts = [json.dumps(given.get("tools") or []), json.dumps(schema or {})]
    parts += [f"<{m['role']}>{m.get('content') or ''}" for m in request.messages()]
    return [token for part in parts for token in tokens_of(part)]


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens of the beginning are the same."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


def shares(client: Keeping, known: dict[tuple[Any, float], Any]) -> dict[str, int]:
    """Tokens of long requests, and those in a known prefix: of all, and of settled."""
    sums = dict.fromkeys(("requests", "all", "known", "settled", "settled_known"), 0)
    for agent, steps in client.kept.items():
        for before, after in pairwise(sorted(steps)):
            for old, new in zip(steps[before], steps[after], strict=False):
                now = tokens(new)
                if len(now) < LEAST:
                    continue
                same = common(tokens(old), now)
                sums["requests"] += 1
                sums["all"] += len(now)
                sums["known"] += same
                if known[agent, before] == known[agent, after]:
                    sums["settled"] += len(now)
                    sums["settled_known"] += same
    return sums


def measured(people: int, steps: int) -> list[dict[str, Any]]:
    """A row for each memory and reasoning, and one for all of them."""
    rows: list[dict[str, Any]] = []
    total: dict[tuple[str, str, str], int] = defaultdict(int)
    for memory in MEMORIES:
        for reasoning in REASONING:
            theirs = shares(*lived(memory, reasoning, None, people, steps))
            ours = shares(*lived(memory, reasoning, 5, people, steps))
            for name, sums in (("theirs", theirs), ("ours", ours)):
                for key, value in sums.items():
                    total["all", name, key] += value
                    if memory != "episodic":  # it never consolidates
                        total["all but episodic", name, key] += value
            rows.append(row(memory, reasoning, theirs, ours))
    for which in ("all", "all but episodic"):
        both = [{k: total[which, n, k] for k in ours} for n in ("theirs", "ours")]
        rows.append(row(which, "", *both))
    return rows


def row(
    memory: str, reasoning: str, theirs: dict[str, int], ours: dict[str, int]
) -> dict[str, Any]:
    """One row of the table, in percent."""

    def share(sums: dict[str, int], part: str, whole: str) -> float:
        return 100 * sums[part] / sums[whole] if sums[whole] else float("nan")

    return {
        "memory": memory,
        "reasoning": reasoning,
        "requests": ours["requests"],
        "tokens": ours["all"] / max(1, ours["requests"]),
        "Mesa-LLM's_order_%": share(theirs, "known", "all"),
        "laid_out_%": share(ours, "known", "all"),
        "settled_%": share(ours, "settled_known", "settled"),
        "settled_of_all_%": share(ours, "settled", "all"),
    }


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measured(options.people, options.steps)
    if options.json:
        print(json.dumps(rows))
    else:
        show("Tokens in a prefix known from the step before, in percent", rows, 1)


if __name__ == "__main__":
    main()
