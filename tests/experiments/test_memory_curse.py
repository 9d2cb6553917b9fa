"""The memory curse: players with a long memory, told their past or a better one."""

import pytest

from mesa_memory import Services
from mesa_memory.examples.memory_curse import decision
from mesa_memory.examples.memory_curse.__main__ import main
from mesa_memory.examples.memory_curse.decision import COOPERATE, DEFECT, PAST
from mesa_memory.examples.memory_curse.model import OWN, MemoryCurse
from mesa_memory.llm.doubles.policy import PolicyInput
from tests.support.openai_server import OpenAIServer

SEED, ROUNDS = 3, 12


def moody(received):
    """Stands for a language model: defects after the other's defection, and at times."""
    defections = received.prompt.count("other player defected")
    return (
        "Defect!"
        if defections % 3 == 1 or "round 5" in received.prompt
        else "cooperate"
    )


def played(game, rounds=ROUNDS):
    for _ in range(rounds):
        game.step()
    return game.rounds


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A file with one run of a language model, and its rounds; the model is gone."""
    file = tmp_path / "curse.sqlite"
    with OpenAIServer(moody) as server:
        game = MemoryCurse(
            llm="openai/test", api_base=server.base, rng=SEED, record=file
        )
        rounds = played(game)
        Services.of(game).recorder.close()
        assert len(server.log) == 2 * ROUNDS
    monkeypatch.delenv("OPENAI_API_KEY")
    return file, rounds


def test_a_recorded_run_gives_the_same_rounds_without_a_key(recorded):
    file, rounds = recorded
    assert {act for acts in rounds for act in acts} == {COOPERATE, DEFECT}
    assert played(MemoryCurse(llm="openai/test", rng=SEED, replay=file)) == rounds


def test_the_command_prints_the_difference_of_each_memory(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    main(seeds=2, rounds=3)
    told = capsys.readouterr().out
    assert "window_80" in told and "sanitised_80" in told


def test_a_sanitised_past_is_friendly_and_as_long():
    game = MemoryCurse("sanitised_80", rng=SEED)
    game.step()
    (player, _) = game.players
    text = decision.event(1, COOPERATE, DEFECT)
    player.memory.add_to_memory("round", {"text": text})
    shown = player.memory.get_prompt_ready()
    player.memory.shown_instead = None
    truth = player.memory.get_prompt_ready()
    assert PAST[DEFECT] in truth and PAST[DEFECT] not in shown
    count = player.memory.model_choice.count_tokens
    assert abs(count(shown) - count(truth)) <= 1


@pytest.mark.parametrize(
    ("defections", "said"), [(2, COOPERATE), (3, DEFECT)], ids=["forgiven", "grudge"]
)
def test_a_player_bears_a_grudge_after_the_third_defection(defections, said):
    acts = [DEFECT] * defections + [COOPERATE] * 5
    past = [decision.event(n, DEFECT, act) for n, act in enumerate(acts, 1)]
    asked = PolicyInput("", decision.prompt("\n".join(past)))
    assert decision.reply(asked) == said


def test_a_long_memory_ends_cooperation_and_a_friendly_past_keeps_it():
    share = {memory: MemoryCurse(memory, rng=SEED) for memory in OWN}
    for game in share.values():
        played(game, 100)
    assert share["window_2"].rounds == share["sanitised_80"].rounds
    assert share["window_80"].cooperation < 0.5 < share["window_2"].cooperation
