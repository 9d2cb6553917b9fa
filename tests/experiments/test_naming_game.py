"""The naming game: a longer memory helps or hinders, and the network decides which."""

import networkx as nx
import numpy as np
import pytest

from mesa_memory.examples.naming_game import decision
from mesa_memory.examples.naming_game.__main__ import DEPTHS, by_network, effects, study
from mesa_memory.examples.naming_game.model import NamingGame
from mesa_memory.examples.naming_game.networks import NETWORKS, network
from mesa_memory.llm.doubles.policy import PolicyInput
from tests.support.openai_server import OpenAIServer

#: the extreme value among all 4,060 connected networks of 16 nodes with degree 3
EXTREMES = {
    "max_max_betweenness": 0.7143,
    "max_mean_betweenness": 0.2048,
    "max_mean_clustering": 0.5,
    "max_var_constraint": 0.0233,
    "min_mean_betweenness": 0.0857,
    "min_mean_clustering": 0.0,
    "max_min_closeness": 0.4545,
    "max_max_closeness": 0.4545,
}
NODES = {
    "betweenness": nx.betweenness_centrality,
    "clustering": nx.clustering,
    "constraint": nx.constraint,
    "closeness": nx.closeness_centrality,
}
OVER = {"max": max, "min": min, "mean": np.mean, "var": np.var}


def measured(name):
    """The measure that a network is named after."""
    _, over, nodes = name.split("_")
    return OVER[over](list(NODES[nodes](network(name)).values()))


def test_the_networks_have_the_measures_that_they_are_named_after():
    for name in NETWORKS:
        graph = network(name)
        assert nx.is_connected(graph)
        assert [degree for _, degree in graph.degree] == [3] * 16
    assert {name: round(measured(name), 4) for name in NETWORKS} == EXTREMES
    assert nx.is_isomorphic(network("min_mean_clustering"), nx.moebius_kantor_graph())


@pytest.mark.parametrize(
    ("heard", "own", "said"),
    [
        ("", "", "bafo"),
        ("dilu dilu hozi", "hozi hozi hozi", "dilu"),
        ("dilu hozi", "gepa hozi", "hozi"),
        ("gepa hozi", "kumo kumo", "hozi"),
    ],
    ids=[
        "no memory: the first",
        "the most frequent",
        "a tie: stay",
        "a tie: the first",
    ],
)
def test_a_player_answers_best_to_what_its_memory_shows(heard, own, said):
    rounds = enumerate(zip(own.split(), heard.split()), 1)
    memory = "\n".join(decision.event(step, *names) for step, names in rounds)
    names = ("bafo", "hozi", "gepa", "dilu", "kumo")
    asked = PolicyInput("", decision.prompt(memory, names))
    assert decision.reply(asked) == said


def test_a_game_ends_when_nothing_can_change_any_more():
    game = NamingGame("min_mean_betweenness", depth=2, rng=1)
    while game.running:
        game.step()
    last = game.settled
    assert game.agreed and game.names == 1 and last < game.steps < 100
    for _ in range(10):
        game.step()
    assert (game.names, game.settled) == (1, last)


@pytest.mark.parametrize(
    ("answer", "names"), [("I say *Kumo*.", 1), ("No idea.", 7)], ids=["a name", "none"]
)
def test_a_language_model_plays_from_the_same_prompts(answer, names):
    with OpenAIServer(lambda received: answer) as server:
        game = NamingGame(llm="openai/test", api_base=server.base, rng=1)
        game.step()
        asked = [received.prompt for received in server.log]
    assert game.names == names
    assert all(name in prompt for prompt in asked for name in decision.NAMES)


@pytest.mark.slow
def test_memory_hastens_settling_in_one_network_and_slows_it_in_another(tmp_path):
    shortest, longest = DEPTHS[0], DEPTHS[-1]
    found = study(
        tmp_path / "naming.sqlite",
        ["max_mean_clustering", "min_mean_betweenness"],
        [shortest, longest],
    )
    assert not found.run(2, progress=False).failed
    table = effects(found.results().runs).set_index(["network", "arm"])
    central = table.loc[("max_mean_clustering", longest)]
    decentral = table.loc[("min_mean_betweenness", longest)]
    assert central["high"] < 0 < decentral["low"]
    assert central["p"] < 0.05 and decentral["p"] < 0.05
    # It settles sooner, but not on one name: more names are left.
    before = table.loc[("max_mean_clustering", shortest)]
    assert central["names"] > before["names"] and decentral["agreed"] > 0.8
    differs = by_network(found.results().runs).sentences[0]
    assert "the effect of depth differs between max_mean_clustering and" in differs
    assert "it has opposite signs" in differs
