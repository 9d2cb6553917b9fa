"""A term that a user adds to the score counts wherever the score does."""

import math

import pytest

from mesa_memory import EpisodicMemory, Scoring, open_run
from mesa_memory.retrieval import Term
from mesa_memory.runs.past import past as past_of
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.views.recall import bars
from tests.support.playing import ended
from tests.support.street import Street

SAID = ("It rains again.", "I promise to mend the roof.", "The mill stands still.")


class Promises(Term):
    name = "promise"

    def value(self, record, question):
        return float("promise" in str(record.content))


class Late(Term):
    name = "late"

    def values(self, records, question):
        return [record.step / question.now for record in records]

    def value(self, record, question):
        raise AssertionError("values is enough")


def told(scoring, record=None):
    """A street whose only neighbour was told three things."""

    def memory(agent):
        return EpisodicMemory(agent, scoring=scoring)

    street = Street(record, n=1, memory=memory)
    tell(street)
    return street


def tell(street):
    street.step()
    memory = street.agents[0].memory
    for said in SAID:
        memory.add_to_memory("message", {"message": said, "sender": 2})
    memory.process_step()
    memory.get_prompt_ready()
    memory.recall("the weather")


def found(scoring, query="the weather"):
    return told(scoring).agents[0].memory.recall(query)


def said(recalled):
    return recalled.record.content["message"]


@pytest.mark.parametrize("query", ["the weather", None])
def test_a_term_is_part_of_the_sum(query):
    for one in found(Scoring(terms=(Promises(0.25), Late(2))), query):
        plain = Scoring()
        parts = one.parts
        assert parts["promise"] == ("promise" in said(one))
        assert parts["late"] == 1.0
        assert one.score == pytest.approx(
            parts["relevance"] * plain.relevance
            + parts["importance"] * plain.importance
            + parts["recency"] * plain.recency
            + parts["time_match"] * (plain.time_match if query else 0)
            + parts["question"] * (plain.question_penalty if query else 0)
            + 0.25 * parts["promise"]
            + 2 * parts["late"]
        )


def test_a_term_is_in_the_table_the_record_and_the_recall_view(tmp_path):
    file = tmp_path / "town.sqlite"
    street = told(Scoring(terms=(Promises(0.5), Late(0.1))), file)
    tell(street)
    ended(street)
    headings = [
        c.header for c in street.agents[0].memory.explain("the weather").columns
    ]
    assert {"promise", "late"} <= set(headings)
    with open_run(file) as run:
        table = run.recalls(1)
        assert list(table.columns)[-3:] == ["promise", "late", "text"]
        rows = run.recalls(1, 2, as_records=True)
        assert {row["promise"] for row in rows} == {0.0, 1.0}
        past = past_of(run, 1)
        for row in data.recalls(run, 1, 2):
            recall = data.understood(row, past)
            assert recall.names[-2:] == ("promise", "late")
            assert recall.weights[-2:] == (0.5, 0.1)
            shown = data.ranked(recall, (0, 0, 0))
            drawn = [series["name"] for series in bars(shown, recall.names)["series"]]
            assert {"promise", "late"} <= set(drawn)
            assert "promise" in shown[0].candidate.text  # only the terms count now


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "much", [1, 2]])
def test_a_value_that_is_no_finite_number_is_named(value):
    class Wrong(Term):
        name = "wrong"

        def value(self, record, question):
            return value

    with pytest.raises(ValueError, match="the term 'wrong' must give"):
        found(Scoring(terms=Wrong()))


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf])
def test_a_weight_is_a_finite_number(weight):
    with pytest.raises(ValueError, match="a term's weight must be 0 or more"):
        Promises(weight)


def test_a_name_that_is_not_usable_is_refused_when_the_class_is_made():
    for name in [None, "", "two words", "relevance", "score", 7]:
        with pytest.raises(TypeError, match=r"Odd\.name must be a word"):
            type("Odd", (Term,), {"name": name, "value": lambda *_: 0.0})


def test_two_terms_of_one_name_and_what_is_no_term_are_refused():
    with pytest.raises(ValueError, match="a name of its own"):
        Scoring(terms=(Promises(), Promises(2)))
    with pytest.raises(TypeError, match=r"subclasses of mesa_memory\.retrieval\.Term"):
        Scoring(terms=(Promises,))
