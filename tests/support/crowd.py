"""Many agents in a process that may open few files; prints what became of them.

``python -m tests.support.crowd BASE COUNT MODE-EXECUTION...``
"""

import json
import logging
import os
import resource
import sys

from tests.support.fleet import HASTY, MIXED, Town

FILES = 256
#: nobody listens here
NOWHERE = "http://127.0.0.1:9/v1"


def main() -> None:
    """Tells of each way, such as ``asyncio-deferred``, in a line of JSON."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
    logging.disable(logging.WARNING)
    base, count, *ways = sys.argv[1:]
    for way in ways:
        print(json.dumps(live(base, int(count), *way.split("-"))))


def live(base: str, count: int, mode: str, execution: str) -> dict[str, int]:
    """Lives some steps, one of them without a provider."""
    patient = HASTY | {"concurrency": 16}
    town = Town(MIXED, count, base, execution=execution, **patient)

    def happen(agent):
        town.tell(agent, f"word {town.steps}a of {agent.unique_id}.")
        town.tell(agent, f"word {town.steps}b of {agent.unique_id}.")
        town.show(agent, f"sight {town.steps} of {agent.unique_id}.")

    town.script = happen
    files = 0
    for address in (base, base, NOWHERE, base):
        for citizen in town.citizens:
            citizen.llm.api_base = address
        town.advance(mode)
        files = max(files, len(os.listdir("/proc/self/fd")))
        town.services.flush()
    return {
        "files": files,
        "miscounted": len(town.miscounted()),
        "uncovered": len(town.uncovered() + town.hidden()),
        "due": sum(map(town.due, town.citizens)),
        "thought": sum(map(len, town.thought().values())),
        "failures": town.services.ledger.total.failures,
    }


if __name__ == "__main__":
    main()
