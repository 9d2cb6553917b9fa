"""Agents whose memories are kept in another language meet no English word."""

import re
from functools import cache

import mesa
import numpy as np
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    ScriptedLLM,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.core.prompt_files import FOLDER, languages
from mesa_memory.errors import PromptFileError
from mesa_memory.layers import Reflection
from mesa_memory.llm.schemas import schema_of
from tests.support.models import hear
from tests.support.single import Asked, settle, table

#: names, of classes too
NAMES = {"Ada", "Bram", "Cleo", "Villager"}
#: what people of each language say and do: a role, a task and sentences
SPOKEN = table("spoken")["village"]
MEMORIES = {
    "short term": ShortTermMemory,
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=2),
    "long term": LongTermMemory,
    "episodic": EpisodicMemory,
    "reflection": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.direct(last=9), reflect_threshold=8
    ),
    "questions": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.questions(), reflect_threshold=8
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=2),
    "conversation": lambda agent: ConversationMemory(agent, idle_steps=1),
    "fact": FactMemory,
    "narrative": lambda agent: NarrativeMemory(agent, chapters=3, story_tokens=60),
    "layered": LayeredMemory.unimatrix,
}
_WORD = re.compile(r"[^\W\d_]+")
#: numbers, keys and marks of JSON, and the operations of the judge
_JSON = re.compile(r'"[\w-]+"\s*:|\b(?:true|false|null|JSON|ADD|UPDATE|DELETE|NONE)\b')


@cache
def vocabulary(language):
    """All words of a language's prompt files, without names of values and tags."""
    words = set()
    for file in sorted((FOLDER / language).glob("*.md")):
        text = file.read_text(encoding="utf-8")
        said = re.sub(
            r"\{[{%].*?[%}]\}",
            lambda m: f" {' '.join(re.findall(chr(34) + '(.*?)' + chr(34), m[0]))} ",
            text,
        )
        words.update(_WORD.findall(said))
    return words | {word for said in SPOKEN[language] for word in _WORD.findall(said)}


def strange(language, text):
    """Words of Latin letters that are neither names nor of the language's files."""
    words = _WORD.findall(_JSON.sub(" ", text))
    known = vocabulary(language) | NAMES
    return [word for word in words if word.isascii() and word not in known]


def descriptions(tree):
    """The texts in a JSON schema that a model reads."""
    if isinstance(tree, dict):
        own = tree.get("description", "")
        return [own, *(said for each in tree.values() for said in descriptions(each))]
    return (
        [s for each in tree for s in descriptions(each)] if type(tree) is list else []
    )


class Villager(LLMAgent):
    def step(self):
        _, act, *said = SPOKEN[self.model.language]
        others = [each for each in self.model.agents if each is not self]
        day = self.model.steps + self.unique_id
        near = {f"Villager {e.unique_id}": {"position": [1, day]} for e in others}
        sight = {"self_state": {"location": [1, day]}, "local_state": near}
        self.memory.add_to_memory("observation", sight)
        self.memory.add_to_memory("action", {"tool_calls": [{"name": act}]})
        if self.model.steps < 4:
            self.send_message(said[day % len(said)], others[: 1 + day % 2])
        self.model.shown.append(str(self.memory.get_prompt_ready()))


class Village(mesa.Model):
    def __init__(self, language, memory, llm, own=False):
        super().__init__(rng=1)
        self.language, self.shown = language, []
        told = (
            {"languages": lambda agent: agent.tongue} if own else {"language": language}
        )
        configure(self, llm=llm, **told)
        role, act, *_ = SPOKEN[language]
        told = {"system_prompt": role, "step_prompt": act}
        people = settle(self, memory, 3, Villager, "openai/none", **told)
        for agent, name in zip(people, ("Ada", "Bram", "Cleo")):
            agent.name = name
            if own:
                agent.tongue = language

    def step(self):
        self.agents.do("step")


def lived(village, steps=6):
    for _ in range(steps):
        village.step()
    Services.of(village).flush()
    village.shown += [str(each.memory.get_prompt_ready()) for each in village.agents]
    return village


def test_each_language_has_a_village():
    assert {*SPOKEN, "en"} == set(languages())


@pytest.mark.parametrize("kind", MEMORIES)
@pytest.mark.parametrize("language", SPOKEN)
def test_nothing_around_the_agents_words_is_english(language, kind):
    asked = Asked()
    village = lived(Village(language, MEMORIES[kind], asked))
    for text in village.shown:
        assert not strange(language, text), text
    assert asked.asked or kind == "short term"
    for request in asked.asked:
        told = "\n".join(str(message["content"]) for message in request.messages())
        if request.schema is not None:
            told += "\n" + "\n".join(descriptions(schema_of(request.schema)))
        assert not strange(language, told), told


@pytest.mark.parametrize("language", SPOKEN)
def test_what_is_wrong_with_a_reply_is_told_in_the_language_too(language):
    llm = ScriptedLLM(rules={"*": {"summary": ""}})
    lived(Village(language, MEMORIES["stlt"], llm))
    again = [each for each in llm.history if len(each.messages()) > 2]
    assert again
    for request in again:
        told = str(request.messages()[-1]["content"]).replace("summary", "")
        assert not strange(language, told), told


def test_an_agent_s_own_language_is_that_of_its_memory():
    village = lived(Village("es", MEMORIES["stlt"], "offline", own=True), 2)
    assert "Memoria a corto plazo" in village.shown[-1]
    village.agents[0].tongue, village.agents[0].language = "ja", "Basque"
    assert "短期記憶" in village.agents[0].memory.get_prompt_ready()
    village.agents[1].tongue = None
    assert "Short term memory" in village.agents[1].memory.get_prompt_ready()
    assert "Memoria" in village.agents[2].memory.get_prompt_ready()
    village.agents[2].tongue = "Klingon"
    with pytest.raises(PromptFileError, match="in the language 'Klingon' do not exist"):
        village.agents[2].memory.get_prompt_ready()
    with pytest.raises(TypeError, match="languages must be a function of an agent"):
        configure(village, languages="es")


TOLD = {
    "zh": ("谁看管北门的钥匙？", "北门的钥匙由铁匠看管。"),
    "ja": ("北門の鍵は誰が預かっていますか。", "北門の鍵は鍛冶屋が預かっている。"),
    "fr": ("Qui garde la clé de la porte nord ?", "Le forgeron garde la clé du nord."),
}
OTHERS = {
    "zh": "今天天气很好，我们去市场。 谁想吃面包？ 水车的轮子坏了。 羊群在山上。 酒馆关门了。",
    "ja": "今日は天気がいい。 誰かパンが欲しいですか。 水車の輪が割れた。 羊は山にいる。 酒場は閉まった。",
    "fr": "Il fait beau. Qui veut du pain ? La roue est cassée. On va au marché. Il pleut.",
}


@pytest.mark.parametrize(
    ("language", "configured"),
    [("zh", True), ("ja", True), ("fr", True), ("zh", False), ("ja", False)],
)
def test_words_decide_in_a_language_that_the_embedder_does_not_know(
    language, configured
):
    model = mesa.Model(rng=1)
    given = {"language": language} if configured else {}
    configure(model, llm="offline", execution="blocking", **given)
    (agent,) = settle(model, EpisodicMemory)
    question, answer = TOLD[language]
    for number, text in enumerate(
        [answer, *re.split(r"(?<=[。？.?]) ", OTHERS[language])]
    ):
        agent.memory.add_to_memory("message", {"message": text, "sender": 2 + number})
    agent.memory.process_step()
    first = agent.memory.recall(question)[0]
    assert answer in str(first.record.content)


def test_texts_in_a_language_that_it_does_not_know_are_not_given_to_an_embedder():
    asked = []

    class English:
        name, dim, batch, local, languages = "english", 4, 8, True, {"en"}

        def embed(self, texts):
            asked.extend(texts)
            return np.eye(4, dtype=np.float32)[[0] * len(texts)]

    for language in ("de", "en"):
        model = mesa.Model(rng=1)
        configure(model, llm="offline", language=language, embedder=English())
        (agent,) = settle(model, EpisodicMemory)
        hear(agent.memory, (2, "Die Mühle brennt."))
        agent.memory.recall("Wo brennt es?")
        assert bool(asked) is (language == "en")
