"""After workers are killed, only their requests in flight are sent again."""

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from mesa_memory.experiments import Processes, Study
from mesa_memory.stores import open_store, schema
from tests.support.studied import PaidStreet
from tests.support.study_results import csv

pytestmark = pytest.mark.slow
#: in the first step, of which nothing is in the store; and in a later one
DAYS = (1, 3)
WORKERS = 2
#: in each run
PEOPLE = 2


def paid(store, server):
    factors = {"base": server.base, "n": PEOPLE}
    return Study(PaidStreet, factors, seeds=range(2), steps=3, store=store)


@contextmanager
def killed_while_asking(store, server):
    """In each of the days all workers are killed while the provider has requests of it,
    which it does not answer before they are dead; gives a set of process ids for each
    day."""
    killed = []
    _hold(server, DAYS[0])
    with ThreadPoolExecutor(1) as thread:
        killing = thread.submit(_kill, store, server, killed)
        yield killed
        killing.result()


def _hold(server, day):
    server.holds = lambda received: f"day {day} at" in received.prompt


def _kill(store, server, killed):
    try:
        for day in DAYS:
            _hold(server, day)
            while not any(server.holds(received) for received in server.log):
                time.sleep(0.02)
            pids = set(filter(lives, writers(store)))
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            while any(map(lives, pids)):
                time.sleep(0.02)
            killed.append(pids)
    finally:
        server.holds = lambda received: False


def writers(store):
    with closing(open_store(store, read_only=True)) as opened, opened.reading() as on:
        return set(on.scalars(sa.select(schema.leases.c.pid)))


def lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def check(study, server, killed, whole):
    asked = Counter(received.prompt for received in server.log)
    assert len(killed) == len(DAYS) and all(killed)
    assert len(asked) == 12
    # A worker has one run, whose people ask at the same time.
    assert asked.total() - 12 <= PEOPLE * sum(map(len, killed))
    whole.run("serial", progress=False)
    assert csv(study) == csv(whole)


def test_killed_processes_repeat_only_requests_in_flight(tmp_path, server):
    study = paid(tmp_path / "study.sqlite", server)
    with killed_while_asking(study.location, server) as killed:
        assert study.run(Processes(WORKERS), progress=False).finished
    whole = paid(tmp_path / "whole.sqlite", server)
    check(study, server, killed, whole)


def test_killed_workers_of_dask_repeat_only_requests_in_flight(
    tmp_path, server, postgres
):
    from distributed import Client, LocalCluster

    study = paid(postgres.database(), server)
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None
        ) as here,
        Client(here) as client,
        killed_while_asking(study.location, server) as killed,
    ):
        while not study.run(client.get_executor(), progress=False).finished:
            continue
    check(study, server, killed, paid(tmp_path / "whole.sqlite", server))
