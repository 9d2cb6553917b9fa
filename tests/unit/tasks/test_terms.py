"""What a text speaks of: shortcuts for common texts change nothing."""

import pytest

from mesa_memory.tasks.terms import Terms, plain_words

SAID = "Ada sold 12 fish at 3.5 coins - to Bob, who said: it was GPT-4's idea. Good"


@pytest.mark.parametrize("sign", "–—‘’“”•…")
def test_a_common_sign_parts_words_as_any_other_sign_does(sign):
    text = f"{SAID}{sign} Step 4: {sign}Carla{sign}s boat {sign} won{sign}t"
    other = text.replace(sign, "\u00a7")
    assert plain_words(text) == plain_words(other)
    assert Terms.of(text) == Terms.of(other)


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
