"""Each language has its table of words, by which questions and rules are read."""

import pickle
import tomllib

import pytest

from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, vocabulary
from mesa_memory.core.wording import FOLDER, Wording, languages
from mesa_memory.retrieval.bm25 import LexicalIndex
from mesa_memory.retrieval.temporal import TimeConstraint
from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.impress import offline_impression


def table(language):
    return tomllib.loads((FOLDER / language / "words.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", languages())
def test_no_language_lacks_a_list_or_a_pattern(language):
    told, first = table(language), table("en")
    assert told.keys() == first.keys()
    wanted = [key for key in first if key not in ("list", "stop_words", "stemmer")]
    assert all(told[key] not in ("", []) for key in wanted)
    assert told["list"] or told["stop_words"]
    assert pickle.loads(pickle.dumps(vocabulary(language))) is vocabulary(language)


@pytest.mark.parametrize(
    ("language", "said", "asked"),
    [
        ("de", "Wir haben die Räder der Mühlen repariert.", "Mühle"),
        ("es", "Las ruedas de los molinos están rotas.", "molino"),
        ("fr", "Les roues des moulins étaient cassées.", "moulin"),
        ("pt", "As rodas dos moinhos estão partidas.", "moinho"),
        ("zh", "磨坊的轮子坏了。", "谁的磨坊"),
        ("ja", "水車の輪が壊れた。", "水車"),
    ],
)
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
    [
        ("de", "Wo wohnte Ada in Schritt 40?", 40, False, False),
        ("de", "Wo wohnt Ada jetzt?", None, True, False),
        ("de", "Wo wohnte Ada nach Schritt 40?", None, False, False),
        ("de", "Wo wohnte Ada vor der Mühle?", None, False, True),
        ("es", "¿Dónde vivía Ada en el paso 40?", 40, False, False),
        ("es", "¿Dónde vive Ada ahora?", None, True, False),
        ("es", "¿Dónde vivía Ada antes de mudarse al molino?", None, False, True),
        ("fr", "Où vivait Ada à l'étape 40 ?", 40, False, False),
        ("fr", "Où vit Ada aujourd'hui ?", None, True, False),
        ("fr", "Où vivait Ada avant d'aller au moulin ?", None, False, True),
        ("pt", "Onde morava a Ada no passo 40?", 40, False, False),
        ("pt", "Onde mora a Ada agora?", None, True, False),
        ("pt", "Onde morava a Ada antes de ir para o moinho?", None, False, True),
        ("zh", "Ada 在第 40 步住在哪里？", 40, False, False),
        ("zh", "Ada 现在住在哪里？", None, True, False),
        ("zh", "在磨坊之前，Ada 住在哪里？", None, False, True),
        ("ja", "Ada はステップ 40 でどこに住んでいたか。", 40, False, False),
        ("ja", "Ada は今どこに住んでいるか。", None, True, False),
        ("ja", "水車小屋の前に Ada はどこに住んでいたか。", None, False, True),
        ("ja", "Ada の妹の名前は何か。", None, False, False),
    ],
)
def test_a_question_s_time_is_read(language, asked, step, present, before):
    found = TimeConstraint.of(asked, vocabulary(language))
    assert (found.step, found.present, bool(found.before)) == (step, present, before)
    assert "ada" in [word.casefold() for word in found.said]


@pytest.mark.parametrize(
    ("language", "weighty", "plain"),
    [
        ("de", "Der Dieb hat gelogen!", "Das Gras ist grün."),
        ("es", "¡El ladrón mintió!", "La hierba es verde."),
        ("fr", "Le voleur a menti !", "L'herbe est verte."),
        ("pt", "O ladrão mentiu!", "A erva é verde."),
        ("zh", "那个敌人撒谎，很危险！", "草是绿的。"),
        ("ja", "敵の嘘は危険だ！", "草は緑だ。"),
    ],
)
def test_rules_know_what_weighs_and_who_is_hostile(language, weighty, plain):
    told = vocabulary(language)
    grade = offline_grade("message", weighty, told=told)
    assert grade > offline_grade("message", plain, told=told)
    other = {"subject": "Bo", "previous": None, "since": [weighty] * 3}
    found = offline_impression(other, Wording(language))
    assert found["sentiment"] < 0 < found["familiarity"]


def test_english_is_what_is_read_without_a_choice():
    assert LexicalIndex().vocabulary is ENGLISH_WORDS
