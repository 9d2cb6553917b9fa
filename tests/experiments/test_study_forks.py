"""Arms of a study that begin alike: what they share is made once, and paid once."""

import os
from functools import partial

import pytest

from mesa_memory import open_run
from mesa_memory.errors import NotPicklable
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import ChangeAfter, Processes, Study
from tests.support.studied import (
    PaidStreet,
    Street,
    alarm,
    flood,
    lethal,
    maker,
    read,
    stumbling,
)
from tests.support.study_results import csv, run
from tests.support.tables import assert_equal, tables

CHANGES = [
    None,
    ChangeAfter(4, alarm),
    ChangeAfter(4, flood),
    ChangeAfter(2, "replace_memory:stlt", "other memory"),
]
#: of calls, who paid for them
PAID = ("replayed", "cost")


def paid(file, server, changes=CHANGES, **given):
    """Two agents who ask for one summary each in each step."""
    given = {
        "steps": 6,
        "seeds": range(2),
        "store": file,
        "outcomes": {"read": read},
    } | given
    factors = {"base": server.base} | ({"change": changes} if changes else {})
    factors |= given.pop("factors", {})
    return Study(PaidStreet, factors, **given)


def runs(study):
    """The case, and the number of its run in the store, by label of the change and seed."""
    found = {}
    for case in study.status().cases:
        found[case.parameters.get("change"), case.seed] = case
    return found


def of_arm(frame, label):
    """The rows of the arm with this change, without their case."""
    chosen = frame["change"].isna() if label is None else frame["change"] == label
    return frame[chosen].drop(columns=["case", "change"])


@pytest.mark.slow
def test_what_arms_share_is_asked_once_and_results_are_those_of_separate_runs(
    file, server, tmp_path
):
    study = paid(file, server, seeds=[0])
    assert run(study).finished
    together = len(server.log)
    cases = runs(study)
    assert [case.usage["calls"] for case in cases.values()][:3] == [12, 4, 4]
    assert study.status().calls == together
    separate = 0
    for number, change in enumerate(CHANGES):
        other = tmp_path / f"{number}.sqlite"
        one = paid(other, server, [change] if change else None, seeds=[0])
        assert run(one).finished
        separate += one.status().calls
        label = None if change is None else change.label
        mine, alone = cases[label, 0], runs(one)[label, 0]
        assert_equal(
            tables(file, mine.run, ignore=PAID), tables(other, alone.run, ignore=PAID)
        )
        for name in ("steps", "agents"):
            here, there = (getattr(each.results(), name) for each in (study, one))
            alone = there.drop(columns=["case", "change"], errors="ignore")
            if len(there):
                shared = of_arm(here, label)
                assert shared.to_csv(index=False) == alone.to_csv(index=False)
        ends = of_arm(study.results().runs, label)
        assert ends["read"].tolist() == one.results().runs["read"].tolist()
    for label, said in (
        ("alarm from 4", "burnt down"),
        ("flood from 4", "over its banks"),
    ):
        here = str(tables(file, cases[label, 0].run)["records"])
        assert said in here and said not in str(tables(file, cases[None, 0].run))
    assert together < separate


def test_forked_runs_know_where_they_come_from_and_the_methods_tell(file, server):
    study = paid(file, server, CHANGES[:3])
    run(study)
    cases = runs(study)
    trunk = cases[None, 0]
    for label in ("alarm from 4", "flood from 4"):
        with open_run(file, cases[label, 0].run) as forked:
            assert (forked.parent, forked.parent_step) == (trunk.run, 4)
            assert list(forked.steps) == [1, 2, 3, 4, 5, 6]
    assert "4 of the runs were forked from a recorded run" in study.methods()
    assert "change (None, alarm from 4, flood from 4)" in study.methods()
    assert f"Altogether {len(server.log)} calls" in study.methods()
    calls = study.results().calls
    assert (~calls["call_replayed"]).sum() == len(server.log)
    assert set(calls[calls["call_replayed"]]["step"]) == {1, 2, 3, 4}


@pytest.mark.slow
def test_dask_makes_the_same_arms_in_a_database_and_no_beginning_twice(
    postgres, server, tmp_path
):
    from distributed import Client, LocalCluster

    one = paid(tmp_path / "serial.sqlite", server)
    run(one)
    asked = sorted(received.prompt for received in server.log)
    server.clear()
    outcomes = {"read": read, "maker": maker}
    study = paid(postgres.database(), server, outcomes=outcomes)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as here,
        Client(here) as client,
    ):
        assert run(study, client.get_executor()).finished
        # Once more: nothing is left to make.
        assert run(study, client.get_executor()).finished
    assert csv(study, ["maker"]) == csv(one)
    assert sorted(received.prompt for received in server.log) == asked
    made = set(study.results().runs["maker"])
    assert len(made) == 2 and os.getpid() not in made
    cases = runs(study)
    for (change, seed), case in cases.items():
        with open_run(study.location, case.run) as recorded:
            trunk = None if change is None else cases[None, seed].run
            assert recorded.parent == trunk


@pytest.mark.slow
def test_processes_make_the_same_arms_though_they_are_killed(file, server, tmp_path):
    changes = [None, ChangeAfter(1, lethal), ChangeAfter(1, flood)]
    one = paid(tmp_path / "serial.sqlite", server, changes)
    run(one)
    asked = len(server.log)
    dies = tmp_path / "dies"
    (dies / "later").mkdir(parents=True)
    study = paid(file, server, changes, factors={"dies": str(dies)})
    assert run(study, Processes(2)).finished
    marks = sorted(p.name for p in dies.rglob("*") if p.is_file())
    assert marks == ["0", "0", "1", "1"], "trunk and arm were killed once each"
    assert csv(study, ["dies"]) == csv(one)
    assert len(server.log) == 2 * asked, "no answer is paid twice"


def test_a_change_that_fails_is_made_again_from_where_it_began(file, server, tmp_path):
    stumbles = ChangeAfter(2, partial(stumbling, str(tmp_path)), "stumbling from 2")
    study = paid(file, server, [ChangeAfter(2, alarm), stumbles, ChangeAfter(2, flood)])
    status = run(study)
    assert [each["parameters"]["change"] for each in status.failed] == [
        "stumbling from 2"
    ] * 2
    assert "a bad change" in status.failed[0]["error"]
    assert run(study).finished
    cases = runs(study)
    for seed in range(2):
        assert_equal(
            tables(file, cases["stumbling from 2", seed].run, ignore=PAID),
            tables(file, cases["alarm from 2", seed].run, ignore=PAID),
        )
    assert len(server.log) == 2 * 2 * (6 + 4 + 4)


def test_an_arm_whose_beginning_failed_says_so_and_goes_on_later(file):
    changes = [None, ChangeAfter(4, alarm)]
    study = Study(
        Street, {"change": changes, "bad": 1}, seeds=[1, 2], steps=6, store=file
    )
    status = run(study)
    assert status.counts["finished"] == 2 and status.counts["failed"] == 2
    assert "a bad day" in status.failed[0]["error"]
    told = status.failed[1]["error"]
    assert "it begins as case 1 up to step 4" in told and "a bad day" in told


def test_arms_are_added_later_at_any_step_and_only_what_is_missing_is_made(
    file, server, tmp_path
):
    study = paid(file, server, CHANGES[1:2], seeds=[3])
    run(study)
    asked = len(server.log)
    assert asked == 12
    changes = [
        CHANGES[1],
        ChangeAfter(4, flood),
        ChangeAfter(3, flood, "flood early"),
        None,
        ChangeAfter(7, alarm),
    ]
    for arms, steps, more in ((2, 6, 4), (4, 6, 10), (4, 8, 16), (5, 8, 2)):
        study = paid(file, server, changes[:arms], seeds=[3], steps=steps)
        run(study)
        asked += more
        assert len(server.log) == asked
    at_once = paid(tmp_path / "once.sqlite", server, changes, seeds=[3], steps=8)
    run(at_once)
    ends = study.results().runs["read"].tolist()
    assert ends == at_once.results().runs["read"].tolist()


def test_changes_of_several_factors_share_what_they_can(file, server):
    factors = {"other": [None, ChangeAfter(3, flood)]}
    study = paid(file, server, CHANGES[:2], factors=factors, seeds=[0])
    assert run(study).finished
    # 6 steps; alarm after 4; flood after 3; flood after 3 and then alarm after 4
    assert len(server.log) == 2 * (6 + 2 + 3 + 2)
    texts = study.results().runs["read"].tolist()
    alone = paid(file.with_name("one.sqlite"), server, CHANGES[1:2],
                 factors={"other": [ChangeAfter(3, flood)]}, seeds=[0])  # fmt: skip
    run(alone)
    assert alone.results().runs["read"].tolist() == texts[-1:]


def test_a_model_that_ends_by_itself_before_the_change_is_not_changed(file):
    study = Study(
        Street,
        {"change": [None, ChangeAfter(4, alarm)], "stop": 3},
        steps=6,
        store=file,
    )
    assert run(study).finished
    found = study.results()
    assert found.runs["steps"].tolist() == [3, 3]
    halves = [of_arm(found.steps, label) for label in (None, "alarm from 4")]
    assert halves[0].to_csv(index=False) == halves[1].to_csv(index=False)
    assert run(study).finished


def test_ordinary_levels_stand_beside_changes(file):
    def more(model):
        model.stop = 5

    study = Study(
        Street, {"stop": [None, 3, ChangeAfter(4, more, "five")]}, steps=6, store=file
    )
    assert run(study).finished
    assert study.results().runs["steps"].tolist() == [6, 3, 5]
    assert study.results().runs["stop"].tolist() == [None, 3, "five"]


@pytest.mark.parametrize(
    ("changes", "given", "error", "said"),
    [
        ([ChangeAfter(6, alarm)], {}, ValueError, "before the last one"),
        ([ChangeAfter(2, alarm)], {"record": False}, ValueError, "record=True"),
        ([ChangeAfter(2, lambda model: None)], {}, TypeError, "Give it one"),
        (
            [ChangeAfter(2, alarm, "a"), ChangeAfter(3, alarm, "a")],
            {},
            ValueError,
            "label of its own",
        ),
    ],
)
def test_a_wrong_change_is_refused_before_anything_is_run(
    file, changes, given, error, said
):
    with pytest.raises(error, match=said):
        Study(Street, {"change": changes}, steps=6, store=file, **given)


def test_a_change_that_no_worker_can_be_sent_is_refused(file):
    change = ChangeAfter(2, lambda model: None, "quiet")
    study = Study(Street, {"change": [None, change]}, steps=3, store=file)
    with pytest.raises(NotPicklable, match="quiet"):
        run(study, Processes(1))


def test_a_forecast_counts_once_what_arms_share(file):
    given = {"n_agents": 5}
    factors = {
        "memory": "stlt",
        "change": [
            None,
            ChangeAfter(4, alarm),
            ChangeAfter(6, "replace_memory:episodic"),
        ],
    }
    study = Study(RumorModel, given | factors, seeds=[1, 2], steps=8, store=file)
    told = study.estimate(llm="openai/gpt-5-mini")
    assert run(study).finished
    calls = [arm.calls.value for arm in told.arms]
    used = study.results().runs.groupby("case")["run_calls"].first().tolist()
    counted = [sum(used[:2]), sum(used[2:4]), sum(used[4:])]
    assert calls == pytest.approx(counted, rel=0.35)
    assert calls[1] < 0.7 * calls[0] and calls[2] < 0.7 * calls[0]
    assert study.estimate().runs == 0
    factors["change"].append(ChangeAfter(2, alarm, "early"))
    study = Study(RumorModel, given | factors, seeds=[1, 2], steps=8, store=file)
    (arm,) = study.estimate().arms
    assert arm.runs == 2 and calls[1] < arm.calls.value < calls[0]
