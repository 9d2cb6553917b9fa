"""A life that is interrupted in any way is the same as one that is not."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.lives import KINDS, lives

SHORT = settings(
    max_examples=6,
    stateful_step_count=14,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


@pytest.mark.parametrize("kind", KINDS)
def test_interruptions_change_nothing_that_agents_remember(kind):
    run_state_machine_as_test(lives(kind), settings=SHORT)
