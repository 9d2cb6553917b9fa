"""Search by words: an index that grows and shrinks gives what a new one would."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS
from mesa_memory.retrieval.bm25 import K1, B, LexicalIndex

WORDS = [
    "mill",
    "fire",
    "bread",
    "Anna",
    "river",
    "1987",
    "election",
    "market",
    "wolf",
    "bridges",
    "sold",
]


def naive(documents, query):
    """BM25 of each document, straight from the formula."""
    counted = [Counter(ENGLISH_WORDS.terms(text)) for text in documents]
    lengths = [sum(counts.values()) for counts in counted]
    mean = sum(lengths) / len(lengths) or 1
    scored = []
    for counts, length in zip(counted, lengths, strict=True):
        score = 0.0
        for term in set(ENGLISH_WORDS.terms(query)):
            frequency = sum(term in other for other in counted)
            idf = math.log(1 + (len(counted) - frequency + 0.5) / (frequency + 0.5))
            tf = counts[term]
            score += idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean))
        scored.append(score)
    return scored


@pytest.mark.parametrize("compacting", [False, True])
def test_after_any_additions_and_removals_scores_are_those_of_the_formula(compacting):
    for seed in range(5):
        draw = random.Random(seed)
        index, living = LexicalIndex(), {}
        for turn in range(150):
            if living and draw.random() < 0.4:
                number = draw.choice(list(living))
                index.remove(number)
                del living[number]
            else:
                text = " ".join(draw.choices(WORDS, k=draw.randrange(0, 9)))
                living[index.add(text)] = text
            if compacting and turn % 40 == 39:
                kept = index.compact().tolist()
                living = {new: living[old] for new, old in enumerate(kept)}
        query = "Did the bridge at the mill burn in 1987, Anna?"
        scored = index.scores(query)
        expected = np.zeros(len(scored))
        expected[list(living)] = naive(list(living.values()), query)
        np.testing.assert_allclose(scored, expected, rtol=1e-5)
        assert len(index) == len(living)


def test_forms_of_a_word_match_and_function_words_do_not():
    index = LexicalIndex()
    index.add("She was painting sunrises")
    index.add("He is at the house")
    assert index.scores("When did she paint the sunrise?")[0] > 0
    assert not index.scores("what is the").any()


def test_an_empty_index_an_empty_query_and_an_empty_document_are_no_trouble():
    index = LexicalIndex()
    assert index.scores("mill").shape == (0,)
    index.add("")
    assert index.scores("mill").tolist() == [0]
    assert index.scores("").tolist() == [0]
    index.remove(0)
    assert index.compact().tolist() == []
    assert index.add("mill") == 0
