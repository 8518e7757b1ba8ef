"""Tables of learners against experts: by hand, paired by world, and means over learners, never the best."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import varigym
from varigym.agents.checkpoints.checkpoint import Checkpoint, Training
from varigym.agents.checkpoints.policies import index_checkpoint
from varigym.bench.grid.experiment import Grid, Results
from varigym.bench.grid.intervals import spread_interval
from varigym.bench.grid.rows import ResultRow
from varigym.bench.report.judgement import Judgement, seed_groups
from varigym.policies.cluster.index_net import untrained
from varigym.scenarios.catalog import find_source

SEEDS = (200_000, 200_001, 200_002, 200_003)


def made(scenario: str, expert: str, values: dict[str, dict[str, list[float]]]) -> Results:
    """Results with these values: policy -> metric -> one per seed."""
    policies = tuple(SimpleNamespace(name=name, bind=0, adapt=0, information="") for name in values)
    grid = Grid((find_source(scenario),), policies, SEEDS, expert)
    rows = [
        ResultRow(grid.sources[0].name, policy, seed, metric, value, "s", "", "", "")
        for policy, metrics in values.items()
        for metric, found in metrics.items()
        for seed, value in zip(SEEDS, found, strict=True)
    ]
    return Results(grid, tuple(rows))


def jct(*values: float) -> dict[str, list[float]]:
    return {"mean_jct_s": list(values)}


def test_ratios_are_paired_by_world_and_the_mean_is_over_learners() -> None:
    base = (100.0, 200.0, 400.0, 800.0)
    half, same = jct(*(b / 2 for b in base)), jct(*base)
    results = made("sia-64", "expert", {"a": half, "b": same, "expert": jct(*base)})
    rows = Judgement(results, ("a", "b"), ("expert",), (("mean", ("a", "b")),)).rows(["sia-64"])
    assert rows[0] == ["a", "0.5000 [0.5000, 0.5000]"]
    assert rows[1] == ["b", "1.0000 [1.0000, 1.0000]"]
    log = np.log(0.5)
    margin = 12.706205 * np.std([log, 0], ddof=1) / np.sqrt(2)
    bounds = np.exp([log / 2 - margin, log / 2 + margin])
    assert rows[2] == ["mean", f"{np.sqrt(0.5):.4f} [{bounds[0]:.4f}, {bounds[1]:.4f}]"]
    assert rows[3] == ["expert", "1"]


def test_serverless_learners_are_judged_by_hits_and_cost() -> None:
    mine = {"hit_rate": [0.9, 0.8, 0.9, 0.8], "cost_usd_per_request": [2.0] * 4}
    base = {"hit_rate": [0.8, 0.7, 0.8, 0.7], "cost_usd_per_request": [1.0] * 4}
    shown = Judgement(made("overload", "esg", {"a": mine, "esg": base}), ("a",), ("esg",))
    assert shown.rows(["overload"]) == [
        ["a", "10.00 [10.00, 10.00]", "2.0000 [2.0000, 2.0000]"],
        ["esg", "0", "1"],
    ]
    (table,) = shown.tables()
    assert [str(column.header).split("\n")[0] for column in table.columns] == [
        "policy",
        "hit rate less esg's,",
        "cost per request over",
    ]


def test_a_learner_that_serves_nothing_has_no_cost() -> None:
    mine = {"hit_rate": [0.0] * 4, "cost_usd_per_request": [float("nan")] * 4}
    base = {"hit_rate": [0.5] * 4, "cost_usd_per_request": [1.0] * 4}
    results = made("overload", "esg", {"a": mine, "b": base, "esg": base})
    rows = Judgement(results, ("a", "b"), ("esg",), (("mean", ("a", "b")),)).rows(["overload"])
    assert rows[0] == ["a", "-50.00 [-50.00, -50.00]", "-"]
    assert rows[2][2] == "-"


def checkpoint(seed: int, **options: Any) -> tuple[str, Checkpoint]:
    training = Training("es", {"sigma": 0.1, "seed": seed, **options}, ("sia-64",), (seed,), "las-2d+pal+backfill")
    policy = varigym.find_policy("las-2d+pal+backfill")
    return f"run{seed}", index_checkpoint(policy, untrained(seed, 3), training)


@pytest.mark.parametrize(
    ("given", "members"),
    [
        ([checkpoint(0), checkpoint(1)], [("run0", "run1")]),
        ([checkpoint(0), checkpoint(1, sigma=0.2)], []),
        ([checkpoint(0), checkpoint(0)], []),
        ([checkpoint(0)], []),
        (
            [checkpoint(0), checkpoint(1), checkpoint(2, sigma=0.2), checkpoint(3, sigma=0.2)],
            [("run0", "run1"), ("run2", "run3")],
        ),
    ],
)
def test_learners_belong_together_if_their_seed_alone_differs(
    given: list[tuple[str, Checkpoint]], members: list[tuple[str, ...]]
) -> None:
    assert [names for _, names in seed_groups(given)] == members


def test_student_s_interval_by_hand() -> None:
    interval = spread_interval(np.array([1.0, 2.0, 3.0]))
    assert (interval.value, interval.low) == pytest.approx((2.0, 2 - 4.3027 / np.sqrt(3)), abs=1e-4)
    assert np.isnan(spread_interval(np.array([1.0])).low)
