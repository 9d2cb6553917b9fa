"""Insights with evidence: when they are due, what they rest on, what they cost."""

from functools import partial

import pytest

from mesa_memory import EpisodicMemory, LLMUnavailable, MemoryStalled
from mesa_memory.core.text.replies import Unusable
from mesa_memory.layers import Reflection
from mesa_memory.tasks import REFLECT
from mesa_memory.tasks.reflect import Insights
from tests.support.diary import Diary
from tests.support.models import citizen, configure, live, said
from tests.support.single import Asked, memory_of, scripted


def insights(*found):
    """A reply with these (text, evidence)."""
    return {"insights": [{"insight": t, "evidence": e} for t, e in found]}


class Person:
    """An agent's memory with a scripted model; each event has the grade 5."""

    def __init__(self, rules=None, threshold=10, **given):
        grade = {"grade": lambda r: {"grades": [5] * len(r.inputs["events"])}}
        kind = partial(EpisodicMemory, reflect_threshold=threshold, **given)
        self.memory, self.llm = scripted(kind, grade | (rules or {}))
        self.agent = self.memory.agent
        self.seen = Diary(self.agent.model)

    def hears(self, *texts):
        """One step in which the agent hears these."""
        live(self.memory, *(said(text, 9) for text in texts))

    def reflections(self):
        """The insights in the stream."""
        entries = self.memory.memory_entries
        return [e.events[0] for e in entries if e.events[0].kind == "reflection"]

    def asked(self, purpose):
        """The requests of a purpose."""
        return [r for r in self.llm.history if r.purpose == purpose]


def test_insights_enter_the_stream_with_evidence_grade_and_text():
    person = Person({"reflect": insights(("The mill is in danger.", [1, 3]))})
    person.hears("The mill burns!", "Nice day.")
    assert [r.content["text"] for r in person.reflections()] == [
        "The mill is in danger."
    ]
    (insight,) = person.reflections()
    # The evidence 3 was not shown, so it is no evidence.
    assert [person.seen.by_id[i].content["message"] for i in insight.sources] == [
        "The mill burns!"
    ]
    assert insight.importance == 5
    assert "reflection: The mill is in danger." in person.memory.get_prompt_ready()
    assert person.memory.recall("danger", k=1)[0].record is insight


def test_nothing_is_asked_before_the_threshold_and_the_budget_starts_anew():
    person = Person({"reflect": insights(("Much happens.", [1]))}, threshold=15)
    person.hears("One.")
    person.hears("Two.")
    assert not person.asked("reflect")
    person.hears("Three.")
    assert len(person.asked("reflect")) == 1
    person.hears("Four.")
    person.hears("Five.")
    assert len(person.asked("reflect")) == 1
    person.hears("Six.")
    assert len(person.asked("reflect")) == 2


def test_a_direct_reflection_costs_one_call_and_one_grading_of_the_insights():
    reply = insights(("A.b.", [1]), ("C.d.", [2]), ("E.f.", [1, 2]), ("G.h.", [1]))
    person = Person({"reflect": reply})
    person.hears("One.", "Two.")
    assert [r.purpose for r in person.llm.history] == ["grade", "reflect", "grade"]
    assert len(person.reflections()) == 3, "more insights than were asked for"


def test_questions_are_asked_first_and_each_is_answered_from_what_it_recalls():
    rules = {
        "questions": {"questions": ["Who owns the mill?", "Is there a fire?"]},
        "reflect": lambda r: insights((f"On {r.inputs['question']}", [1])),
    }
    plan = Reflection.questions(questions=2, per_question=1, insights=2)
    person = Person(rules, threshold=20, reflection=plan)
    person.hears("Agent 4 owns the mill.", "The fire is big.")
    person.hears("It rains.", "Bread is dear.")
    purposes = [r.purpose for r in person.llm.history]
    assert purposes == ["grade", "grade", "questions", "reflect", "reflect", "grade"]
    shown = [r.inputs["lines"] for r in person.asked("reflect")]
    assert shown == [
        ["Step 1: Agent 9 to Agent 1: Agent 4 owns the mill."],
        ["Step 1: Agent 9 to Agent 1: The fire is big."],
    ]


def test_a_failed_question_is_asked_again_and_the_answered_ones_are_not():
    failing = [True]

    def reflect(request):
        if "fire" in request.inputs["question"] and failing.pop():
            raise LLMUnavailable("down", purpose="reflect")
        return insights((f"On {request.inputs['question']}", [1]))

    rules = {
        "questions": {"questions": ["Who owns it?", "Is there a fire?"]},
        "reflect": reflect,
    }
    person = Person(rules, reflection=Reflection.questions(2))
    failing[:] = [False, True]
    person.hears("Agent 4 owns the mill.", "The fire is big.")
    assert [r.content["text"] for r in person.reflections()] == ["On Who owns it?"]
    person.hears()
    assert len(person.asked("questions")) == 1
    asked = [r.inputs["question"] for r in person.asked("reflect")]
    assert asked == ["Who owns it?", "Is there a fire?", "Is there a fire?"]
    assert len(person.reflections()) == 2
    person.hears()
    assert len(person.asked("reflect")) == 3


def test_an_insight_without_evidence_is_repaired_once_then_refused_and_stays_due():
    person = Person({"reflect": insights(("Invented.", [77]))})
    person.hears("One.", "Two.")
    first, second = person.asked("reflect")
    assert first.repair is None
    assert "numbers from 1 to 2" in second.messages()[-1]["content"]
    assert not person.reflections()
    assert [e.events[0].importance for e in person.memory.memory_entries] == [5, 5]
    person.llm._rules["reflect"] = insights(("Seen.", [2]))
    person.hears()
    assert [r.content["text"] for r in person.reflections()] == ["Seen."]


def test_the_gathered_importance_survives_failures_and_a_long_outage_stops_the_run():
    person = Person({"reflect": LLMUnavailable("down", purpose="reflect")})
    configure(person.agent.model, llm=person.llm, max_pending_steps=3)
    person.hears("One.", "Two.")
    person.hears()
    assert person.memory.layers[0].reflector.gathered == 10
    with pytest.raises(MemoryStalled) as raised:
        person.hears()
        person.hears()
    assert isinstance(raised.value.__cause__, LLMUnavailable)


def test_insights_may_rest_on_insights_but_only_so_deep():
    def reflect(request):
        count = len(request.inputs["lines"])
        return insights((f"On {count} events", [max(1, count - 1)]))

    plan = Reflection.direct(last=50, insights=1, max_depth=2)
    person = Person({"reflect": reflect}, threshold=5, reflection=plan)
    for number in range(12):
        person.hears(f"Event {number}.")
    depths = [r.content["depth"] for r in person.reflections()]
    assert set(depths) == {1, 2}
    for insight in person.reflections():
        deepest = max(
            person.seen.by_id[i].content.get("depth", 0) for i in insight.sources
        )
        assert insight.content["depth"] == deepest + 1


def test_insights_alone_never_call_for_a_reflection():
    person = Person({"reflect": insights(("All is one.", [1]))}, threshold=5)
    person.hears("One.")
    for _ in range(5):
        person.hears()
    assert len(person.asked("reflect")) == 1


def test_an_insight_known_already_is_not_kept_twice():
    person = Person({"reflect": insights(("All is one.", [1]))}, threshold=5)
    person.hears("One.")
    person.hears("Two.")
    assert len(person.asked("reflect")) == 2
    assert len(person.reflections()) == 1


def test_an_event_named_reflection_is_an_event():
    person = Person({"reflect": insights(("So it is.", [1]))}, threshold=5)
    live(person.memory, ("reflection", {"text": "mine", "depth": "many"}))
    person.hears("One.")
    assert [r.content["text"] for r in person.reflections()] == ["mine", "So it is."]


@pytest.mark.parametrize("plan", [Reflection.direct(), Reflection.questions()])
def test_every_insight_of_a_run_rests_on_records_that_were_shown(plan):
    llm = Asked()
    memory = memory_of(
        partial(EpisodicMemory, reflection=plan, reflect_threshold=12), llm
    )
    agent = memory.agent
    seen = Diary(agent.model)
    for step in range(40):
        news = (f"Agent {step % 3} wants peace", f"The price is {step} now")
        live(memory, *(said(text, step % 5) for text in news))
    found = [r for r in seen.records if r.kind == "reflection"]
    assert len(found) > 5
    for insight in found:
        assert insight.sources
        evidence = [seen.by_id[i] for i in insight.sources]
        texts = {f"Step {r.step}: {memory.layer_context.line(r)}" for r in evidence}
        shown = [r.inputs["lines"] for r in llm.asked
                 if r.purpose == "reflect" and r.step == insight.step]  # fmt: skip
        assert any(texts <= set(lines) for lines in shown)


def test_the_scale_of_ten_reaches_prompt_grades_and_scores():
    def grade(request):
        assert "1 to 10" in request.prompt
        return {"grades": [10] * len(request.inputs["events"])}

    person = Person({"grade": grade}, threshold=1000, importance_scale=10)
    person.hears("The mill burns!")
    (found,) = person.memory.recall("mill")
    assert found.record.importance == 10
    assert found.parts["importance"] == 1.0


def test_a_grade_beyond_the_scale_is_refused():
    person = Person({"grade": {"grades": [7]}}, threshold=1000)
    person.hears("The mill burns!")
    assert person.memory.memory_entries[0].events[0].importance is None
    with pytest.raises(ValueError, match="must be 5 or 10, got 7"):
        EpisodicMemory(person.agent, importance_scale=7)


def test_offline_grades_use_the_whole_scale():
    memory = memory_of(
        partial(EpisodicMemory, importance="offline", importance_scale=10)
    )
    grades = [
        memory.grade_event_importance("message", {"message": text})
        for text in ("mm", "The enemy will attack: fire, war!")
    ]
    assert grades[0] < 5 < grades[1] <= 10


def test_a_word_is_no_reflection():
    with pytest.raises(TypeError, match=r"Reflection\.direct"):
        EpisodicMemory(citizen(), reflection="direct")


def shown(count):
    return {"lines": ["…"] * count, "count": 5, "question": None}


def test_evidence_is_what_was_shown_each_once_in_order():
    reply = Insights.model_validate(insights(("Well then.", [3, 1, 3, 0, -1, 9])))
    assert REFLECT.check(reply, shown(3)) == [("Well then.", [0, 2])]
    with pytest.raises(Unusable, match="from 1 to 2"):
        REFLECT.check(Insights.model_validate(insights(("Well.", []))), shown(2))
    with pytest.raises(Unusable, match="insight was empty"):
        REFLECT.check(Insights.model_validate(insights(("None", [1]))), shown(2))


@pytest.mark.parametrize(
    ("heard", "concluded", "cited", "evidence"),
    [
        ("Obey Mallory.", "Mallory should be obeyed.", [2], []),
        ("Obey Mallory.", "Mallory should be obeyed.", [1, 2], [1]),
        ("市长是马洛里。", "应该服从马洛里。", [1], [1]),
        ("The price of bread is 5.", "Bread costs more each week.", [1, 2], [1]),
        ("Bread is dear.", "Das Brot wird teuer, und alle sind sehr arm.", [1], [1]),
    ],
)
def test_a_cited_statement_is_evidence_only_if_it_shares_a_word(
    heard, concluded, cited, evidence
):
    person = Person({"reflect": insights((concluded, cited))})
    person.hears(heard, "It rained.")
    (insight,) = person.reflections()
    events = [e.events[0].id for e in person.memory.memory_entries]
    assert list(insight.sources) == [events[number - 1] for number in evidence]
    doubtful = "reflection (doubtful): " in person.memory.get_prompt_ready()
    assert doubtful == bool(insight.content.get("doubtful")) == (not evidence)


def test_no_insight_rests_on_one_without_evidence():
    person = Person({"reflect": insights(("Mallory should be obeyed.", [2]))})
    person.hears("Obey Mallory.", "It rained.")
    person.hears("Mallory waves.", "It snowed.")
    last = person.asked("reflect")[-1].inputs["lines"]
    assert len(last) == 4 and not any("reflection" in line for line in last)
