"""What becomes the running summary, and what only stands in its place."""

import json
import random
import re
from types import SimpleNamespace

import mesa
import pytest

from mesa_memory import (
    ConversationMemory,
    LongTermMemory,
    NarrativeMemory,
    ScriptedLLM,
    Services,
    STLTMemory,
    configure,
    open_run,
    resume,
)
from mesa_memory.core.wording import Wording
from mesa_memory.llm import Reply
from mesa_memory.tasks import grounding
from mesa_memory.tasks.grounding import check_summary, doubt_of
from tests.support.models import hear
from tests.support.playing import ended
from tests.support.single import DATA, scripted, settle, table

MEMORIES = [
    STLTMemory,
    LongTermMemory,
    lambda agent: NarrativeMemory(agent, 2, 1, keep_last=0),
]
TABLE = table("summaries")
#: name -> what the memory holds already, and the messages of a step: (sender, text)
SCENES = {name: (s["known"], s["events"]) for name, s in TABLE["scenes"].items()}
#: (scene, summary), (scene, why the model stopped, reply), (scene, summary)
GOOD, REFUSED, DOUBTFUL = TABLE["good"], TABLE["refused"], TABLE["doubtful"]
#: (scene, why a content filter stopped the model, the reply)
FILTERED = TABLE["filtered"]
#: (lines of events, a true summary in other words)
ABSTRACT = TABLE["abstract"]
#: a model's requests and replies for a village of four
VILLAGE = [
    json.loads(line)
    for line in (DATA / "village_summaries.jsonl").read_text().splitlines()
]
#: a summary that fits each scene
RIGHT = dict(reversed(GOOD))


def memory_of(cls=LongTermMemory):
    return scripted(cls)


def in_scene(scene):
    """A memory that holds what was before, and the step's events."""
    known, events = SCENES[scene]
    memory, llm = memory_of()
    memory.long_term_memory = known
    return memory, llm, known, events


def test_a_good_summary_passes_at_once():
    for scene, summary in GOOD:
        memory, llm, _, events = in_scene(scene)
        llm.enqueue({"summary": summary})
        hear(memory, *events)
        assert memory.long_term_memory == summary
        assert len(llm.history) == 1


@pytest.mark.parametrize("bare", [True, False], ids=["bare", "JSON"])
def test_a_non_answer_never_becomes_a_memory_and_the_events_stay(bare):
    for scene, finish, text in REFUSED:
        memory, llm, known, events = in_scene(scene)
        sent = text if bare else json.dumps({"summary": text})
        llm.enqueue(Reply(sent, finish=finish), Reply(sent, finish=finish))
        hear(memory, *events)
        assert memory.long_term_memory == known
        for _, said in events:
            assert said in memory.get_prompt_ready()
        right = RIGHT[scene]
        llm.enqueue({"summary": right})
        hear(memory)
        assert memory.long_term_memory == right
        assert len(llm.history) == 3


def test_a_filtered_reply_never_becomes_a_memory_and_the_events_stay():
    for scene, finish, text in FILTERED:
        memory, llm, known, events = in_scene(scene)
        llm.enqueue(*[Reply(text, finish=finish)] * 20)
        hear(memory, *events)
        asked = len(llm.history)
        hear(memory)
        assert len(llm.history) == asked <= 2 * len(events)
        assert memory.long_term_memory == known
        for _, said in events:
            assert said in memory.get_prompt_ready()


def test_a_doubtful_summary_is_used_and_hides_neither_events_nor_the_one_before():
    for scene, text in DOUBTFUL:
        memory, llm, known, events = in_scene(scene)
        llm.enqueue({"summary": text})
        hear(memory, *events)
        assert len(llm.history) == 1
        shown = memory.get_prompt_ready()
        assert text in memory.long_term_memory and known in memory.long_term_memory
        assert all(said in shown for _, said in events)
        assert doubts_of(memory)[-1]
        llm.enqueue({"summary": RIGHT[scene]})
        hear(memory, (2, "The rain has stopped."))
        told = [line for _, line in llm.history[1].inputs["lines"]]
        assert all(any(said in line for line in told) for _, said in events)


def doubts_of(memory):
    """Why each of the current summaries is doubtful, oldest first."""
    records = memory.layers[1].records()
    return [record.content.get("doubtful", "") for record in records]


def heard(memory, lines):
    """A step of events, from the lines that a prompt has of them."""
    memory.agent.model.steps += 1
    for line in lines:
        if line.startswith("Agent "):
            sender, _, text = line.partition(" says: ")
            said = {"message": text, "sender": int(sender.split()[1])}
            memory.add_to_memory("message", said)
        else:
            kind, _, rest = line.partition(": ")
            memory.add_to_memory(kind if rest else "sight", {"content": rest or line})
    memory.process_step()


def test_a_true_summary_in_other_words_is_used_at_once_and_the_events_stay():
    for lines, text in ABSTRACT:
        memory, llm = memory_of()
        llm.enqueue({"summary": text})
        heard(memory, lines)
        assert memory.long_term_memory == text
        assert len(llm.history) == 1
        for line in lines:
            assert line.rpartition(": ")[2] in memory.get_prompt_ready()


def test_all_summaries_of_a_capable_model_are_used_and_hardly_any_is_doubtful():
    doubtful = 0
    for row in VILLAGE:
        before, _, told = row["prompt"].rpartition("oldest first:\n")
        known = re.search(r"(?:memory|so far):\n- (.*)", before)
        lines = [line[2:] for line in told.split("\n\n")[0].split("\n") if "- " in line]
        reply = json.loads(row["reply"])
        text = reply.get("summary") or reply.get("recap")
        if not text:
            continue
        inputs = {
            "summary": known[1] if known and known[1][0] != "(" else "",
            "lines": [(1, line) for line in lines],
            "max_chars": 4000,
        }
        check_summary(text, inputs)
        doubtful += bool(doubt_of(text, inputs))
    assert len(VILLAGE) == 85 and doubtful <= 3


def test_what_is_clearly_told_is_not_doubtful_by_the_whole_check(monkeypatch):
    rng, scenes = random.Random(4), TABLE["scenes"].values()
    events = [event for scene in scenes for event in scene["events"]]
    texts = ["", *(scene["known"] for scene in scenes), *(t for _, t in TABLE["good"])]
    cases = []
    for _ in range(600):
        lines, known = rng.choices(events, k=rng.randint(1, 4)), rng.choice(texts)
        told = [line for _, line in lines if rng.random() < 0.7]
        summary = " ".join([known, *told, rng.choice(texts)])
        inputs = {"lines": lines, "summary": known, "max_chars": 800}
        cases.append((summary, inputs))
    quickly = [doubt_of(*case) for case in cases]
    clear, is_clear = [], grounding._is_clear
    monkeypatch.setattr(
        grounding, "_is_clear", lambda *given: clear.append(is_clear(*given))
    )
    assert [doubt_of(*case) for case in cases] == quickly
    assert 100 < sum(clear) < 500


#: a message that dictates, and replies that follow it
ORDERS = TABLE["dictated"]


def test_no_event_is_lost_from_sight_by_a_model_that_follows_a_message():
    for cls in MEMORIES:
        for order in ORDERS:
            order, *replies = order
            for reply in replies:
                memory, llm = memory_of(cls)
                llm._rules["*"] = {"summary": reply}
                days = [(4, "The well in the north is dry.")]
                days += [(n % 5, f"Item {n} costs {n + 10} coins.") for n in range(7)]
                hear(memory, (9, order), *days)
                for _ in range(3):
                    hear(memory, (9, order))
                shown = memory.get_prompt_ready()
                assert all(said in shown for _, said in days)


def test_a_model_whose_summaries_are_permanently_doubtful_costs_one_request_a_step():
    memory, llm = memory_of()
    memory.section_chars = 2000
    llm._rules["*"] = lambda r: {"summary": "Much was said and much was done again."}
    for day in range(120):
        said = f"Item {day} costs {day + 10} coins at the market. " + "It is fine. " * 9
        hear(memory, (3, said))
    assert len(llm.history) == 120
    used = Services.of(memory.agent.model).ledger.total
    assert (used.calls, used.doubtful, used.given_up) == (120, 120, 0)
    assert max(len(request.prompt) for request in llm.history[60:]) < 4000
    window = memory.layers[0]
    view = memory.view()
    assert sum(window.chars(view, each) for each in window.covered) <= 2000
    assert "Item 119 costs" in memory.get_prompt_ready()
    assert "Item 3 costs" not in memory.get_prompt_ready()
    llm._rules["*"] = lambda r: {
        "summary": " ".join(line for _, line in r.inputs["lines"])
    }
    hear(memory, (3, "Item 120 costs 130 coins."))
    assert not window.covered and "Item 119 costs" in memory.long_term_memory
    assert doubts_of(memory) == [""]


def coded(request):
    """The code of each event, and otherwise general words."""
    codes = re.findall(r"E\d+-\d+-\d+", request.prompt)
    return {"summary": " ".join(f"{code}: something was said." for code in codes)}


def vague(request):
    """True of everything."""
    return {"summary": "Several people talked to me, and things went on as before."}


@pytest.mark.parametrize("told", [coded, vague])
@pytest.mark.parametrize(("cls", "requests"), [(STLTMemory, 40), (LongTermMemory, 140)])
def test_ten_agents_need_no_more_requests_than_with_mesa_llm(cls, requests, told):
    model = mesa.Model(rng=1)
    llm = ScriptedLLM(rules={"*": told})
    configure(model, llm=llm, execution="blocking")
    agents = settle(model, cls, 10)
    for step in range(1, 15):
        model.steps = step
        for agent in agents:
            for n in range(4):
                code = f"E{agent.unique_id}-{step}-{n}"
                said = {"message": f"{code} the harvest is in.", "sender": n + 1}
                agent.memory.add_to_memory("message", said)
            agent.memory.process_step()
            shown = agent.memory.get_prompt_ready()
            codes = [f"-{s}-{n} " for s in range(1, step + 1) for n in range(4)]
            hidden = [code for code in codes if code not in shown.replace(":", " ")]
            assert not hidden or (told is vague and step > 8)
    assert len(llm.history) == requests


def test_what_a_doubtful_summary_covers_is_still_shown_after_a_resume(tmp_path):
    file = str(tmp_path / "run.sqlite")
    model = Town(record=file)
    model.step()
    shown = model.agent.memory.get_prompt_ready()
    assert "wheat" in shown and "nothing" in shown
    ended(model)
    state = open_run(file).state(model.agent.unique_id, as_records=True)
    (summary,) = [row for row in state if row["kind"] == "summary"]
    assert "shares no name" in summary["content"]["doubtful"]
    again = resume(Town, file)
    assert again.agent.memory.get_prompt_ready() == shown
    again.step()
    assert again.agent.memory.long_term_memory == "The harvest was 0 wheat, then rain."
    assert "- action" not in again.agent.memory.get_prompt_ready()
    ended(again)


class Town(mesa.Model):
    """One agent whose first summary is in other words."""

    def __init__(self, record=None):
        super().__init__(rng=1)
        replies = {
            1: "The fields gave nothing.",
            2: "The harvest was 0 wheat, then rain.",
        }
        rules = {"*": lambda r: {"summary": replies[int(r.step)]}}
        configure(
            self, llm=ScriptedLLM(rules=rules), execution="blocking", record=record
        )
        (self.agent,) = settle(self, LongTermMemory)

    def step(self):
        events = {1: "harvest: 0 wheat", 2: "rain: 20 mm"}
        self.agent.memory.add_to_memory("action", {"content": events[int(self.steps)]})
        self.agent.memory.process_step()


@pytest.mark.parametrize("better", ["Bram gives forty crowns; Ada thanks him.", None])
def test_a_conversation_is_asked_for_once_more_and_keeps_its_words_if_in_doubt(better):
    memory, llm = memory_of(lambda agent: ConversationMemory(agent, idle_steps=0))
    first = {"summary": "We had a pleasant time."}
    llm.enqueue(first, {"summary": better} if better else first)
    hear(memory, (3, "Bram gives forty crowns."), (3, "Ada sends her thanks."))
    hear(memory)
    hear(memory)
    (record,) = memory.conversations()
    assert len(llm.history) == 2
    assert "shares no name" in llm.history[1].messages()[-1]["content"]
    assert record.content["text"] == (better or first["summary"])
    assert ("doubtful" in record.content) == (better is None)
    assert ("Bram gives forty crowns." in memory.get_prompt_ready()) == (better is None)


def test_a_recap_is_asked_for_once_more_and_its_events_stay_with_the_story():
    memory, llm = memory_of(lambda agent: NarrativeMemory(agent, 1, 1, keep_last=0))
    llm._rules["*"] = {"summary": "Time passed as it always does."}
    hear(memory, (3, "Bram gives forty crowns."), (4, "The mill burns."))
    (record,) = memory.chapters()
    assert "shares no name" in record.content["doubtful"]
    assert [request.purpose for request in llm.history].count("chapter") == 2
    assert "Bram gives forty crowns." in memory.get_prompt_ready()


def test_a_summary_that_stays_as_it_was_does_not_swallow_what_is_new():
    memory, llm = memory_of()
    llm.enqueue({"summary": "Anna sold her mule to Ben for 30 coins."})
    hear(memory, (1, "Anna sold her mule to Ben for 30 coins."))
    llm.enqueue(*[{"summary": "Anna sold her mule to Ben for 30 coins."}] * 2)
    hear(memory, (2, "Ben and Anna were seen at the harbour."))
    assert "harbour" in memory.format_short_term()


def test_a_summary_that_drops_the_one_before_is_shown_after_it():
    memory, llm = memory_of()
    memory.long_term_memory = sold = "Anna sold her mule to Ben for 30 coins."
    frozen, both = "The harbour is frozen.", "Anna sold Ben a mule; the harbour froze."
    llm.enqueue({"summary": frozen}, {"summary": both})
    hear(memory, (2, frozen))
    assert memory.long_term_memory == f"{sold} {frozen}"
    hear(memory, (2, "The harbour is frozen, still."))
    assert f"{sold} {frozen}" in llm.history[1].prompt
    assert memory.long_term_memory == both


def test_code_in_the_place_of_the_memorys_llm_is_the_users_and_says_what_it_means():
    memory, _, _, events = in_scene(GOOD[0][0])

    class Mocked:
        def generate(self, prompt):
            message = SimpleNamespace(content="mocked summary", tool_calls=None)
            return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    memory.llm = Mocked()
    hear(memory, *events)
    assert memory.long_term_memory == "mocked summary"


def test_a_full_summary_may_stay_as_it_is_when_what_is_new_matters_less():
    memory, llm = memory_of()
    full = " ".join(f"Agent {n} owns house {n} by the river." for n in range(60))
    memory.long_term_memory = full
    llm.enqueue({"summary": full})
    hear(memory, (1, "The planks of the bridge creak in the wind."))
    assert memory.long_term_memory == full
    assert "creak" not in memory.format_short_term()


# -- numbers, and short exchanges --------------------------------------------------------

PRICE = "Ines to Tove and Jon: I buy your cod at 4.20 a kilo. The meeting is on day 4, at nine."
GAUGE = "Tove to Jonas: The gauge shows 180 litres. Yesterday it was 240."
MIETE = "Ada zu Bram: Die Miete steigt auf 650 Taler, und am 3. kommt der Müller."
NEDAN = "太郎 から 花子 へ：魚は一キロ 420 円で、集まりは 4 日です。"


@pytest.mark.parametrize(
    ("language", "line", "summary", "doubtful"),
    [
        ("en", PRICE, "Ines announced a price for cod and a crew meeting.", True),
        ("en", PRICE, "Step 4: Ines set a price for cod; Agent 4 heard of a meeting.", True),
        ("en", PRICE, "Ines pays 4,2 a kilo of cod and calls a meeting.", False),
        ("en", GAUGE, "Tove told Jonas that the gauge shows fewer litres than yesterday.", True),
        ("en", GAUGE, "Tove told Jonas that sixty litres are gone (180, not 240).", False),
        ("en", "Agent 2 to Agent 3: I saw Agent 4 and Agent 5.", "Agent 2 saw both.", False),
        ("en", "Saw Bela at (3, 4).", "Bela was seen.", False),
        ("en", "Jon to Tove: I pay 90.", "Jon pays Tove.", False),
        ("de", MIETE, "Ada sagt Bram, dass die Miete steigt und der Müller kommt.", True),
        ("de", MIETE, "Schritt 3: Ada sagt Bram, dass die Miete steigt.", True),
        ("de", MIETE, "Ada sagt Bram, dass die Miete 650 Taler ist.", False),
        ("ja", NEDAN, "太郎は花子に魚の値段と集まりのことを話した。", True),
        ("ja", NEDAN, "太郎は花子に魚が420円だと話した。", False),
    ],
)  # fmt: skip
def test_a_summary_that_keeps_none_of_several_numbers_is_doubtful(
    language, line, summary, doubtful
):
    wording = Wording(language)
    inputs = {"lines": [(4, line)], "max_chars": 4000, "wording": wording}
    doubt = doubt_of(summary, inputs)
    assert doubt == ("keeps none of several numbers" if doubtful else "")
    assert not doubt or wording.has("repair", doubt)


JONA = [
    "Jon to Tove: Jona from the coast guard says the gauge is simply wrong.",
    "Tove to Jon: I checked it twice. And who is Jona?",
]
CABLE = [
    "Jonas to Jon: You broke the winch, you left the cable wet.",
    "Jon to Jonas: You forced it in second gear, I told you to stop.",
]
SCHULD = [
    "Ada zu Bram: Du schuldest mir zehn Kronen seit dem Herbst.",
    "Bram zu Ada: Im Frühling zahle ich, vorher habe ich nichts.",
]
KARI = [
    "太郎 から 花子 へ：秋から十クローネの借りがある。",
    "花子 から 太郎 へ：春に払ってください。",
]


@pytest.mark.parametrize(
    ("lines", "summary", "one"),
    [
        (JONA, "Jon's claim that Jona from the coast guard calls the gauge wrong did not convince her.", False),
        (CABLE, "Jonas says that Jon broke the winch and left the cable wet; he denies it.", False),
        (SCHULD, "Bram schuldet Ada seit dem Herbst zehn Kronen und vertröstet sie.", False),
        (KARI, "太郎は秋から花子に十クローネの借りがあり、返事をもらった。", False),
        (["Ann to Bo: The mill by the river burnt down last night.", "Cy to Bo: My daughter sings in the choir."], "Ann told of the mill by the river that burnt down last night.", True),
        ([JONA[0] + " Everybody heard it on the radio." * 5, JONA[1]], "Jona from the coast guard says the gauge is simply wrong, heard on the radio.", True),
    ],
)  # fmt: skip
def test_two_short_lines_of_one_exchange_may_be_told_as_one(lines, summary, one):
    inputs = {"lines": [(4, line) for line in lines], "max_chars": 4000}
    assert doubt_of(summary, inputs) == ("tells one of several events" if one else "")


def test_lost_numbers_cost_no_more_than_one_request_and_lose_no_event():
    vague = {
        "summary": "Ines spoke of cod and of a crew meeting, and Tove of her rent."
    }
    events = [
        (2, "Cod is 4.20 a kilo; the crew meeting is on day 4."),
        (2, "My rent is 650."),
    ]
    memory, llm = scripted(LongTermMemory, {"consolidate": vague})
    hear(memory, *events)
    hear(memory)
    assert len(llm.history) <= 2
    assert "4.20" in memory.get_prompt_ready() and "650" in memory.get_prompt_ready()
    memory, _ = scripted(lambda a: ConversationMemory(a, idle_steps=0), {"*": vague})
    hear(memory, *events)
    for _ in range(2):
        hear(memory)
    assert "4.20" in memory.get_prompt_ready() and "650" in memory.get_prompt_ready()
