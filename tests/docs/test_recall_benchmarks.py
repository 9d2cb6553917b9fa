"""The recall benchmarks: an honest world, and figures that can be checked by hand."""

import json
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.recall import friends, locomo, published
from benchmarks.recall import world as world_command
from benchmarks.recall.corpus import (
    Corpus,
    Item,
    Question,
    by_kind,
    evidence_ranks,
    measure,
    ours,
    recall_at,
    reciprocal,
)
from benchmarks.recall.history import PHRASINGS, world
from benchmarks.recall.remembered import RememberedEmbedder
from mesa_memory import Scoring
from mesa_memory.embedders import embedder as embedder_of

EMBEDDER = RememberedEmbedder(embedder_of("static"))
NAME, STEP = r"(?P<n>Agent \d+)", r"(?P<t>\d+)"


class Plain:
    """Texts that are numbers on a line, embedded as points of a circle."""

    name, dim, batch = "plain", 2, 100

    def embed(self, texts):
        angles = np.array([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype("f4")


@cache
def pattern(template, values=()):
    """A phrase as a regular expression that finds who, what and when in a text."""
    value = "(?P<v>" + "|".join(map(re.escape, values)) + ")"
    parts = re.split(r"(\{[nvt]\})", template)
    groups = {"{n}": NAME, "{v}": value, "{t}": STEP}
    return re.compile("".join(groups.get(part, re.escape(part)) for part in parts))


def read(templates, text, values=()):
    """The groups of the one template that the text is made from, or None."""
    for template in templates:
        if found := pattern(template, values).fullmatch(text):
            return found.groupdict()
    return None


def histories(corpus, aspects):
    """What was told of each aspect of each person, read from the texts alone."""
    told = {}
    for item in corpus.items:
        said = item.text.partition(" says: ")[2]
        for number, aspect in enumerate(aspects):
            own = read(aspect.own, said, aspect.values)
            other = read(aspect.others, said, aspect.values)
            if own or other:
                who = item.who if own else other["n"]
                change = (item.step, (own or other)["v"], item.id)
                told.setdefault((who, number), []).append(change)
    return told


def answer(question, aspects, told):
    """The id of the item that answers a question, worked out from the texts."""
    for number, aspect in enumerate(aspects):
        if found := read(aspect.now, question.text):
            return told[found["n"], number][-1][2]
        if found := read(aspect.then, question.text):
            valid = [c for c in told[found["n"], number] if c[0] <= int(found["t"])]
            return valid[-1][2]
        if found := read(aspect.before, question.text, aspect.values):
            changes = told[found["n"], number]
            later = [value for _, value, _ in changes].index(found["v"])
            return changes[later - 1][2]
    raise AssertionError(f"no template for {question.text!r}")


# -- the world --------------------------------------------------------------------


def test_the_same_seed_gives_the_same_world_and_another_seed_another():
    assert world(3, 5, 120) == world(3, 5, 120)
    assert world(3, 5, 120) != world(4, 5, 120)


@pytest.mark.parametrize("phrasing", PHRASINGS)
def test_the_evidence_of_each_question_is_what_the_texts_themselves_say(phrasing):
    corpus, aspects = world(7, 6, 300, phrasing), PHRASINGS[phrasing][0]
    told = histories(corpus, aspects)
    checked = [q for q in corpus.questions if q.kind != "unchanged"]
    assert {q.kind for q in checked} == {"present", "past: at a step", "past: before"}
    for question in checked:
        assert question.evidence == (answer(question, aspects, told),), question


@pytest.mark.parametrize("phrasing", PHRASINGS)
def test_what_never_changes_is_told_once_by_the_person_it_is_about(phrasing):
    corpus, facts = world(7, 6, 300, phrasing), PHRASINGS[phrasing][1]
    items = {item.id: item for item in corpus.items}
    asked = [q for q in corpus.questions if q.kind == "unchanged"]
    assert len(asked) == 6 * len(facts)
    for question in asked:
        item = items[question.evidence[0]]
        fact = next(f for f in facts if read(f.asked, question.text))
        assert read(fact.asked, question.text)["n"] == item.who
        assert read(fact.told, item.text.partition(" says: ")[2], fact.values)


def test_most_of_what_is_remembered_answers_nothing():
    corpus = world(1)
    evidence = {name for question in corpus.questions for name in question.evidence}
    assert len(corpus.items) > 2_000 and len(evidence) < len(corpus.items) / 5
    assert all(1 <= item.grade <= 5 for item in corpus.items)
    assert [i.step for i in corpus.items] == sorted(i.step for i in corpus.items)
    steps = {item.step for item in corpus.items if item.id in evidence}
    assert min(steps) < 50 and max(steps) > 450


# -- the figures ------------------------------------------------------------------


def test_recall_and_reciprocal_rank_by_hand():
    ranks = [[1, 7], [5], [6], [np.inf]]
    assert recall_at(5, ranks) == 100 * (0.5 + 1 + 0 + 0) / 4
    assert recall_at(10, ranks) == 75
    assert reciprocal(ranks) == round(100 * (1 + 1 / 5 + 1 / 6 + 0) / 4, 2)
    assert np.isnan(recall_at(5, [])) and np.isnan(reciprocal([]))


def test_what_a_ranker_does_not_find_has_no_rank():
    items = [Item(str(n), n, "A", "", str(n)) for n in range(3)]
    asked = [Question("1", ("2", "0"), "present"), Question("1", ("1",), "past")]
    answered = evidence_ranks(
        Corpus(items, asked, 2), Plain(), lambda *_: lambda _: ["1", "2"]
    )
    assert by_kind(answered) == {"present": [[2, np.inf]], "past": [[1]]}


def test_the_published_formula_by_hand():
    # cosines 1, 0, 0.5 to the query; grades 1, 5, 2; ages 2, 0, 1
    vectors = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.5, 0.5, 0.5, 0.5]])
    grades = [(0, 8, 1), (1, 10, 5), (2, 9, 2)]
    items = [Item(str(n), step, "A", str(n), "", grade) for n, step, grade in grades]
    corpus = Corpus(items, [], 10)
    rows = SimpleNamespace(embed=lambda texts: vectors[[int(text) for text in texts]])
    one = published.stream(corpus, rows)
    # 1 + 0 + 0, 0 + 1 + 1, 0.5 + 0.25 + about 0.5
    assert one("0") == ["1", "2", "0"]
    other = published.released(corpus, rows)
    # 3 + 0 + 0.5, 0 + 2 + 0, 1.5 + 0.5 + about 0.25: the oldest counts as the newest
    assert other("0") == ["0", "2", "1"]


# -- what the world shows ---------------------------------------------------------


def test_the_default_scoring_finds_more_than_the_published_formulas():
    worlds = [world(50, 10, 250, "direct")]
    rows = {
        name: world_command.measure(worlds, EMBEDDER, ranker)
        for name, ranker in {
            "ours": ours(Scoring(), 5),
            "mesa_llm": ours(Scoring.mesa_llm(), 5),
            **published.PUBLISHED,
        }.items()
    }
    for kind in ("present", "past", "unchanged"):
        others = [rows[name][kind] for name in rows if name != "ours"]
        assert rows["ours"][kind] > max(others), kind


@pytest.mark.parametrize("phrasing", PHRASINGS)
def test_reading_the_question_for_time_finds_more_of_the_past(phrasing):
    worlds = [world(seed, 10, 250, phrasing) for seed in (50, 51)]
    without, reading = (
        world_command.measure(worlds, EMBEDDER, ours(scoring, 5))
        for scoring in (Scoring(time_match=0.0), Scoring())
    )
    for kind in ("past: at a step", "past: before"):
        assert reading[kind] > without[kind], kind
    assert reading["unchanged"] == without["unchanged"], "no time is asked for"


# -- the commands -----------------------------------------------------------------


def conversations(tmp_path):
    turns = [
        {"id": f"D{n}", "speaker": "Ann", "text": text, "session": n, "date": "May"}
        for n, text in enumerate(["I adopted a dog", "Fine weather", "I sold the car"])
    ]
    questions = [
        {"question": "Which pet did Ann adopt?", "evidence": ["D0", "elsewhere"]},
        {"question": "What is not in the file?", "evidence": ["elsewhere"]},
    ]
    file = tmp_path / "data.json"
    data = {"conversations": [{"turns": turns, "questions": questions}]}
    file.write_text(json.dumps(data))
    return file


def test_questions_whose_evidence_is_not_in_the_file_do_not_count(tmp_path):
    corpora = locomo.corpora(conversations(tmp_path))
    for ranker in (ours(Scoring()), published.released):
        assert measure(corpora, EMBEDDER, ranker) == {
            "recall@5": 100.0, "recall@10": 100.0, "recall@25": 100.0,
            "mrr": 100.0, "questions": 1,
        }  # fmt: skip


def test_scenes_of_all_files_are_memories_of_thirty_with_answered_questions(tmp_path):
    def scene(number):
        lines = [(0, ["Ann", "Bo"], "Hello"), (1, ["#NOTE#"], f"Cy sells hat {number}")]
        answers = {
            "What is sold?": [(1, False), (1, False), (0, True)],
            "Who greets?": [(0, True)],
        }
        return {
            "utterances:": [
                {"uid": uid, "speakers": who, "utterance": said}
                for uid, who, said in lines
            ],
            "qas": [
                {
                    "question": asked,
                    "answers": [
                        {"utterance_id": line, "is_speaker": speaker}
                        for line, speaker in given
                    ],
                }
                for asked, given in answers.items()
            ],
        }

    files = [tmp_path / "dev.json", tmp_path / "tst.json"]
    for file, numbers in zip(files, (range(40), range(40, 70))):
        scenes = [{"paragraphs": [scene(number)]} for number in numbers]
        file.write_text(json.dumps({"data": scenes}))
    memories = friends.corpora(files)
    assert [len(memory.items) for memory in memories] == [60, 60, 20]
    second = memories[1].items[-1]
    assert (second.text, second.step) == ("#NOTE#: Cy sells hat 59", 29)
    assert memories[1].items[0].who == "Ann and Bo"
    assert memories[1].questions[-1] == Question("What is sold?", ("29/1",))
    assert all(len(memory.questions) == memory.now + 1 for memory in memories)
