"""Random lives with interruptions, compared with the same lives without, for some minutes.

python -m benchmarks.lives [MINUTES] [KIND …]

Prints the first life that differs, and exits with 1; with 0 if none was found.
"""

import logging
import sys
import time
import warnings

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.lives import KINDS, lives

#: lives of one turn, and events of one life
LIVES, EVENTS = 20, 30


def main() -> None:
    """Goes through the kinds of memory, turn by turn, until the time is over."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    minutes = float(sys.argv[1]) if sys.argv[1:] else 20.0
    kinds, end = sys.argv[2:] or list(KINDS), time.monotonic() + 60 * minutes
    turn = 0
    while time.monotonic() < end:
        kind = kinds[turn % len(kinds)]
        made = seed(turn)(lives(kind))
        run_state_machine_as_test(made, settings=long_lives())
        turn += 1
        print(f"{turn * LIVES} lives, the last of {kind}: no difference", flush=True)


def long_lives() -> settings:
    """How many lives a turn has, and how long they are."""
    return settings(
        max_examples=LIVES,
        stateful_step_count=EVENTS,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[Phase.generate],  # to make a life shorter takes longer than to find it
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


if __name__ == "__main__":
    main()
