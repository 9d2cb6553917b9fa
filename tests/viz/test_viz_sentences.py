"""The sentence of a view says its step, and what is true of one and of several."""

from mesa_memory.viz.widgets import counted


def test_a_number_of_things_is_told_in_the_singular_and_in_the_plural():
    told = [counted(number, "event") for number in (0, 1, 2, 1200)]
    assert told == ["0 events", "1 event", "2 events", "1,200 events"]
