"""The quiz of what agents really heard, and d' of recognition."""

import random
import re
from collections import Counter
from functools import partial

import mesa
import numpy as np
import pytest
from scipy.stats import binomtest

from mesa_memory import MemoryModule, ShortTermMemory, configure
from mesa_memory.experiments import MemoryQuiz, Question, quiz_shares
from mesa_memory.llm.doubles.scripted import ScriptedLLM
from mesa_memory.memories.registry import find
from mesa_memory.runtime.services import Services
from mesa_memory.statistics.recognition import d_prime
from tests.support.single import settle

STEPS = 12
LINE = re.compile(r"- (?:Step ([\d]+): )?(\w+) to ([^:]+): (.*)")


def read(request):
    """Answers from the lines of the prompt alone."""
    memory, question = request.prompt.rsplit("Question: ", 1)
    step, lines = None, []
    for line in memory.splitlines():
        if heading := re.match(r"Step (\d+):$", line):
            step = heading[1]
        if said := LINE.match(line):
            lines.append((said[1] or step, said[2], said[3], said[4]))
    quotes = re.findall("“(.*?)”", question)
    found = [[line for line in lines if quote in line[3]] for quote in quotes]
    if question.startswith("Has anybody"):
        return "yes" if found[0] else "no"
    if not all(found):
        return "I do not know."
    (at, who, hearers, _), *_ = found[0]
    if question.startswith("Who told"):
        return who
    if question.startswith("In which"):
        return at
    if question.startswith("Who else"):
        return hearers.replace("you", "") or "nobody"
    return "1" if int(at) < int(found[1][0][0]) else "2"


class Nothing(MemoryModule):
    """Keeps nothing."""


class Square(mesa.Model):
    """Three people talk; what is said in a step is said once."""

    def __init__(self, memory, llm, file):
        super().__init__(rng=1)
        configure(self, llm=llm, record=str(file))
        self.people = settle(self, memory, 3)
        for person, name in zip(self.people, ("Ann", "Bob", "Cy")):
            person.name = name

    def step(self):
        ann, bob, cy = self.people
        hearers = [ann, cy] if self.steps % 2 else [ann]
        bob.send_message(f"The barrel number {self.steps} holds salt.", hearers)
        cy.send_message(f"Wagon {self.steps} brought wool to the fair.", [bob])
        for person in self.people:
            person.memory.process_step()


def quizzed(memory, file, llm=read, items=99):
    model = Square(memory, ScriptedLLM(rules={"probe": llm, "*": "Nothing."}), file)
    for _ in range(STEPS):
        model.step()
    return MemoryQuiz(items=items, agents=[1]).ask(model), model


pytestmark = pytest.mark.filterwarnings("ignore:the run of Square")


def shares(memory, file):
    answers, model = quizzed(memory, file)
    Services.of(model).recorder.close()
    return quiz_shares(answer.value for answer in answers), answers


@pytest.mark.parametrize("kept", [3, 7, 100])
def test_a_window_keeps_exactly_the_share_of_events_younger_than_it(kept, tmp_path):
    found, _answers = shares(
        lambda a: ShortTermMemory(a, n=kept), tmp_path / "r.sqlite"
    )
    for kind in ("heard", "source", "when"):
        assert found["memory"][kind] == min(kept, STEPS) / STEPS, kind
        assert found["events"][kind] == 1
    assert found["events"]["company"] == 1
    assert found["events"]["order"] == found["events"]["lure"] == 1
    assert found["memory"]["lure"] == found["memory"]["false source"] == 1


def test_no_memory_is_right_in_nothing_and_invents_nothing(tmp_path):
    found, answers = shares(Nothing, tmp_path / "r.sqlite")
    for kind in ("heard", "source", "when", "order"):
        assert found["memory"][kind] == 0
    wrong = [a.value for a in answers if a.value["memory"]["judged"] == "wrong"]
    assert {each["kind"] for each in wrong} == {"heard"}  # it says no, as it must
    assert found["memory"]["false source"] == 1


def test_a_scrambled_placebo_is_chance(tmp_path):
    """Who finds nothing guesses: the speaker among two, the order, old or new."""
    values = []

    def guess(request, guesses):
        question = request.prompt.rsplit("Question: ", 1)[1]
        if question.startswith("Has anybody"):
            return read(request)
        options = ["Bob", "Cy"] if question.startswith("Who told") else ["1", "2"]
        found = read(request)
        return guesses.choice(options) if found == "I do not know." else found

    made = find("placebo:scrambled:short_term")
    for turn in range(8):
        file, llm = (
            tmp_path / f"{turn}.sqlite",
            partial(guess, guesses=random.Random(turn)),
        )
        answers, model = quizzed(made, file, llm)
        Services.of(model).recorder.close()
        values += [answer.value for answer in answers]
    found = quiz_shares(values)
    asked = Counter(value["kind"] for value in values)
    for kind in ("source", "order"):
        low, high = binomtest(asked[kind] // 2, asked[kind]).proportion_ci(0.99)
        assert low < found["memory"][kind] < high and found["events"][kind] == 1, kind
    assert abs(found["memory"]["d'"]) < 0.1 and found["events"]["d'"] > 3


def test_a_question_is_judged_by_the_truth_of_its_user(tmp_path):
    def barrel(request):
        memory = request.prompt.rsplit("Question: ", 1)[0]
        found = re.findall(r"barrel number (\d+)", memory)
        asks = "How many" in request.prompt, "salt" in request.prompt
        if asks[0]:
            return f"{found[-1]} barrels" if found else "I do not know."
        return "yes" if found else "no"

    questions = [
        Question("barrels", "How many barrels?", "integer", truth=lambda m, a: m.steps),
        Question("salt", "Is there salt?", truth=lambda m, a: True),
    ]  # fmt: skip
    quiz = MemoryQuiz(items=0, agents=[1], questions=questions)
    for memory, judged in ((Nothing, "unknown"), (ShortTermMemory, "right")):
        llm = ScriptedLLM(rules={"probe": barrel, "*": "Nothing."})
        model = Square(memory, llm, tmp_path / f"{judged}.sqlite")
        for _ in range(STEPS):
            model.step()
        number, salt = (answer.value for answer in quiz.ask(model))
        assert (number["memory"]["judged"], number["kind"]) == (judged, "barrels")
        assert salt["memory"]["judged"] == ("right" if judged == "right" else "wrong")
        assert number["events"]["judged"] == salt["events"]["judged"] == "right"
        Services.of(model).recorder.close()
    with pytest.raises(ValueError, match="needs a truth"):
        MemoryQuiz(questions=[Question("q", "Why?")])


def test_the_quiz_leaves_no_trace(tmp_path):
    texts = []
    for asks in (True, False):
        model = Square(
            ShortTermMemory,
            ScriptedLLM(rules={"*": "Nothing.", "probe": read}),
            tmp_path / f"{asks}.sqlite",
        )
        for _ in range(6):
            model.step()
            if asks:
                MemoryQuiz(items=2).ask(model)
        texts.append([p.memory.get_prompt_ready() for p in model.people])
        texts[-1].append(model.random.random())
        Services.of(model).recorder.close()
    assert texts[0] == texts[1]


def test_d_prime_is_nothing_for_answers_at_random_and_2_12_for_an_oracle():
    random_ = [d_prime(*simulated(seed, 0.5, 0.5, 2000)) for seed in range(10)]
    assert abs(np.mean(random_)) < 0.1
    oracle = [d_prime(*simulated(seed, 0.8, 0.1, 200)) for seed in range(10)]
    assert abs(np.mean(oracle) - 2.12) < 0.1


def simulated(seed, hit, alarm, number):
    chance = np.random.default_rng(seed)
    return chance.binomial(number, hit), number, chance.binomial(number, alarm), number
