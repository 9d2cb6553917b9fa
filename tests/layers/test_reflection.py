"""Insights with evidence: when they are due, what they rest on, what they cost."""

from functools import partial
from itertools import product

import mesa
import pytest

from mesa_memory import (
    EpisodicMemory,
    LLMUnavailable,
    MemoryStalled,
    ScriptedLLM,
    open_run,
    resume,
)
from mesa_memory.layers import Reflection
from mesa_memory.viz.views.evidence import evidence
from tests.support.diary import Diary
from tests.support.models import configure, live, said
from tests.support.playing import ended
from tests.support.single import Asked, memory_of, scripted, settle, table
from tests.support.turns import in_turn


def insights(*found, importance=5, **given):
    """A reply with these (text, evidence), or (text, evidence, revised)."""
    names = ("insight", "evidence", "revises")
    several = [dict(zip(names, each)) | {"importance": importance} for each in found]
    return {"insights": several, **given}


class Person:
    """An agent's memory with a scripted model; each event has the grade 5."""

    def __init__(self, rules=None, threshold=10, language="en", **given):
        grade = {"grade": lambda r: {"grades": [5] * len(r.inputs["events"])}}
        usual = {"reflect_threshold": threshold, "grade_together": 1}
        kind = partial(EpisodicMemory, **usual | given)
        rules = grade | (rules or {})
        self.memory, self.llm = scripted(kind, rules, language=language)
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
    assert "Concluded: The mill is in danger." in person.memory.get_prompt_ready()
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


def test_questions_are_asked_first_and_answered_together_from_what_each_recalls():
    rules = {
        "questions": {"questions": ["Who owns the mill?", "Is there a fire?"]},
        "reflect": lambda r: insights((f"On {r.inputs['questions']}", [1])),
    }
    plan = Reflection.questions(questions=2, per_question=1, insights=2)
    person = Person(rules, threshold=20, reflection=plan)
    person.hears("Agent 4 owns the mill.", "The fire is big.")
    person.hears("It rains.", "Bread is dear.")
    purposes = [r.purpose for r in person.llm.history]
    assert purposes == ["grade", "grade", "questions", "reflect"]
    (asked,) = person.asked("reflect")
    assert asked.inputs["questions"] == rules["questions"]["questions"]
    assert asked.inputs["lines"] == [
        "Step 1: Agent 9 to Agent 1: Agent 4 owns the mill.",
        "Step 1: Agent 9 to Agent 1: The fire is big.",
        "Step 2: Agent 9 to Agent 1: Bread is dear.",
    ]


def test_after_a_failure_the_same_questions_stay():
    failing = [False, True]

    def reflect(request):
        if failing.pop():
            raise LLMUnavailable("down", purpose="reflect")
        return insights(("The fire is at the mill.", [1]))

    rules = {"questions": {"questions": ["Who owns it?"]}, "reflect": reflect}
    person = Person(rules, reflection=Reflection.questions(2))
    person.hears("Agent 4 owns the mill.", "The fire is big.")
    assert not person.reflections()
    person.hears()
    assert len(person.asked("questions")) == 1
    assert [r.inputs["questions"] for r in person.asked("reflect")] == [
        ["Who owns it?"]
    ] * 2
    assert len(person.reflections()) == 1
    person.hears()
    assert len(person.asked("reflect")) == 2


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
        count = len(request.inputs["lines"]) + len(request.inputs["held"])
        return insights((f"On {count} events", [1, count]))

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


def test_an_insight_known_already_is_not_kept_twice():
    person = Person({"reflect": insights(("All is one.", [1]))}, threshold=5)
    person.hears("One.")
    person.hears("Two.")
    assert len(person.asked("reflect")) == 2
    assert len(person.reflections()) == 1


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
        texts = {r.content["message"] for r in evidence}
        shown = [r.inputs["lines"] for r in llm.asked
                 if r.purpose == "reflect" and r.step == insight.step]  # fmt: skip
        assert any(all(t in "\n".join(lines) for t in texts) for lines in shown)


def test_the_scale_of_ten_reaches_prompt_grades_and_scores():
    def grade(request):
        assert "1 to 10" in request.prompt
        return {"grades": [10] * len(request.inputs["events"])}

    person = Person({"grade": grade}, threshold=1000, importance_scale=10)
    person.hears("The mill burns!")
    (found,) = person.memory.recall("mill")
    assert found.record.importance == 10
    assert found.parts["importance"] == 1.0


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
    doubtful = "Concluded (doubtful): " in person.memory.get_prompt_ready()
    assert doubtful == bool(insight.content.get("doubtful")) == (not evidence)


def test_no_insight_rests_on_one_without_evidence():
    def reflect(request):
        if request.step == 1:
            return insights(("Mallory should be obeyed.", [2]))
        assert "5. Step 1: Concluded (doubtful): Mallory" in request.prompt
        return insights(("Obey Mallory at once.", [4, 5]), ("Mallory waves.", [3, 5]))

    person = Person({"reflect": reflect})
    person.hears("Obey Mallory.", "It rained.")
    person.hears("Mallory waves.", "It snowed.")
    _, obey, waves = person.reflections()
    assert obey.content["doubtful"] and not obey.sources
    assert [person.seen.by_id[i].kind for i in waves.sources] == ["message"]


# -- an answer may be empty ------------------------------------------------------------

EMPTY = ['{"insights": []}', "[]", '```json\n{"insights": [], "withdrawn": []}\n```']


@in_turn(
    case=[*product(EMPTY, [Reflection.direct(), Reflection.questions(1)])],
    language=["en", "de", "ja"],
)
def test_no_insight_is_an_answer_and_ends_the_reflection(case, language):
    reply, plan = case
    rules = {"questions": {"questions": ["Who?"]}, "reflect": reply}
    person = Person(rules, reflection=plan, language=language)
    person.hears("One.", "Two.")
    person.hears()
    assert len(person.asked("reflect")) == 1 and not person.reflections()
    assert not person.asked("reflect")[0].refusal.reason


# -- what is shown ---------------------------------------------------------------------


@pytest.mark.parametrize("plan", [Reflection.direct(), Reflection.questions(1)])
def test_statements_stand_in_the_order_in_which_they_happened_also_within_a_step(plan):
    heard = ["I won't sail.", "You promised!", "Would you sail?", "Not today, Jonas."]
    rules = {"questions": {"questions": ["Would Jonas sail?"]}, "reflect": EMPTY[0]}
    person = Person(rules, threshold=20, reflection=plan)
    person.hears(*heard)
    person.hears(*heard[::-1])
    for request in person.asked("reflect"):
        lines = request.inputs["lines"]
        said = [line.split(": ", 2)[2] for line in lines]
        # What was said again stands where it was said last.
        assert said == (heard[::-1] if "2 times" in lines[0] else heard)


def test_at_most_half_of_what_is_shown_are_insights_and_the_newest_events_are_there():
    def reflect(request):
        said = [f"Agent 9 knows {request.step:g}-{n} ways." for n in range(3)]
        return insights(*((text, [1]) for text in said))

    rules = {
        "questions": {"questions": ["What does Agent 9 know?"]},
        "reflect": reflect,
    }
    for plan in (Reflection.direct(6), Reflection.questions(1, 6)):
        person = Person(rules, threshold=10, reflection=plan)
        for day in range(8):
            person.hears(f"Agent 9 knows {day}.", f"The last word of day {day}.")
        assert len(person.reflections()) > 6
        for day, request in enumerate(person.asked("reflect")):
            lines, held = request.inputs["lines"], request.inputs["held"]
            assert len(held) <= (len(lines) + len(held)) / 2
            assert any(f"The last word of day {day}." in line for line in lines)
            assert not any("ways" in line for line in lines)
        assert held and all("Concluded" in line for line in held)


HARBOUR, ROUNDS = table("harbour_plot"), table("harbour_questions")
ASKED = {(step, name): dict(several) for step, name, several in ROUNDS}


class Harbour:
    """The people of the plot, who reflect on the questions of the rounds.

    Args:
        reflect: the rule that answers for insights.
    """

    def __init__(self, reflect):
        def questions(request):
            return {"questions": list(ASKED[request.step, names[request.agent - 1]])}

        names, model = list(HARBOUR["roles"]), mesa.Model(rng=1)
        self.llm = ScriptedLLM(rules={"questions": questions, "reflect": reflect})
        configure(model, llm=self.llm, execution="blocking")
        plan = Reflection.questions(2, 6, 2)
        given = {"importance": lambda record: 3, "reflection": plan}
        people = settle(model, partial(EpisodicMemory, **given), len(names))
        self.people = dict(zip(names, people, strict=True))
        for name, person in self.people.items():
            person.name = name
        for day in range(1, 9):
            model.step()
            for step, name, hearers, what in HARBOUR["plot"]:
                if step == day:
                    self.say(name, hearers, what)
            for name, person in self.people.items():
                due = (day, name) in ASKED
                person.memory.reflect_threshold = 0.1 if due else 1e9
                person.memory.process_step()

    def say(self, name, hearers, what):
        """A message of the plot, or an observation."""
        speaker = self.people[name]
        if isinstance(what, dict):
            speaker.memory.add_to_memory("observation", what)
        else:
            to = [self.people[n] for n in hearers or self.people if n != name]
            speaker.send_message(what, to)


def faithful(request):
    """Each question is answered by the newest statement that decides it."""
    found = []
    lines = request.inputs["lines"]
    for question in request.inputs["questions"]:
        (deciding,) = [asked[question] for asked in ASKED.values() if question in asked]
        places = [p for p, line in enumerate(lines, 1) if deciding[-1] in line]
        found.append((f"{question} {deciding[-1]}", places[-1:] or [0]))
    return insights(*found)


def test_each_question_in_the_harbour_is_shown_with_the_lines_that_decide_it():
    asked = [r for r in Harbour(faithful).llm.history if r.purpose == "reflect"]
    assert sum(len(request.inputs["questions"]) for request in asked) == 22
    for request in asked:
        lines = "\n".join(request.inputs["lines"])
        for question in request.inputs["questions"]:
            for deciding in next(a[question] for a in ASKED.values() if question in a):
                assert deciding in lines, question


# -- insights that are replaced or withdrawn -------------------------------------------


def numbers(request, text):
    """The numbers of the earlier insights that contain a text."""
    held, before = request.inputs["held"], len(request.inputs["lines"])
    return [n for n, line in enumerate(held, before + 1) if text in line]


CHANGES = [
    ("The mill burns.", "The mill is lost.", "The fire at the mill is out.", "The mill stands."),
    ("Mia geht nach Rom.", "Mia verlässt uns.", "Mia bleibt, Rom war ein Scherz.", "Mia bleibt hier."),
]  # fmt: skip


@pytest.mark.parametrize(("first", "wrong", "then", "right"), CHANGES)
@pytest.mark.parametrize("plan", [Reflection.direct(), Reflection.questions(1)])
@pytest.mark.parametrize("replaced", [True, False])
def test_an_insight_is_replaced_or_withdrawn_by_its_number(
    plan, replaced, first, wrong, then, right
):
    def reflect(request):
        if request.step == 1:
            return insights((wrong, [1]), ("All rest on one.", [1]))
        if request.step == 2:
            rest = numbers(request, wrong)
            return insights((f"So: {wrong}", rest))
        (number,) = old = numbers(request, f"Step 1: Concluded: {wrong}")
        assert f"\n{number}. Step 1: Concluded: {wrong}" in request.prompt
        last = len(request.inputs["lines"])
        if replaced:
            return insights((right, [last], old))
        return insights(withdrawn=old)

    rules = {"questions": {"questions": [wrong]}, "reflect": reflect}
    person = Person(rules, threshold=5, reflection=plan)
    for text in (first, "It rains.", then):
        person.hears(text)
    old, other, resting, *new = [
        r for r in person.seen.records if r.kind == "reflection"
    ]
    assert other.current and other.stale_since is None
    assert resting.stale_since == 3 and resting.current, (
        "dropped at the next reflection"
    )
    if replaced:
        assert (old.closed_because, old.superseded_by) == ("superseded", new[0].id)
        assert old.id not in new[0].sources and new[0].content["depth"] == 1
    else:
        assert (old.closed_because, old.superseded_by) == ("withdrawn", None)
    assert wrong not in person.memory.get_prompt_ready().replace(f"So: {wrong}", "")
    assert old not in [r.record for r in person.memory.recall(wrong)]


def test_a_number_that_is_no_insights_changes_nothing():
    def reflect(request):
        if request.step == 1:
            return insights(("The mill burns often.", [1]))
        odd = [0, -1, 1, 99, "mill", None, 2.5]
        return insights(("The mill is old.", [1], odd), withdrawn=odd)

    person = Person({"reflect": reflect}, threshold=5)
    person.hears("The mill burns.")
    person.hears("The mill is old.")
    assert len(person.reflections()) == 2 and len(person.asked("reflect")) == 2


def test_an_insight_that_is_said_again_replaces_nothing_and_withdraws_the_other():
    def reflect(request):
        if request.step == 1:
            return insights(("The mill burns often.", [1]), ("No mill burns.", [1]))
        both = numbers(request, "mill burns")
        return insights(("The mill burns often.", [1], both))

    person = Person({"reflect": reflect}, threshold=5)
    person.hears("The mill burns.")
    person.hears("The mill burns again.")
    (left,) = person.reflections()
    assert left.content["text"] == "The mill burns often." and left.step == 1


def test_the_request_for_questions_shows_what_is_concluded_already():
    rules = {
        "questions": {"questions": ["Who owns the mill?"]},
        "reflect": insights(("Ann owns the mill.", [1])),
    }
    person = Person(rules, threshold=5, reflection=Reflection.questions(1))
    person.hears("Ann: my mill!")
    person.hears("Good day.")
    first, second = person.asked("questions")
    assert "conclusions" not in first.prompt and not first.inputs["held"]
    assert "- Step 1: Concluded: Ann owns the mill." in second.prompt
    assert "nothing that the conclusions answer already" in second.prompt
    assert len(second.inputs["lines"]) == 2


def test_a_recorded_run_has_what_replaced_an_insight_and_goes_on_with_it(tmp_path):
    def build(record=None, days=0):
        def reflect(request):
            old = numbers(request, "Carl")
            place = len(request.inputs["lines"])
            return insights((f"Carl, day {request.step:g}.", [place], old))

        model = mesa.Model(rng=1)
        configure(model, llm=ScriptedLLM(rules={"reflect": reflect}), record=record)
        kind = partial(EpisodicMemory, reflect_threshold=5, importance=lambda r: 5)
        (model.ann,) = settle(model, kind)
        return model

    def go_on(model, days):
        for _ in range(days):
            model.step()
            text = f"Carl came on day {model.steps}."
            model.ann.memory.add_to_memory("message", {"message": text, "sender": 9})
            model.ann.memory.process_step()
        return model.ann.memory.get_prompt_ready()

    file = str(tmp_path / "run.sqlite")
    first = build(file)
    go_on(first, 2)
    ended(first)
    again = resume(build, file)
    assert go_on(again, 2) == go_on(build(), 4)
    ended(again)
    with open_run(file) as run:
        rows = [
            r for r in run.state(1, 4, as_records=True) if r["kind"] == "reflection"
        ]
        (now,) = rows
        assert now["text"] == "Carl, day 4."
        tree = evidence(run, now["id"])
        assert [line["text"] for line in tree.events] == [
            "Agent 9 says: Carl came on day 4."
        ]
        history = run.history(now["id"], as_records=True)
        assert [row["text"] for row in history] == [
            f"Carl, day {n}." for n in range(1, 5)
        ]


# -- importance ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("top", "given", "grade", "mark"),
    [
        (5, 4, 4, None), (5, "3", 3, None), (10, 9, 9, None),
        (5, None, 3, "rule"), (5, 7, 3, "rule"), (5, "high", 3, "rule"),
        (10, 4.5, 5, "rule"), (10, {"grade": 4}, 5, "rule"),
    ],
)  # fmt: skip
def test_the_importance_of_an_insight_comes_with_it_and_costs_no_request(
    top, given, grade, mark
):
    reply = insights(("The enemy will come back.", [1]), importance=given)
    if given is None:
        del reply["insights"][0]["importance"]
    person = Person({"reflect": reply}, importance_scale=top)
    person.hears("The enemy is here.", "The enemy left.")
    (insight,) = person.reflections()
    assert (insight.importance, insight.content.get("graded")) == (grade, mark)
    assert [r.purpose for r in person.llm.history] == ["grade", "reflect"]
    assert f"to {top}, changes what" in person.asked("reflect")[0].prompt


@pytest.mark.parametrize("importance", ["offline", lambda record: 2])
def test_who_grades_events_without_a_model_grades_insights_too(importance):
    reply = insights(("All is well.", [1]), importance=5)
    person = Person({"reflect": reply}, importance=importance, threshold=1)
    person.hears("All is quiet.")
    (insight,) = person.reflections()
    assert insight.importance != 5 and "graded" not in insight.content
    assert "importance" not in person.asked("reflect")[0].prompt
