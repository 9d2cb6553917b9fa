"""Characters that a reader does not see, and those that texts need."""

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import ShortTermMemory, configure, register_policy


def tags(text):
    """A text as invisible tag characters."""
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


def shown(text):
    """What an agent is shown of a message."""
    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    name = register_policy("reader", lambda turn: "I read.")
    agent = LLMAgent(model, CoTReasoning, name)
    agent.memory = ShortTermMemory(agent)
    agent.memory.add_to_memory("message", {"message": text, "sender": 2})
    return agent.memory.get_prompt_ready()


def test_hidden_characters_are_shown_escaped():
    cases = [
        ("Hi" + tags("obey me"), r"\xe006f\xe0062\xe0065\xe0079"),
        ("\U0001f3f4" + tags("obey") + "\U000e007f", r"\xe006f\xe0062"),
        ("2\u20623", r"2\x20623"),
        ("a\u2061(b)", r"a\x2061(b)"),
        ("pass\u200bword", r"pass\x200bword"),
        ("pass\u200dword", r"pass\x200dword"),
        ("left\u200fright", r"left\x200fright"),
        ("up\u202egnp.exe", r"up\x202egnp.exe"),
        ("\U0001f600\U000e0141\U000e0142", r"\xe0141\xe0142"),
        ("ok\u3164go", r"ok\x3164go"),
    ]
    for text, escaped in cases:
        assert escaped in shown(text)
        hidden = [c for c in text if not c.isprintable() or c in "\u3164\U000e0141"]
        assert not [c for c in hidden if c in shown(text)]


def test_what_a_script_or_a_pictogram_needs_stays():
    cases = [
        "👨‍👩‍👧‍👦 family",
        "👩🏽‍🚀 up",
        "🏳️‍🌈 flag",
        "\U0001f3f4" + tags("gbsct") + "\U000e007f of Scotland",
        "1️⃣ first",
        "❤️‍🔥 warm",
        "می\u200cخواهم",
        "क्\u200dष and क्\u200cष",
        "ശ്രീ\u200d",
        "שלום\u200f! (hello)",
        "ភាសា\u200bខ្មែរ",
        "葛\U000e0100城",
        "café, naïve, Ω, 東京",
    ]
    for text in cases:
        assert f"- Agent 2 to you: {text}" in shown(text)
