"""The learned index: untrained it is its expert, trained it goes by its weights, on any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from varigym.bench.simulate import simulate
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.dynamics import initial_state
from varigym.envs.cluster.episode import run_episodes
from varigym.envs.cluster.view import View, observe
from varigym.envs.cluster.world import prepare
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.gittins import add_finished, empty_history
from varigym.policies.cluster.index_features import (
    FEATURES,
    NAMES,
    best_slowdown,
    gang_slowdown,
    index_features,
    log_of_key,
    outlook,
)
from varigym.policies.cluster.index_net import KEEP, LearnedIndex, learned_index, untrained
from varigym.scenarios.cluster.scenario import ClusterScenario
from varigym.scenarios.errors import InputError
from worlds import SmallJob, Worlds, scenarios, small_scenario

EXPERTS = [
    f"{order}+{rest}"
    for order in ("fifo", "las", "las-2d", "gittins")
    for rest in ("pal", "packed+sticky", "pm-first+backfill", "pal+sticky+backfill")
]
PAIRS = np.array([[0, 1], [1, 4]], np.int32)


def row(name: str) -> int:
    return NAMES.index(name)


def view_of(jobs: list[SmallJob], **changes: Any) -> View:
    world = prepare(small_scenario(jobs))
    return replace(observe(world, initial_state(world, 8), jnp.bool_(False)), **changes)


def only(feature: str, u: float = 0.0, keep: float = 0.0) -> dict[str, Any]:
    """Weights of a network that shows (nearly) one feature, times `u` and times `keep`."""
    blank = {name: np.zeros_like(value) for name, value in untrained(0, 1).items()}
    blank["w1"][row(feature), 0] = 1e-2
    blank["w2"][0] = [u * 1e2, keep * 1e2]
    return blank


@pytest.mark.parametrize("name", EXPERTS)
@settings(max_examples=5)
@given(scenario=scenarios(jobs=8))
def test_an_untrained_network_is_its_expert(name: str, scenario: ClusterScenario) -> None:
    expert = find_policy(name)
    jobs = [simulate(scenario, policy)[0].jobs for policy in (expert, LearnedIndex(expert, untrained(3)))]
    assert (jobs[0].jct_s == jobs[1].jct_s).all()
    assert (jobs[0].preemptions == jobs[1].preemptions).all()


@pytest.mark.parametrize("order", ["gittins", "las-2d"])
def test_an_untrained_network_is_its_expert_on_a_long_stream(order: str) -> None:
    expert = find_policy(f"{order}+pal+backfill")
    records = [simulate("sia-64", policy, 200_001)[0] for policy in (expert, LearnedIndex(expert, untrained(3)))]
    assert (records[0].jobs.jct_s == records[1].jobs.jct_s).all()


def test_a_weight_on_one_feature_turns_the_order_round() -> None:
    """Two jobs that each fill the cluster. FIFO runs the first; a price on earliness runs the second first."""
    world = small_scenario([SmallJob(0, 9, 60, 0), SmallJob(0, 9, 60, 0)], locality_penalty=(1, 1))
    fifo = find_policy("fifo+packed")
    later = LearnedIndex(fifo, only("place in arrival order", -3.0))
    assert simulate(world, fifo)[0].jobs.start_s.tolist() == [0, 60]
    assert simulate(world, later)[0].jobs.start_s.tolist() == [60, 0]


def test_a_price_on_stopping_keeps_running_jobs() -> None:
    """LAS would alternate between two jobs of three rounds; a lower key for the one that runs lets it finish."""
    world = small_scenario([SmallJob(0, 9, 180, 0), SmallJob(0, 9, 180, 0)], locality_penalty=(1, 1))
    las = find_policy("las-2d+packed")
    steady = LearnedIndex(las, only("running", -8.0))
    assert simulate(world, las)[0].jobs.finish_s.tolist() == [300, 360]
    assert simulate(world, steady)[0].jobs.finish_s.tolist() == [180, 360]


def test_a_kept_gang_stays_and_another_moves_to_faster_gpus() -> None:
    """One fast GPU. The short job has it first; once it is done, the long one moves there, unless it is kept."""
    bins = np.full((2, 9), 2.0)
    bins[:, 0] = 1.0
    world = small_scenario([SmallJob(0, 1, 60, 0), SmallJob(0, 1, 240, 1)], pm_bin=bins, restart_s=15.0)
    expert = find_policy("fifo+pal")
    free, kept = (simulate(world, LearnedIndex(expert, only("one", keep=k)))[0].jobs for k in (-1.0, 1.0))
    assert kept.preemptions.tolist() == [0, 0]
    assert kept.finish_s.tolist() == [60, 480]
    assert free.preemptions.tolist() == [0, 1]
    assert free.finish_s.tolist() == [60, 300]  # 60 s at half speed, then 15 s lost and 210 s of work: 5 rounds


def test_the_key_is_scaled_by_the_network() -> None:
    view = view_of([SmallJob(0, 1, 60, 0), SmallJob(0, 1, 60, 1)])
    history = empty_history(PAIRS, online=False)
    weights = only("class B", 0.5, 2 * KEEP)
    cost, keep = learned_index(weights, view, history, jnp.arange(8.0))
    index, _ = learned_index(weights, view, history, -1.0 - jnp.arange(8.0))
    assert keep.tolist() == [False, True] + [False] * 6
    assert cost[:3].tolist() == pytest.approx([1, 2 * np.exp(0.5), 3], rel=1e-3)
    assert index[:3].tolist() == pytest.approx([-1, -2 * np.exp(-0.5), -3], rel=1e-3)


def test_features_by_hand() -> None:
    """9 GPUs in nodes of 3; jobs of 6, 4 and 2 GPUs with keys 5, 0 and 2: order 4 (fits), 2 (fits), 6 (12 > 9)."""
    view = view_of([SmallJob(0, 6, 60, 0), SmallJob(0, 4, 60, 1), SmallJob(0, 2, 60, 0)])
    view = replace(view, attained=jnp.asarray([3, 0, 1, 0, 0, 0, 0, 0], jnp.int32))
    table = np.asarray(
        index_features(view, empty_history(PAIRS, online=False), jnp.asarray([5.0, 0, 2, 0, 0, 0, 0, 0]))
    )
    assert table.shape == (8, FEATURES)
    assert table[:3, row("attained GPU-rounds, log")] == pytest.approx(np.log1p([18, 0, 2]) / 8)
    assert table[:3, row("demand as a share of the GPUs, log")] == pytest.approx(np.log([6 / 9, 4 / 9, 2 / 9]) / 4)
    assert table[:3, row("wider than a node")].tolist() == [1, 1, 0]
    assert table[:3, row("class B")].tolist() == [0, 1, 0]
    assert table[:3, row("demand ahead as a share of the GPUs, log")] == pytest.approx(np.log1p([6 / 9, 0, 4 / 9]))
    assert table[:3, row("place in the expert's order")] == pytest.approx([1 / 3, -1, -1 / 3])
    assert table[:3, row("fits behind those ahead")].tolist() == [0, 1, 1]
    cut = np.log([6 / 3, 1 / 3, 3 / 3]) / 4  # keys + 1 against that of the job of 2 GPUs
    assert table[:3, row("expert's key against that of the last job that fits, log")] == pytest.approx(cut)
    assert (table[3:] == 0).all()
    assert np.abs(table).max() <= 1.2


def test_the_outlook_of_a_job_comes_from_finished_jobs_like_it() -> None:
    """Services 1, 2, 2, 10, 10; of age 2, two are left with 8 rounds to go each."""
    rounds = jnp.asarray([1, 2, 2, 10, 10], jnp.int32)
    history = add_finished(empty_history(PAIRS, online=False), jnp.zeros(5, jnp.int32), jnp.ones(5, jnp.int32), rounds)
    view = view_of([SmallJob(0, 1, 60, 0)] * 3 + [SmallJob(0, 4, 60, 1)])
    view = replace(view, attained=jnp.asarray([0, 2, 7, 2, 0, 0, 0, 0], jnp.int32))
    left, soon, later = (np.asarray(part)[:4] for part in outlook(view, history))
    assert left == pytest.approx([5, 8, 3, 3])  # the last one is unknown: as long as it has run
    assert soon == pytest.approx([1 / 5, 0, 0, 0])
    assert later == pytest.approx([3 / 5, 0, 1, 0])


def test_slowdown_of_the_present_gang() -> None:
    bins = np.ones((2, 9))
    bins[:, 1] = 2.0
    world = prepare(small_scenario([SmallJob(0, 4, 60, 0), SmallJob(0, 2, 60, 0), SmallJob(0, 1, 60, 0)], pm_bin=bins))
    view = observe(world, initial_state(world, 8), jnp.bool_(False))
    view = replace(view, owner=jnp.asarray([[1, 1, 0], [0, 0, 0], [-1, -1, -1]], jnp.int32))
    assert np.asarray(gang_slowdown(view))[:3] == pytest.approx([1.7, 2.0, 1.0])
    assert np.asarray(best_slowdown(view))[:3] == pytest.approx([1.7, 1.0, 1.0])


def test_logarithms_of_keys_keep_their_order() -> None:
    assert (np.diff(log_of_key(jnp.asarray([0.0, 1, 7, 300]))) > 0).all()
    assert (np.diff(log_of_key(jnp.asarray([-1.0, -0.3, -0.01]))) > 0).all()


def test_weights_of_one_cluster_run_on_another() -> None:
    lots = np.random.default_rng(0)
    weights = {name: lots.standard_normal(value.shape) for name, value in untrained(0).items()}
    policy = LearnedIndex(find_policy("gittins+pal+sticky+backfill"), weights)
    small = small_scenario([SmallJob(10 * k, 1 + k, 200, k % 2) for k in range(8)], restart_s=15.0)
    for scenario in (small, "sia-64:jobs=32:nodes=64:restart_s=90"):
        assert np.isfinite(simulate(scenario, policy, 200_000)[0].jobs.jct_s).all()


def test_all_weights_share_one_program() -> None:
    expert = find_policy("las-2d+pal+backfill")
    policies = [LearnedIndex(expert, untrained(seed)) for seed in range(2)]
    assert policies[0].program is policies[1].program
    bank = make_bank([small_scenario([SmallJob(0, 2, 60, 0)])])
    first, second = (run_episodes(bank, p.program, p.bind(bank), False, [0])[0] for p in policies)
    assert (first.finish_round == second.finish_round).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w1": np.zeros((FEATURES + 1, 16))}, r"weight w1 has shape \[\d+, 16\]; legal: w1 \["),
        ({"w2": np.zeros(3)}, r"weight w2 has shape \[3\]"),
        ({"b2": np.full(2, np.nan)}, "weight b2 is not finite"),
        ({"w3": np.zeros(3)}, "weights of a learned index: w1, b1, w2, b2, w3; legal"),
    ],
)
def test_foreign_weights_are_refused(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnedIndex(find_policy("fifo+pal"), {**untrained(0), **change})


def test_a_clairvoyant_expert_is_refused() -> None:
    with pytest.raises(InputError, match=r"expert 'srsf\+pal' is clairvoyant"):
        LearnedIndex(find_policy("srsf+pal"), untrained(0))


def test_a_learned_index_is_a_policy_like_any_other() -> None:
    source = Worlds((small_scenario([SmallJob(0, 2, 60, 0), SmallJob(0, 9, 60, 1)]),))
    policy = LearnedIndex(find_policy("fifo+pal"), untrained(0))
    (record,) = simulate(source, policy, 0)
    assert record.policy == "index(fifo+pal)"
