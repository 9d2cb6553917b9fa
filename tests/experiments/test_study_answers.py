"""A study with questionnaires: its table of answers, and nothing else is changed."""

import json

import pytest

from mesa_memory.errors import StudyChanged
from mesa_memory.experiments import Question, Questionnaire, Study
from tests.support import tables
from tests.support.classes import EVERY
from tests.support.studied import Street

SEEN = Question("seen", "Which number did you see?", "integer")
WHAT = Question(
    "what", "Did you see a number?", "choice", choices=("number", "nothing")
)
SURVEYS = [
    Questionnaire([SEEN, WHAT], every=2),
    Questionnaire(Question("end", "Number?")),
]


def study(file, factors, **given):
    given = {"seeds": range(2), "steps": 5, "store": file} | given
    return Study(Street, factors, **given)


def run(made, executor="serial", **given):
    assert not made.run(executor, progress=False, **given).failed
    return made.results()


def rows(file):
    """All rows of a store, but for those of the questions themselves."""
    found, asked = tables.without_probes(file)
    del found["responses"], found["studies"]  # which says what is asked
    for case in found["cases"]:
        del case["fingerprint"]  # with what it is made: with questions
        usage = json.loads(case.pop("usage"))
        mine = sum(each["run"] == case["run"] for each in asked)
        case["calls"] = usage["calls"] - mine  # what is asked is paid for
    return found, len(asked)


def names(memories):
    return [f"{memory.__module__}:{memory.__name__}" for memory in memories]


@pytest.mark.parametrize("recorded", [True, False])
def test_answers_are_a_table_of_the_study(tmp_path, recorded):
    factors = {"memory": ["short_term", "stlt"]}
    made = study(
        tmp_path / "s.sqlite", factors, questionnaires=SURVEYS, record=recorded
    )
    answers = run(made).answers
    assert list(answers.columns) == [
        "case", "memory", "seed", "replicate", "step", "agent", "question", "answer",
        "error",
    ]  # fmt: skip
    assert len(answers) == 4 * 2 * (2 * 2 + 1)
    assert set(answers.query("question == 'end'")["step"]) == {5}
    assert set(answers.query("question == 'seen'")["step"]) == {2, 4}
    numbers = answers.query("question == 'seen'")["answer"]
    assert all(isinstance(number, int) for number in numbers)
    told = answers.query("question == 'what'")
    assert set(told["answer"].dropna()) == {"number"}
    assert (told["answer"].isna() == told["error"].notna()).all()


def test_a_study_with_questionnaires_has_the_same_records_as_one_without(tmp_path):
    factors = {"memory": names(EVERY)}
    files = [tmp_path / "without.sqlite", tmp_path / "with.sqlite"]
    given = {"name": "s", "seeds": [0]}
    plain = run(study(files[0], factors, **given))
    asked = run(study(files[1], factors, questionnaires=SURVEYS, **given))
    assert len(asked.answers) == len(EVERY) * 2 * 5
    (without, none), (with_, many) = map(rows, files)
    assert (none, many >= len(asked.answers)) == (0, True)
    # Which steps have a checkpoint is a matter of time; what is in it is not.
    kept = [
        {
            (row["run"], row["step"], row["agent"]): row["state"]
            for row in each.pop("checkpoints")
        }
        for each in (without, with_)
    ]
    both = kept[0].keys() & kept[1].keys()
    assert len(both) >= 16
    assert {key: kept[0][key] for key in both} == {key: kept[1][key] for key in both}
    for table, found in without.items():
        assert found == with_[table], table
    for name in ("steps", "agents"):
        one, other = getattr(plain, name), getattr(asked, name)
        assert one.to_csv() == other.to_csv(), name


def test_a_longer_study_asks_in_the_steps_that_are_new(tmp_path):
    given = {"questionnaires": SURVEYS[0], "seeds": [0]}
    whole = run(study(tmp_path / "whole.sqlite", {}, **given)).answers
    file = tmp_path / "parts.sqlite"
    parts = study(file, {}, steps=3, **given)
    assert set(run(parts).answers["step"]) == {2}
    later = run(study(file, {}, **given)).answers
    assert later.to_csv() == whole.to_csv()


def test_other_questions_are_another_study(tmp_path):
    file = tmp_path / "s.sqlite"
    run(study(file, {}, questionnaires=SURVEYS[0], seeds=[0]))
    other = study(file, {}, questionnaires=SURVEYS, seeds=[0, 1])
    with pytest.raises(StudyChanged, match="questionnaires"):
        run(other)
    assert len(run(other, accept_drift=True).answers) == 2 * 4 + 2 * 5


def test_questions_of_one_study_have_different_names(tmp_path):
    with pytest.raises(ValueError, match="different names"):
        study(tmp_path / "s.sqlite", {}, questionnaires=[SURVEYS[0], SURVEYS[0]])
    with pytest.raises(TypeError, match="of class Questionnaire"):
        study(tmp_path / "s.sqlite", {}, questionnaires=[SEEN])
