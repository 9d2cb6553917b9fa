"""Characters that a reader does not see, and those that texts need."""

from mesa_memory import ShortTermMemory
from tests.support.single import memory_of, table

CASES = table("letters")


def shown(text):
    """What an agent is shown of a message."""
    memory = memory_of(ShortTermMemory)
    memory.add_to_memory("message", {"message": text, "sender": 2})
    return memory.get_prompt_ready()


def test_hidden_characters_are_shown_escaped():
    for text, escaped in CASES["hidden"]:
        assert escaped in shown(text)
        hidden = [c for c in text if not c.isprintable() or c in "\u3164\U000e0141"]
        assert not [c for c in hidden if c in shown(text)]


def test_what_a_script_or_a_pictogram_needs_stays():
    for text in CASES["needed"]:
        assert f"- Agent 2 to you: {text}" in shown(text)
