"""Calls of arms that are forked from one beginning, against runs from the start.

    python -m benchmarks.prefix_once [--agents 12] [--steps 40] [--at 20] [--memory NAME,…]

They are a study in which the change is a factor.

The town of the rumour, once as it is and with three interventions after step ``--at``: a
false memory for everyone, one person's memory erased, another class of memory. A counting
provider answers as the offline example does. What a run from the start asks before the
intervention, the forked arms have asked once, all together. Results are the memories of
all people at the end, word for word.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.tables import show
from mesa_memory import Services, configure
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import ChangeAfter, Study
from mesa_memory.interventions import erase, implant
from mesa_memory.llm.doubles.offline import OfflineLLM

#: most calls, as a ratio to those that cannot be shared
ALLOWED = 1.05
MEMORIES = ("stlt", "episodic", "fact", "layered")


class Provider:
    """Answers as the offline model does, and counts; it is asked as any provider is."""

    def __init__(self) -> None:
        self._offline, self.calls = OfflineLLM(), 0

    def complete(self, request: LLMRequest) -> Reply:
        """The answer."""
        self.calls += 1
        return self._offline.complete(request)


class CountedTown(RumorModel):
    """The town, whose memories ask this provider."""

    def __init__(
        self,
        provider: Provider,
        n_agents: int,
        memory: str,
        record: Any = None,
        rng: Any = None,
    ) -> None:
        super().__init__(n_agents, memory, record=record, rng=rng)
        configure(self, llm=provider, execution="blocking")


def alarm(model: Any) -> None:
    """Everybody remembers a fire that there never was."""
    for agent in model.agents:
        implant(agent, "news", {"text": "The mill has burnt down!"})


def oblivion(model: Any) -> None:
    """One person forgets the newest thing that it remembers."""
    memory = next(iter(model.agents)).memory
    held = [record for record in memory.held_records() if record.current]
    erase(memory.agent, held[-1])


def texts(model: Any) -> list[str]:
    """What all remember."""
    return [agent.memory.get_prompt_ready() for agent in model.agents]


def alone(
    given: dict[str, Any], arm: ChangeAfter | None, steps: int
) -> tuple[list[str], int]:
    """An arm from its first step: what it comes to, and its calls."""
    provider, model = Provider(), RumorModel(**given)
    configure(model, llm=provider, execution="blocking")
    for step in range(steps):
        if arm is not None and step == arm.step:
            arm.apply(model)
        model.step()
    Services.of(model).flush()
    return texts(model), provider.calls


def by_a_study(
    given: dict[str, Any], arms: list[ChangeAfter | None], steps: int, folder: str
) -> tuple[list[Any], int]:
    """The same, as the levels of a factor."""
    provider, fixed = Provider(), {n: v for n, v in given.items() if n != "rng"}
    factors = fixed | {"provider": {"counting": provider}}
    study = Study(
        CountedTown, factors | {"change": arms}, seeds=[given["rng"]], steps=steps,
        outcomes={"texts": texts}, store=Path(folder, "study.sqlite"),
    )  # fmt: skip
    status = study.run("serial", progress=False)
    assert status.finished and status.calls == provider.calls, status
    return study.results().runs["texts"].tolist(), provider.calls


def compared(memory: str, agents: int, steps: int, at: int) -> dict[str, Any]:
    """Calls, their ratio, and if the results are the same."""
    given = {"n_agents": agents, "memory": memory, "rng": 3}
    arms = [
        None,
        ChangeAfter(at, alarm),
        ChangeAfter(at, oblivion),
        ChangeAfter(at, "swap:short_term"),
    ]
    separate = [alone(given, arm, steps) for arm in arms]
    k, calls = len(arms), sum(calls for _, calls in separate)
    share = (at + k * (steps - at)) / (k * steps)
    with tempfile.TemporaryDirectory() as folder:
        results, used = by_a_study(given, arms, steps, folder)
    return {
        "memory": memory,
        "arms": k,
        "separate_calls": calls,
        "forked_calls": used,
        "ratio": used / calls,
        "(t+k(T-t))/kT": share,
        "of_that": used / calls / share,
        "same": results == [result for result, _ in separate],
    }


def main() -> None:
    """Prints the table, and says whether all is within what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=12)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--at", type=int, default=20)
    parser.add_argument("--memory", default=",".join(MEMORIES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = [
        compared(memory, given.agents, given.steps, given.at)
        for memory in given.memory.split(",")
    ]
    if given.json:
        print(json.dumps(rows))
    else:
        show(f"Arms forked after step {given.at} of {given.steps}", rows, 3)
    worst, same = max(row["of_that"] for row in rows), all(row["same"] for row in rows)
    print(f"most of what is allowed: {worst:.3f} ({ALLOWED}); all the same: {same}")


if __name__ == "__main__":
    main()
