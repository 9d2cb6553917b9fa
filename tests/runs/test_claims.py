"""Which sentences state a text: one rule for the dashboard, reports and metrics."""

import re
from functools import partial
from typing import Any

import mesa
import pytest

from mesa_memory import (
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
    metrics,
    open_run,
)
from mesa_memory.core.wording import Voice, Wording
from mesa_memory.runs.claims.claim import Verdict, claim, is_stated
from mesa_memory.runs.claims.clauses import (
    clauses,
    is_question,
    sentences,
    without_speaker,
)
from mesa_memory.viz.data import spread
from mesa_memory.viz.report import write_report
from mesa_memory.viz.report.contents import contents
from tests.support.playing import ended, lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.single import settle, table
from tests.support.turns import in_turn

CHEATER = "Agent 1 is a cheater"

#: sought text -> sentences that state it, sentences that do not; and denials of texts
_CLAIMS = table("claims")
TABLE, DENIED = _CLAIMS["stated"], _CLAIMS["denied"]
#: (sought text, sentence, whether it counts)
PAIRS = [
    (sought, sentence, counts)
    for sought, columns in TABLE.items()
    for counts, column in ((True, "states"), (False, "does not"))
    for sentence in columns[column]
]


class Village(mesa.Model):
    """Villagers hear sentences, ``(hearer, speaker, sentence)``, a list for each step."""

    def __init__(
        self, n: int, heard: list[list[tuple[int, int, str]]], record: Any = None
    ) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        self.heard = heard
        self.people = settle(self, partial(ShortTermMemory, n=10), n)

    def step(self) -> None:
        """Delivers the messages of the step."""
        told = self.heard[int(self.time) - 1]
        for person in self.people:
            person.memory.process_step(pre_step=True)
        for hearer, speaker, sentence in told:
            said = {"message": sentence, "sender": speaker, "recipients": [hearer]}
            self.people[hearer - 1].memory.add_to_memory("message", said)
        for person in self.people:
            person.memory.process_step()


def _gossip() -> list[list[tuple[int, int, str]]]:
    """Twenty agents gossip for three steps; 2, 9 and 15 then know of agent 1.

    In the second step all have heard that somebody cheats, or that agent 1 does not.
    """
    forms = (CHEATER, "Everybody says that Agent 1 cheats", "Agents 7 and 1 cheat")
    others = (
        "Agent 5 is a cheater",
        "Agent 1 is not a cheater",
        "Agent 12 is a cheater",
        "Agent 1 never cheated, Agent 5 is a cheater",
    )

    def told(hearers: Any, texts: tuple[str, ...]) -> list[tuple[int, int, str]]:
        # Agent 1 is among the speakers.
        return [(n, n % 3 + 1, texts[n % len(texts)]) for n in hearers]

    return [
        told((3, 4), forms) + told(range(5, 9), others),
        told(range(5, 12), forms) + told(range(12, 21), others) + told((1, 2), others),
        told(range(12, 18), forms) + told((1, 18, 19), others),
    ]


GOSSIP = _gossip()
#: agents who know after each step that agent 1 is a cheater
KNOW = [2, 9, 15]


#: a villager for each pair hears its sentence from agent 1, 2 or 3
HEARERS = list(enumerate(PAIRS, 1))
HEARD = [[(n, n % 3 + 1, said) for n, (_, said, _) in HEARERS]]


@pytest.fixture(scope="module")
def village(tmp_path_factory):
    """The villagers who heard the table, and their run."""
    file = str(tmp_path_factory.mktemp("claims") / "village.sqlite")
    people = play(Village(len(PAIRS), HEARD, file), 1)
    with open_run(file) as run:
        yield people, run


def test_metrics_spread_and_report_count_the_pairs_as_the_table_says(village):
    people, run = village
    assert len(PAIRS) >= 60
    for sought in TABLE:
        held = metrics.who_holds(people, sought)
        asked = {n: counts for n, (text, _, counts) in HEARERS if text == sought}
        expected = {n for n, counts in asked.items() if counts}
        assert set(held) & asked.keys() == expected, sought
        found = spread.found(run, sought)
        assert [row["agent"] for row in spread.holders(found, 1)] == held
        read = contents(run, agents=[1], about=sought)
        values = read.measures[0].values[:, 0]
        assert {n for n, value in enumerate(values, 1) if value == 0} == set(held)
        # Each of the sentences has one villager, but for those that are the same.
        assert len(held) == sum(row["agents"] for row in read.sentences)


def test_gossip_is_counted_alike_by_spread_report_and_metrics(tmp_path):
    file = str(tmp_path / "gossip.sqlite")
    village = Village(20, GOSSIP, file)
    holders = metrics.holders(CHEATER)
    assert [holders(lived(village, 1)) for _ in GOSSIP] == KNOW
    ended(village)
    with open_run(file) as run:
        found = spread.found(run, CHEATER)
        assert spread.holding(found).holders == KNOW
        listed = spread.listed(found, 3)
        written = write_report(run, tmp_path / "report.html", about=CHEATER)
        curves = contents(run, about=CHEATER).measures
    held, denied = curves[:2]
    assert [values.tolist() for _, values in held.curves()] == [KNOW]
    # Half of those who heard something else heard a denial.
    assert all(values[-1] > 0 for _, values in denied.curves())
    counted = {row["text"]: row["agents"] for row in listed if row["counts"]}
    others = {"Everybody says that Agent 1 cheats", "Agents # and 1 cheat"}
    assert set(counted) == {CHEATER, *others}
    assert sum(counted.values()) == KNOW[-1]
    reasons = {row["text"]: row["verdict"] for row in listed if not row["counts"]}
    assert reasons["Agent # is a cheater"] == Verdict.OTHER
    assert reasons["Agent 1 is not a cheater"] == Verdict.DENIES
    page = written.path.read_text(encoding="utf-8")
    table = re.search(r'<table id="counted">.*?</table>', page, re.DOTALL)[0]
    rows = re.findall(r"<tr><td>(.*?)</td><td class=\"number\">(\d+)</td>", table)
    assert {text: int(number) for text, number in rows} == counted


def test_spread_and_metrics_agree_in_every_kind_of_memory(tmp_path):
    file = str(tmp_path / "town.sqlite")
    sought = ("On day 3 I sold 3 fish", "I sold fish", "I went 2", "mood ok")
    town, told = RecordedTown(file, n=8), {text: [] for text in sought}
    for _ in range(6):
        lived(town, 1)
        Services.of(town).flush()
        for text in sought:
            told[text].append(metrics.who_holds(town, text))
    ended(town)
    with open_run(file) as run:
        for text in sought:
            found = spread.found(run, text)
            rows = [spread.holders(found, step) for step in run.steps]
            held = [[row["agent"] for row in holders] for holders in rows]
            assert held == told[text], text
            assert any(held)


def test_denials_are_told_in_several_languages():
    for row in DENIED:
        text, denials = row["text"], row["denials"]
        same, *others = claim(text).judge([text, *denials])
        assert same.counts(), text
        assert [each.verdict for each in others] == [Verdict.DENIES] * 2, text
        for denial in denials:
            own, opposite = claim(denial).judge([denial, text])
            assert own.verdict == Verdict.STATES, denial
            assert opposite.verdict == Verdict.DENIES, denial


def test_clauses_are_affirmed_denied_or_left_open():
    told = {
        "I do not think that it rains": [True, True],
        "It is not false": [False],
        "It wasn't Ann who came": [True, True],
        "I do not know Ann, who came": [True, False],
        "Not only Ann came, but Bob came": [False, False],
        "If it rains, we stay": [False, False],
        "Agent 1, Agent 2 and Agent 3 came": [False],
    }
    for sentence, denied in told.items():
        assert [each.denied for each in clauses(sentence)] == denied, sentence
    assert [each.open for each in clauses("I ask whether it rains")] == [False, True]
    for said, left_open in (("It might rain", True), ("It could not rain", False)):
        assert [each.open for each in clauses(said)] == [left_open], said
    assert is_question("Does it rain?") and not is_question("It rains, doesn't it?")
    assert sentences("One. Two!\nThree") == ["One.", "Two!", "Three"]


def test_a_fact_is_read_without_its_source_and_numbers_of_one_thing_share_its_name():
    for text, sentence, states in (
        ("Ann broke the winch.", "winch: broken by: Ann (said by Bob, step 2)", True),
        ("A job in Bergen.", "Ann: job: in Bergen (noted, steps 2 to 5)", True),
        (
            "The gauge shows 180 litres.",
            "The gauge shows 180 instead of 240 litres.",
            True,
        ),
        (
            "The gauge shows 240 coins.",
            "The gauge shows 180 instead of 240 litres.",
            False,
        ),
    ):
        assert is_stated(text, [sentence]) is states, sentence


def test_what_is_stated_and_taken_back_is_there_and_what_is_only_denied_is_not():
    stolen = "Ann stole the money."
    assert is_stated(stolen, ["Bob says Ann stole the money, but that is a lie."])
    assert not is_stated(stolen, ["It is a lie that Ann stole the money there."])
    assert not is_stated(stolen, ["Ann did not steal the money."])


def test_a_judgement_depends_on_text_and_sentence_alone():
    said = [sentence for _, sentence, _ in PAIRS]
    together_ = claim.__wrapped__(CHEATER).judge(said)
    one_by_one = claim.__wrapped__(CHEATER)
    assert [one_by_one.judge([each])[0] for each in reversed(said)] == together_[::-1]


def test_a_summary_is_read_by_its_sentences():
    days = [[(n, 3 - n, f"On day {day} it rained") for n in (1, 2)] for day in range(5)]
    told = [(1, 2, CHEATER), (2, 1, "Agent 5 is a cheater")]
    village = Village(2, [told, *days])
    for person in village.people:
        person.memory = STLTMemory(person, 1, 1)
    lived(village, 1 + len(days))
    assert metrics.size(village, "summary") > 0
    assert metrics.who_holds(village, CHEATER) == [1]


@in_turn(
    language=["en", "de", "es", "fr", "ja", "pt", "zh"],
    speakers=[[2], [2, 5, 7], [*range(2, 15)]],
)
def test_how_often_something_was_said_is_no_part_of_it(language, speakers):
    voice = Voice(owner=1, wording=Wording(language))
    said = [(speaker, [1]) for speaker in speakers]
    line = voice.repeated_message(said, 22, "3.5", "The mill opens at 9: be there.")
    assert without_speaker(line) == "The mill opens at 9: be there."
