"""The learned ESG as an objective of evolution strategies: paired figures, turns of settings, runs in a folder."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.recipes.es import EsOptions, Generation
from varigym.agents.recipes.es_run import run_es
from varigym.agents.serverless import objective as esg_es
from varigym.agents.serverless.es_run import EsgRun
from varigym.agents.serverless.objective import (
    BUDGET,
    COST_PRICE,
    CREDIT,
    FLOOR,
    FLOOR_PRICE,
    OVER_PRICE,
    Against,
    EsgObjective,
    Windows,
    total_worth,
    worth,
)
from varigym.bench.simulate import run_policy
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.esg.learned import LearnedEsg, untrained
from varigym.policies.serverless.esg.levers import GAIN, Lever
from varigym.policies.serverless.esg.replanning import Esg
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.seeds import VALIDATION
from varigym.scenarios.serverless.source import ServerlessSynthetic

SMALL = EsOptions(generations=3, pairs=2, worlds=2, averaged=0.5, seed=5)
SHORT = Windows(0.5, 2.0, 0.5)
CROWDED, CALM = "fork-join:invokers=2:load=0.3", "fork-join:invokers=2:load=0.1"


def source(name: str) -> ServerlessSynthetic:
    found = find_source(name)
    assert isinstance(found, ServerlessSynthetic)
    return found


@cache
def expert() -> Esg:
    found = find_scheduler("esg")
    assert isinstance(found, Esg)
    return found


@cache
def objective() -> EsgObjective:
    """Two worlds in every bank, to learn on and to validate on, so that one program runs them all."""
    return EsgObjective((source(CROWDED), source(CALM)), expert(), 2, 1, SHORT)


def impatient() -> dict[str, np.ndarray]:
    weights = untrained(0, 2)
    weights["b2"][Lever.LATE] = 1.0 / GAIN[Lever.LATE]
    return weights


def run(seed: int = 5) -> EsgRun:
    return EsgRun((source(CROWDED),), expert(), replace(SMALL, seed=seed), 2, 2, windows=SHORT)


def test_worth_by_hand() -> None:
    """Points gained, less a price per per cent of cost; what is saved counts up to a multiple; deep losses thrice."""
    gain = np.array([[4.0, 2.0], [4.0, 2.0], [-3.0, 1.0], [1.0, 1.0], [4.0, 2.0], [-1.0, 0.5]])
    cost = np.zeros((6, 2))
    cost[1], cost[3], cost[4], cost[5] = [0.01, 0.03], [-0.5, -0.5], [-0.01, 0.0], [-0.02, -0.02]
    wanted = [3, 3 - COST_PRICE * 2, -1 - FLOOR_PRICE * (1 - FLOOR), 1 + CREDIT, 3 + COST_PRICE / 2, -0.25]
    assert worth(gain, cost).tolist() == pytest.approx(wanted)
    assert worth(gain, cost, 0.0).tolist() == pytest.approx([3, 3, -1, 1, 3, -0.25])


def test_contended_settings_have_a_budget_together() -> None:
    """Two of three are contended; on average they cost 2 % and -1 % more, and the second member is within it."""
    none = np.zeros((2, 1))
    dear = np.array([[0.03], [-0.02]])
    settings = [Against(none, dear, np.array([70.0])), Against(none, dear - 0.02, np.array([93.0]))]
    settings.append(Against(none, dear + 0.5, np.array([97.0])))
    alone = np.mean([worth(one.gain, one.cost) for one in settings], axis=0)
    over = np.maximum(np.array([2.0, -3.0]) - BUDGET, 0)
    assert over[1] == 0
    assert total_worth(settings).tolist() == pytest.approx((alone - OVER_PRICE * over * 2 / 3).tolist())
    assert total_worth(settings, 0.0).tolist() == [0, 0]
    assert total_worth(settings[2:]).tolist() == worth(none, dear + 0.5).tolist()


def test_an_untrained_network_gains_nothing_and_costs_the_same() -> None:
    weights = untrained(3, 2)
    assert objective().fitness(0, [weights, untrained(4, 2)], SMALL).tolist() == [0, 0]  # prices are 0 as yet
    figures = objective().validate(weights)
    assert figures == {
        "worth": OVER_PRICE * BUDGET / 2,  # one of two is contended, and ESG saves nothing against itself
        f"gain/{CROWDED}": 0,
        f"cost/{CROWDED}": 1,
        f"gain/{CALM}": 0,
        f"cost/{CALM}": 1,
    }


def test_the_search_begins_where_it_feels_the_levers_that_do_nothing_at_0() -> None:
    begun, still = objective().start(3), untrained(3, 2)
    moved = [(name, *at) for name, value in begun.items() for at in np.argwhere(value != still[name]).tolist()]
    assert moved == [("b2", int(Lever.LATE)), ("b2", int(Lever.HOLD))]
    assert (begun["b2"][[Lever.LATE, Lever.HOLD]] > 0).all()


def test_figures_are_those_of_whole_records() -> None:
    """Hits and cost per served request against ESG's, on the same requests."""
    world = objective().windowed[0].build(VALIDATION.first)
    made = [
        run_policy(source(CROWDED), scheduler, [0], [world])[0].requests
        for scheduler in (expert(), LearnedEsg(expert(), impatient()))
    ]
    hit = [100 * requests.hit.mean() for requests in made]
    usd = [requests.cost_usd.sum() / np.isfinite(requests.finish_ms).sum() for requests in made]
    figures = objective().validate(impatient())
    assert figures[f"gain/{CROWDED}"] == pytest.approx(hit[1] - hit[0], abs=1e-9)
    assert figures[f"cost/{CROWDED}"] == pytest.approx(usd[1] / usd[0], rel=1e-6)
    assert hit[1] != hit[0]


def test_members_are_judged_on_the_same_fresh_worlds() -> None:
    values = [objective().fitness(generation, [impatient()] * 2, SMALL).tolist() for generation in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    assert values[0][0] == values[0][1]


def test_settings_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def note(self: EsgObjective, settings: list[int], seeds: list[int], population: list[object]) -> Against:
        seen.append(list(settings))
        return Against(np.zeros((1, len(settings))), np.zeros((1, len(settings))), np.zeros(len(settings)))

    monkeypatch.setattr(EsgObjective, "_against_expert", note)
    for generation in range(3):
        objective().fitness(generation, [untrained(0, 2)], replace(SMALL, worlds=3))
    assert seen == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_episodes_that_need_more_places_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = objective().fitness(0, [impatient()], SMALL)
    monkeypatch.setattr(esg_es, "FIRST_PLACES", 48)
    assert objective().fitness(0, [impatient()], SMALL).tolist() == whole.tolist()


def test_a_run_is_repeatable_can_be_resumed_and_is_a_policy(tmp_path: Path) -> None:
    def stop(seen: Generation) -> None:
        if seen.state.generation == 2:
            raise KeyboardInterrupt

    whole, part = tmp_path / "whole", tmp_path / "part"
    run_es(run(), whole)
    with pytest.raises(KeyboardInterrupt):
        run_es(run(), part, watch=stop)
    run_es(run(), part, resume=True)
    assert (whole / "config.json").read_bytes() == (part / "config.json").read_bytes()
    made = load_checkpoint(whole)
    assert made.training.scenarios == (CROWDED,)
    assert any((made.weights[name] != value).any() for name, value in untrained(5, 2).items())
    _, policy = load_policy(whole)
    assert isinstance(policy, LearnedEsg)
    assert policy.expert.name == "esg"
    assert run_es(run(6), tmp_path / "other").identity != made.identity


def test_runs_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(InputError, match="expert 'infless'; legal: esg"):
        EsgRun((source(CALM),), find_scheduler("infless"))  # type: ignore[arg-type]
    init = LearnedEsg(expert(), untrained(0, 3))
    with pytest.raises(InputError, match="init has 3 hidden units, not 8"):
        EsgRun((source(CALM),), expert(), init=init)
    with pytest.raises(InputError, match="sources is empty; legal: at least one setting"):
        EsgObjective((), expert())
