"""A copy of a model thinks like the original, and leaves no trace in its record."""

import copy

from mesa_memory import Budget, OfflineLLM, Services, open_run
from tests.support.playing import ended, lived
from tests.support.recorded_town import RecordedTown
from tests.support.stored import rows


def prompts(town):
    return [citizen.memory.get_prompt_ready() for citizen in town.citizens]


def test_a_copy_asks_the_same_model_and_goes_on_like_the_original():
    llm = OfflineLLM()
    town = lived(RecordedTown("", llm=llm, record=None), 4)
    twin = copy.deepcopy(town)
    services = Services.of(twin)
    assert services is not Services.of(town)
    assert services.llm is llm
    assert all(c.memory.services is services for c in twin.citizens)
    assert prompts(lived(twin, 3)) == prompts(lived(town, 3))


def test_a_copy_pays_from_the_same_budget():
    town = lived(RecordedTown("", record=None, budget=Budget(calls=10_000)), 3)
    spent = Services.of(town).ledger.total.calls
    twin = lived(copy.deepcopy(town), 2)
    assert Services.of(twin).ledger.budget.calls == 10_000
    assert Services.of(town).ledger.total.calls > spent > 0


def test_a_recorded_run_does_not_notice_that_it_was_copied(tmp_path):
    stores = []
    for name in ("alone", "copied"):
        town = lived(RecordedTown(str(tmp_path / name)), 4)
        if name == "copied":
            twin = lived(copy.deepcopy(town), 3)
            assert Services.of(twin).recorder is None
        ended(lived(town, 4))
        stores.append(Services.of(town).recorder.store)
    for table in ("records", "recalls", "prompts", "calls", "steps"):
        alone, copied = (rows(store, table) for store in stores)
        for row in [*alone, *copied]:
            row.pop("latency", None)
        assert alone == copied, table


def test_a_copy_of_a_replayed_run_is_replayed_too(tmp_path):
    file = str(tmp_path / "run.sqlite")
    ended(lived(RecordedTown(file), 6))
    town = lived(RecordedTown("", record=None, replay=file), 3)
    twin = copy.deepcopy(town)
    assert prompts(lived(twin, 3)) == prompts(lived(town, 3))
    with open_run(file) as run:
        assert prompts(twin)[0] == run.prompt(1, 6)


def test_a_copy_keeps_its_configuration_and_has_a_record_of_its_own():
    town = lived(RecordedTown("", record=None), 2)
    services = Services.of(town)
    services.agents, services.offline_for_all = True, True
    services.models, services.outcomes = {"grade": "openai/small"}, ("mood",)
    copied = copy.deepcopy(town)
    twin = Services.of(copied)
    assert twin.agents and twin.offline_for_all
    assert twin.models == {"grade": "openai/small"} and twin.outcomes == ("mood",)
    assert twin.wordings is services.wordings and twin.ledger is services.ledger
    assert twin.recorder is None and twin.bus is not services.bus
    own = twin.llm = OfflineLLM()
    copy.deepcopy(copied.citizens[0].memory)
    assert twin.llm is own is Services.of(copy.deepcopy(copied)).llm
