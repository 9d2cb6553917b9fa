"""The terms of a text: words, names, numbers and language."""

import pytest

from mesa_memory.tasks.grounding import Terms, plain_words

SAID = "Ada sold 12 fish at 3.5 coins - to Bob, who said: it was GPT-4's idea. Good"


def terms(text):
    """All kinds of terms of a text."""
    found = Terms.of(text)
    kinds = found.words, found.names, found.numbers, found.tokens, found.sound
    return *kinds, found.language


def test_a_common_sign_parts_words_as_any_other_sign_does():
    for sign in "–—‘’“”•…":
        text = f"{SAID}{sign} Step 4: {sign}Carla{sign}s boat {sign} won{sign}t"
        other = text.replace(sign, "\u00a7")
        assert plain_words(text) == plain_words(other)
        assert terms(text) == terms(other)


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("Step 4: Ada sold 12 fish", {"12"}),
        ("In step 4 Ada sold 12 fish", {"12"}),
        ("1. Ada sold 12 fish", {"12"}),
        ("Ada sold 12 fish.\n  3) Bob has 7", {"12", "7"}),
        ("Ada has 12. Bob has 7. Then", {"12", "7"}),
    ],
)
@pytest.mark.parametrize("end", ["", " …", " é", " Анна"])
def test_what_counts_lines_is_no_number_of_a_text(line, numbers, end):
    assert Terms.of(line + end).numbers == numbers


def test_a_language_is_told_also_where_its_words_are_others_too():
    assert Terms.of("Die Katze ist nicht in der Stadt").language == ("german", True)
    assert Terms.of("The cat is not in the city").language == ("english", True)
    assert Terms.of("Ada Bob 12").language == ("english", True)


LAID_OUT = (
    "Ada sold  12 fish.\n\nBob has 7.\tGPT-\n4 won",
    "Анна\n продала\u30007 рыб",
)


@pytest.mark.parametrize("text", LAID_OUT)
def test_a_summary_that_is_put_on_one_line_is_known_again(text):
    assert terms(" ".join(text.split())) == terms(text)
