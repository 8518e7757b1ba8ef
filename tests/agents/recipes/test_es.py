"""Evolution strategies: the core on figures known by hand, and the learned index on small worlds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from varigym.agents.cluster import objective as index_es
from varigym.agents.cluster.objective import IndexObjective, flows
from varigym.agents.recipes.es import EsOptions, EsState, Floats, Generation, Weights, begin, centred_ranks, train_es
from varigym.bench.simulate import simulate
from varigym.envs.cluster.bank import make_bank
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.index_net import LearnedIndex
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError

SMALL = EsOptions(generations=4, pairs=2, worlds=2, averaged=0.5, seed=5)


@dataclass(frozen=True)
class Bowl:
    """Squared distance to (1, -2), shifted by an amount that all members of a generation share."""

    def start(self, seed: int) -> Weights:
        return {"x": np.zeros(2, np.float32)}

    def fitness(self, generation: int, population: Sequence[Weights], options: EsOptions) -> Floats:
        return np.array([distance(member) for member in population]) + 10 * np.sin(generation)

    def validate(self, weights: Weights) -> Mapping[str, float]:
        return {"distance": distance(weights)}


def distance(weights: Weights) -> float:
    return float(np.sum((weights["x"] - np.array([1.0, -2.0])) ** 2))


def same(one: Any, other: Any) -> bool:
    return all((one[name] == other[name]).all() for name in one) and set(one) == set(other)


def test_ranks_are_centred_and_ties_share_theirs() -> None:
    assert centred_ranks(np.array([30.0, 10.0, 20.0])).tolist() == [0.5, -0.5, 0.0]
    assert centred_ranks(np.array([1.0, 1.0, 5.0, 9.0])).tolist() == pytest.approx([-1 / 3, -1 / 3, 1 / 6, 1 / 2])
    assert centred_ranks(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]


def test_it_finds_the_bottom_of_a_bowl() -> None:
    options = EsOptions(generations=200, pairs=8, learning_rate=0.05, averaged=0.2)
    seen: list[Generation] = []
    end = train_es(Bowl(), options, report=seen.append)
    assert distance(end.result) < 0.01
    assert end.added == 40
    assert [g.validation is not None for g in seen] == [False] * 199 + [True]


def test_an_interrupted_search_ends_as_one_that_was_not() -> None:
    whole: list[EsState] = []
    train_es(Bowl(), SMALL, report=lambda g: whole.append(g.state))
    for stop in (1, 3):
        end = train_es(Bowl(), SMALL, resume=whole[stop - 1])
        assert same(end.weights, whole[-1].weights)
        assert same(end.result, whole[-1].result)


def test_equal_seeds_give_equal_weights_and_others_do_not() -> None:
    first, second, third = (train_es(Bowl(), replace(SMALL, seed=seed)).result for seed in (1, 1, 2))
    assert same(first, second)
    assert not same(first, third)


def test_without_averaging_the_last_iterate_is_the_result() -> None:
    end = train_es(Bowl(), replace(SMALL, averaged=0.0))
    assert same(end.result, end.weights)
    assert same(begin({"x": np.ones(2)}).result, {"x": np.ones(2)})


def test_a_state_of_another_task_is_refused() -> None:
    with pytest.raises(InputError, match=r"resume has weights .*legal: those of the objective, \{'x': \[2\]\}"):
        train_es(Bowl(), SMALL, resume=begin({"y": np.zeros(2)}))


def test_a_state_goes_on_whatever_the_sequence_of_its_weights() -> None:
    @dataclass(frozen=True)
    class Two(Bowl):
        def start(self, seed: int) -> Weights:
            return {"x": np.zeros(2, np.float32), "y": np.zeros(3, np.float32)}

    states: list[EsState] = []
    end = train_es(Two(), SMALL, report=lambda g: states.append(g.state))
    turned = {name: dict(reversed(getattr(states[1], name).items())) for name in ("weights", "first", "second")}
    assert list(turned["weights"]) == ["y", "x"]
    again = train_es(Two(), SMALL, resume=replace(states[1], **turned))
    assert same(again.weights, end.weights)
    assert same(again.result, end.result)


def test_masked_weights_begin_at_zero_and_stay_there() -> None:
    @dataclass(frozen=True)
    class Half(Bowl):
        mask = {"x": np.array([1, 0], np.float32)}  # noqa: RUF012

        def start(self, seed: int) -> Weights:
            return {"x": np.array([3, 5], np.float32)}

    end = train_es(Half(), EsOptions(generations=200, pairs=8, learning_rate=0.05, averaged=0.2))
    assert end.result["x"][1] == end.weights["x"][1] == 0
    assert abs(end.result["x"][0] - 1) < 0.1


def test_scalars_go_to_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    states: list[EsState] = []
    train_es(Bowl(), replace(SMALL, generations=3), out=tmp_path, report=lambda g: states.append(g.state))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [event.step for event in events.Scalars("es/fitness_mean")] == [1, 2, 3]
    assert [event.step for event in events.Scalars("validation/distance")] == [3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"generations": 0}, "generations"),
        ({"sigma": 0.0}, "sigma"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"averaged": 2.0}, "averaged = 2.0; legal: 0 to 1"),
    ],
)
def test_illegal_options_are_refused(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EsOptions(**change)


@pytest.fixture(autouse=True, scope="module")
def little_to_compile() -> Iterator[None]:
    """Episodes in two pieces instead of four."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_es, "TAIL_SLOTS", (8,))
        yield


def objective(knobs: str = "") -> IndexObjective:
    """As many validation worlds as `SMALL` has, so that one program runs them all."""
    source = find_source(f"sia-64:jobs=24:nodes=8:span_h=1{knobs}")
    return IndexObjective(source, find_policy("las-2d+pal+backfill"), 4, SMALL.worlds)


def test_fitness_is_the_log_of_paired_jct_ratios() -> None:
    small = objective()
    expert, policy = small.expert, LearnedIndex(small.expert, {**small.start(0), "w2": np.ones((4, 2), np.float32)})
    seeds = range(100_000, 100_000 + SMALL.worlds)
    jct_s = [
        np.array([record.jobs.jct_s.sum() for record in simulate(small.source, p, seeds)]) for p in (expert, policy)
    ]
    ratio = small.validate(dict(policy.weights))["ratio"]
    assert ratio == pytest.approx(np.exp(np.log(jct_s[1] / jct_s[0]).mean()), rel=1e-6)
    assert ratio != 1
    assert small.validate(small.start(0))["ratio"] == 1


def test_moving_less_pays_where_restarts_are_dear() -> None:
    """The expert places everything anew whenever a job comes or goes; half a round is lost by each move."""
    dear = objective(":restart_s=180")
    options = EsOptions(generations=10, pairs=4, worlds=2, learning_rate=0.1, averaged=0.3)
    end = train_es(dear, options)
    fresh = [dear.fitness(number, [end.result], replace(options, seed=1)) for number in range(8)]
    assert np.exp(np.mean(fresh)) < 0.97


def test_the_search_goes_on_where_it_was_and_is_reproducible() -> None:
    states: list[EsState] = []
    train_es(objective(), SMALL, report=lambda g: states.append(g.state))
    again = train_es(objective(), SMALL, resume=states[1])
    assert same(again.result, states[-1].result)
    assert not same(states[-1].result, objective().start(SMALL.seed))


def test_members_are_judged_on_the_same_fresh_worlds() -> None:
    small, weights = objective(), objective().start(0)
    first, second = (small.fitness(0, [weights, weights], replace(SMALL, seed=seed)) for seed in (0, 1))
    assert first.tolist() == second.tolist() == [0, 0]
    moved = {**weights, "w2": np.ones((4, 2), np.float32)}
    values = [small.fitness(generation, [moved], SMALL)[0] for generation in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


def test_episodes_that_need_more_slots_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learned policy on two worlds, as above, so that only the episodes with few slots are new to the compiler."""
    monkeypatch.setattr(index_es, "FIRST_SLOTS", 16)
    monkeypatch.setattr(index_es, "SLOT_STEP", 16)
    source, expert = find_source("sia-64:jobs=24:nodes=8:span_h=0.1"), find_policy("las-2d+pal+backfill")
    policy, seeds = LearnedIndex(expert, objective().start(0)), range(SMALL.worlds)
    bank = make_bank([source.build(seed) for seed in seeds], None, source.bins)
    data = policy.bind(bank)
    assert all(index_es._episode(policy.program, 16, bank.worlds, jnp.int32(world), data)[1] for world in seeds)
    totals = flows(bank, policy.program, [data])[0]
    found = [record.jobs.jct_s.sum() for record in simulate(source, policy, seeds)]
    assert totals.tolist() == pytest.approx(found, rel=1e-6)
