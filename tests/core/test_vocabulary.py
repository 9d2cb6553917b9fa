"""Each language has its table of words, by which questions and rules are read."""

import pickle
import tomllib

import pytest

from mesa_memory.core.prompt_files import FOLDER, languages
from mesa_memory.core.text.vocabulary import vocabulary
from mesa_memory.core.wording import Wording
from mesa_memory.retrieval.bm25 import LexicalIndex
from mesa_memory.retrieval.query import TimeConstraint
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.impress import offline_impression
from tests.support.single import table

#: keys of a table that may say nothing
POSSIBLY_EMPTY = ("list", "subjects", "stop_words", "stemmer")


def words(language):
    return tomllib.loads((FOLDER / language / "words.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", languages())
def test_no_language_lacks_a_list_or_a_pattern(language):
    told, first = words(language), words("en")
    assert told.keys() == first.keys()
    wanted = [key for key in first if key not in POSSIBLY_EMPTY]
    assert all(told[key] not in ("", []) for key in wanted)
    assert told["list"] or told["stop_words"]
    assert pickle.loads(pickle.dumps(vocabulary(language))) is vocabulary(language)


@pytest.mark.parametrize(("language", "said", "asked"), table("spoken")["found"])
def test_inflected_words_and_parts_of_sentences_are_found(language, said, asked):
    index = LexicalIndex(vocabulary(language))
    index.add(said)
    index.add({"zh": "今天下雨。", "ja": "今日は雨だ。"}.get(language, "xyz"))
    found = index.scores(asked)
    assert found[0] > 0 and found[1] == 0


@pytest.mark.parametrize("language", languages())
def test_function_words_find_nothing(language):
    known = vocabulary(language)
    assert all(not known.stems(word) for word in known.stop_words)


@pytest.mark.parametrize(
    ("language", "asked", "step", "present", "before"),
    table("time_questions")["languages"],
)
def test_a_question_s_time_is_read(language, asked, step, present, before):
    found = TimeConstraint.of(asked, vocabulary(language))
    assert (found.step, found.present, bool(found.before)) == (step, present, before)
    assert "ada" in [word.casefold() for word in found.said]


@pytest.mark.parametrize(("language", "weighty", "plain"), table("spoken")["weighty"])
def test_rules_know_what_weighs_and_who_is_hostile(language, weighty, plain):
    told = vocabulary(language)
    grade = offline_grade("message", weighty, told=told)
    assert grade > offline_grade("message", plain, told=told)
    other = {"subject": "Bo", "previous": None, "since": [weighty] * 3}
    found = offline_impression(other, Wording(language))
    assert found["sentiment"] < 0 < found["familiarity"]
