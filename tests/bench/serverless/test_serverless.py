"""The serverless platform through `simulate`, a grid, its tables and its page."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import varigym
from varigym.bench.grid import experiment
from varigym.bench.grid.experiment import Grid, Results, run_grid
from varigym.bench.grid.suite import Sweep
from varigym.bench.grid.world_kinds import KINDS, SUITES
from varigym.bench.report.html import write_report
from varigym.bench.report.terminal import console
from varigym.bench.serverless.details import detail_tables
from varigym.bench.serverless.figures import latency_quantiles
from varigym.bench.serverless.kind import ServerlessBench
from varigym.envs.serverless.bank import few_shapes, make_bank, padded
from varigym.envs.serverless.episode import run_episodes
from varigym.envs.serverless.metrics import METRICS
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.serverless.baselines.static_plan import FixedPlan
from varigym.policies.serverless.catalog import find_scheduler
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.scenario import ServerlessScenario

SCENARIO = "tiny-serverless"
POLICIES = ("esg", "min-config", "max-config")
SEEDS = (200_000, 200_001)


def grid(**parts: Any) -> Grid:
    given = {
        "sources": (find_source(SCENARIO), find_source(f"{SCENARIO}:warm=0")),
        "policies": tuple(find_scheduler(name) for name in POLICIES),
        "seeds": SEEDS,
        "baseline": "esg",
    }
    return Grid(**given | parts)


@pytest.fixture(scope="module")
def whole() -> Results:
    return run_grid(grid())


def test_simulate_gives_typed_records() -> None:
    (record,) = varigym.simulate(SCENARIO, "esg", 3)
    assert (record.scenario, record.policy, record.seed) == (SCENARIO, "esg", 3)
    assert record.requests.hit.mean() == varigym.metrics_of(record)["hit_rate"]
    assert record.data_hash == find_source(SCENARIO).build(3).data_hash


def test_simulate_takes_a_source_a_scenario_and_a_scheduler() -> None:
    source, scheduler = find_source(SCENARIO), find_scheduler("esg")
    by_name, by_source, by_scenario = (
        varigym.simulate(scenario, scheduler)[0] for scenario in (SCENARIO, source, source.build(0))
    )
    np.testing.assert_array_equal(by_name.requests.finish_ms, by_source.requests.finish_ms)
    np.testing.assert_array_equal(by_name.requests.finish_ms, by_scenario.requests.finish_ms)


@pytest.mark.parametrize(
    ("scenario", "policy", "message"),
    [
        (SCENARIO, "pal", "policy 'pal' is for a training cluster; legal for a serverless platform: esg,"),
        ("tiny", "esg:k=1", "policy 'esg:k=1' is for a serverless platform; legal for a training cluster: ORDER"),
        (SCENARIO, "egs", "unknown scheduler 'egs'; did you mean esg"),
        (SCENARIO, find_policy("pal"), "is for a training cluster; legal for a serverless platform: esg"),
        ("tiny", find_scheduler("esg"), "is for a serverless platform; legal for a training cluster"),
        (SCENARIO, 5, "policy = 5"),
    ],
)
def test_a_policy_of_the_other_kind_is_refused(scenario: str, policy: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        varigym.simulate(scenario, policy)


def test_a_bank_takes_worlds_of_its_kind() -> None:
    with pytest.raises(InputError, match="scenario 'tiny' is no serverless platform"):
        KINDS["serverless"].bank(None, [find_source("tiny").build(0)])
    with pytest.raises(InputError, match="scenario 'tiny-serverless' is no training cluster"):
        KINDS["cluster"].bank(find_source("tiny"), [find_source(SCENARIO).build(0)])


def test_room_for_more_requests_changes_nothing() -> None:
    plain, scheduler = make_bank([find_source(SCENARIO).build(0)]), find_scheduler("min-config")
    assert padded(plain).worlds.arrival.shape == (1, few_shapes(1)) != plain.worlds.arrival.shape
    logs = [
        run_episodes(bank, scheduler.program, scheduler.bind(bank), [0], bank.worlds)[0].log
        for bank in (plain, padded(plain))
    ]
    np.testing.assert_array_equal(*logs)
    assert [few_shapes(n) for n in (1, 1024, 1025, 20_000)] == [1024, 1024, 4096, 65_536]


def test_kinds_are_not_mixed() -> None:
    with pytest.raises(InputError, match="'tiny-serverless' is a serverless platform, 'tiny' is a training cluster"):
        grid(sources=(find_source(SCENARIO), find_source("tiny")))
    with pytest.raises(InputError, match="policy 'pal' is for a training cluster"):
        grid(baseline="pal")


def test_every_cell_has_every_metric_and_figures_by_workflow(whole: Results) -> None:
    names = {row.metric for row in whole.rows}
    assert {metric.name for metric in METRICS.values()} <= names
    assert {"hit_rate[look-and-say]", "cost_usd_per_request[say-only]", "latency_over_slo[0.99]"} <= names
    assert len(whole.rows) == grid().size * len(names)
    units = {row.metric: row.unit for row in whole.rows}
    assert units["cost_usd_per_request[say-only]"] == "USD"
    hits = [varigym.metrics_of(record)["hit_rate"] for record in varigym.simulate(SCENARIO, "min-config", SEEDS)]
    assert whole.values(SCENARIO, "min-config", "hit_rate").tolist() == hits


def test_a_rerun_computes_nothing_and_times_do_not_matter(
    tmp_path: Path, whole: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_grid(grid(seeds=SEEDS[:1]), tmp_path)
    again = run_grid(grid(), tmp_path)
    timed = {metric.name for metric in METRICS.values() if metric.measured}
    key = [(r.scenario, r.policy, r.seed, r.metric) for r in again.rows]
    assert sorted(key) == sorted((r.scenario, r.policy, r.seed, r.metric) for r in whole.rows)
    for row in again.rows:
        if row.metric not in timed:
            expected = whole.values(row.scenario, row.policy, row.metric)[SEEDS.index(row.seed)]
            np.testing.assert_equal(row.value, expected)
    text = (tmp_path / "rows.csv").read_text()
    monkeypatch.setattr(ServerlessBench, "run", None)
    assert [repr(row) for row in run_grid(grid(), tmp_path).rows] == [repr(row) for row in again.rows]
    assert (tmp_path / "rows.csv").read_text() == text


def test_the_bank_is_made_once_for_all_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = KINDS["serverless"].bank

    def spy(self: Any, source: Any, worlds: Any) -> Any:
        made.append(len(worlds))
        return make(source, worlds)

    monkeypatch.setattr(ServerlessBench, "bank", spy)
    run_grid(grid())
    assert made == [2, 2]


def test_a_torn_cell_is_computed_again(tmp_path: Path, whole: Results) -> None:
    small = grid(policies=(find_scheduler("esg"),), seeds=SEEDS[:1])
    run_grid(small, tmp_path)
    path = tmp_path / "rows.csv"
    lines = path.read_text().splitlines(keepends=True)
    for kept in (4, len(lines) - 1):
        path.write_text("".join(lines[:kept]))
        run_grid(small, tmp_path)
        assert len(path.read_text().splitlines()) == len(lines)


def test_results_of_the_other_kind_are_refused_and_kept(tmp_path: Path) -> None:
    varigym.compare("tiny", "pal", seeds=1, out=tmp_path)
    text = (tmp_path / "rows.csv").read_text()
    with pytest.raises(InputError, match="without hit_rate"):
        run_grid(grid(), tmp_path)
    assert (tmp_path / "rows.csv").read_text() == text


def nobody_served(results: Results) -> Results:
    """The results as if max-config had served nobody."""
    gone = ("cost_usd", "p50", "p99", "latency_over")
    changed = [
        experiment.ResultRow(**{**vars(row), "value": math.nan})
        if row.policy == "max-config" and row.metric.startswith(gone)
        else row
        for row in results.rows
    ]
    return Results(results.grid, tuple(changed))


def test_what_does_not_exist_is_an_empty_cell_and_comes_back(tmp_path: Path, whole: Results) -> None:
    store = experiment.RowStore(tmp_path, METRICS)
    store.add(nobody_served(whole).rows)
    del store
    with (tmp_path / "rows.csv").open() as file:
        empty = {row["metric"] for row in csv.DictReader(file) if not row["value"]}
    assert "cost_usd_per_request" in empty
    back = experiment.RowStore(tmp_path, METRICS).rows
    assert [repr(row) for row in back] == [repr(row) for row in nobody_served(whole).rows]


@dataclass(frozen=True)
class Planner(FixedPlan):
    """The smallest configuration, by a planner that is told what it will meet."""

    told: list[tuple[list[str], int]] = field(default_factory=list)

    def plan_ahead(self, scenarios: list[ServerlessScenario], processes: int, tell: Callable[[str], None]) -> None:
        self.told.append(([scenario.name for scenario in scenarios], processes))


def test_a_planner_hears_of_all_sources_before_anything_runs(tmp_path: Path) -> None:
    planner = Planner("planner")
    small = grid(policies=(planner,), baseline="planner")
    run_grid(replace(small, sources=small.sources[:1]), tmp_path)
    assert planner.told == []  # one process: it plans when it is bound
    run_grid(small, tmp_path, processes=2)
    assert planner.told == [([small.sources[1].name], 2)]  # the other is finished


def test_tables_have_a_row_per_policy_and_compare_with_the_baseline(
    whole: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    varigym.show_results(nobody_served(whole), console())
    printed = capsys.readouterr().out
    assert "tiny-serverless, 2 seeds" in printed
    assert "1 (baseline)" in next(line for line in printed.splitlines() if " esg " in line)
    assert " - " in next(line for line in printed.splitlines() if " max-config " in line)
    for title in ("Hit rate, %", "Hit rate less esg's, points", "cost_usd_per_request over esg's"):
        assert title in printed
    assert len(detail_tables(whole)) == 2


def test_the_page_holds_every_table_and_figure(tmp_path: Path, whole: Results) -> None:
    write_report(tmp_path / "report.html", nobody_served(whole), "bench <esg>")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "bench &lt;esg&gt;" in page
    assert page.count("<svg") == 2
    assert "none served" in page
    for word in ("hit_rate", "Hit rate by workflow", "look-and-say", "seeds 200000-200001"):
        assert word in page or word == "hit_rate"
    assert np.isnan(latency_quantiles(nobody_served(whole), SCENARIO, "max-config")).all()
    assert latency_quantiles(whole, SCENARIO, "esg") == sorted(latency_quantiles(whole, SCENARIO, "esg"))


def test_a_knob_gives_a_table_for_hits_and_one_for_cost(whole: Results, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = Sweep("Warm containers", SCENARIO, "warm", (0.0,))
    varigym.show_results(whole, console(), (sweep,))
    printed = capsys.readouterr().out
    assert "Warm containers: hit rate, %" in printed
    assert "Warm containers: cost_usd_per_request over esg's" in printed


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_names_what_there_is(name: str) -> None:
    suite = SUITES[name]
    finds = find_scheduler if name.startswith("esg") else find_policy
    assert len({finds(policy).name for policy in suite.policies}) == len(suite.policies)
    for scenario in suite.scenarios:
        assert find_source(scenario).name == scenario
    for sweep in suite.sweeps:
        assert set(sweep.scenarios) <= set(suite.scenarios)
