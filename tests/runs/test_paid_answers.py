"""What a model has answered is paid for once, also if the step does not end."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

from mesa_memory import open_run, resume
from tests.support.playing import play
from tests.support.studied import PaidStreet

#: is killed in its second step, in which all agents have their answers
KILLED = """
import sys
from mesa_memory import configure
from tests.support.studied import PaidStreet

street = PaidStreet(sys.argv[1], n=3, dies="always", rng=1)
configure(street, record=sys.argv[2])
street.run_for(2)
"""


def asked(server):
    """The prompts that the provider answered."""
    return [received.prompt for received in server.log]


def written(file):
    """How many answers are in the file, whether their step has ended or not."""
    with closing(sqlite3.connect(file)) as found:
        both = "SELECT prompt_hash FROM calls UNION ALL SELECT prompt_hash FROM "
        return len(found.execute(both + "unfinished_calls").fetchall())


def test_a_killed_run_has_no_half_step_and_its_answers_are_used_when_it_is_played_again(
    tmp_path, server
):
    file = tmp_path / "run.sqlite"
    killed = subprocess.run([sys.executable, "-c", KILLED, server.base, file])
    assert killed.returncode == -signal.SIGKILL
    assert written(file) == len(server.log)
    with closing(sqlite3.connect(file)) as found:
        (last,) = found.execute("SELECT max(step) FROM records").fetchone()
        assert last == 1, "nothing of the second step but its answers"
    before = asked(server)
    assert len(before) == len(set(before)) and before
    street = resume(PaidStreet, file, base=server.base, dies=None)
    assert street.steps == 1, "a step that asked a model had ended and is not there"
    play(street, 1)
    assert len(asked(server)) == len(set(asked(server)))
    with open_run(file) as run:
        assert list(run.steps) == [1, 2]
        calls = run.calls(as_records=True)
        assert len(calls) == len(asked(server))
        assert not any(row["replayed"] for row in calls)
