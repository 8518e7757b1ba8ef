from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import varigym
from varigym.bench.cluster.kind import ClusterBench
from varigym.bench.grid.experiment import Cell, Grid, Results, run_grid
from varigym.bench.grid.provenance import version
from varigym.envs.cluster.bank import Bank
from varigym.envs.cluster.episode import Program
from varigym.envs.cluster.metrics import METRICS, metrics_of
from varigym.envs.cluster.world import horizon_round
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.policy import Information, Policy
from varigym.scenarios.catalog import find_source
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.source import ClusterFiles, ClusterPlatform
from varigym.scenarios.errors import InputError
from varigym.scenarios.seeds import HELD_OUT

POLICIES = ("fifo+packed+sticky", "fifo+pal", "srtf+pal")
SEEDS = (200_000, 200_001)
TRACE = "job_id,num_gpus,submit_time,duration,model\na,2,0,600,resnet50\nb,1,30,1200,vgg19\nc,1,40,60,BERT\n"


def grid(policies: Sequence[str | Policy] = POLICIES, baseline: str = POLICIES[0], **parts: Any) -> Grid:
    given = {
        "sources": (find_source("tiny"),),
        "policies": tuple(find_policy(p) if isinstance(p, str) else p for p in policies),
        "seeds": SEEDS,
        "baseline": baseline,
    }
    return Grid(**given | parts)


@dataclass(frozen=True)
class Interrupted:
    """The policy of a name, whose user presses Ctrl-C."""

    name: str

    @property
    def information(self) -> Information:
        return find_policy(self.name).information

    @property
    def program(self) -> Program:
        return find_policy(self.name).program

    def bind(self, bank: Bank) -> Any:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def whole() -> Results:
    """The grid run at one go, without a folder."""
    return run_grid(grid())


def test_every_cell_has_every_metric_with_unit_and_origin(whole: Results) -> None:
    cells = {(row.policy, row.seed, row.metric) for row in whole.rows}
    assert cells == {(p, s, m.name) for p in POLICIES for s in SEEDS for m in METRICS.values()}
    assert len(whole.rows) == len(cells) == grid().size * len(METRICS)
    units = {metric.name: metric.unit for metric in METRICS.values()}
    for row in whole.rows:
        assert row.scenario == "tiny"
        assert row.unit == units[row.metric]
        assert row.version == version()
        assert row.commit
        assert row.data_hash == find_source("tiny").build(row.seed).data_hash


def test_rows_hold_what_simulate_gives(whole: Results) -> None:
    for policy in POLICIES:
        records = varigym.simulate("tiny", policy, SEEDS)
        for metric in METRICS.values():
            expected = [metrics_of(record)[metric.name] for record in records]
            assert whole.values("tiny", policy, metric.name).tolist() == expected


def test_values_stand_in_the_order_of_the_grids_seeds() -> None:
    turned = run_grid(grid(["fifo+random"], seeds=SEEDS[::-1]))
    straight = run_grid(grid(["fifo+random"]))
    for metric in METRICS.values():
        there = straight.values("tiny", "fifo+random", metric.name)
        assert turned.values("tiny", "fifo+random", metric.name).tolist() == there[::-1].tolist()


def test_values_of_what_was_not_run_are_empty(whole: Results) -> None:
    assert len(whole.values("tiny", "las+pal", "mean_jct_s")) == 0


def test_equal_seeds_give_equal_rows(whole: Results) -> None:
    assert run_grid(grid()).rows == whole.rows


def test_every_policy_meets_the_same_worlds_and_every_seed_another() -> None:
    source = find_source("sia-64:nodes=2:gpus_per_node=2:jobs=6:span_h=0.5")
    results = run_grid(grid(sources=(source,)))
    hashes = {seed: {row.data_hash for row in results.rows if row.seed == seed} for seed in SEEDS}
    assert all(len(found) == 1 for found in hashes.values())
    assert hashes[SEEDS[0]] != hashes[SEEDS[1]]


def test_rows_are_written_as_they_are_returned(tmp_path: Path, whole: Results) -> None:
    run_grid(grid(), tmp_path)
    with (tmp_path / "rows.csv").open() as file:
        written = [tuple(row.values()) for row in csv.DictReader(file)]
    assert written == [
        (r.scenario, r.policy, str(r.seed), r.metric, repr(r.value), r.unit, r.version, r.commit, r.data_hash)
        for r in whole.rows
    ]


def test_an_interrupted_run_keeps_what_was_finished_and_is_completed_by_the_next(
    tmp_path: Path, whole: Results
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_grid(grid([POLICIES[0], Interrupted(POLICIES[1]), POLICIES[2]]), tmp_path)
    finished = (tmp_path / "rows.csv").read_text()
    assert len(finished.splitlines()) == 1 + len(SEEDS) * len(METRICS)
    assert run_grid(grid(), tmp_path).rows == whole.rows
    assert (tmp_path / "rows.csv").read_text().startswith(finished)


def test_a_rerun_computes_nothing_and_gives_the_same(
    tmp_path: Path, whole: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_grid(grid(), tmp_path)
    text = (tmp_path / "rows.csv").read_text()
    monkeypatch.setattr(ClusterBench, "run", None)
    assert run_grid(grid(), tmp_path).rows == whole.rows
    assert (tmp_path / "rows.csv").read_text() == text


def test_only_the_seeds_that_are_missing_are_computed(
    tmp_path: Path, whole: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_grid(grid(POLICIES[:1], seeds=SEEDS[:1]), tmp_path)
    asked: list[Sequence[int]] = []
    run = ClusterBench.run

    def spy(self: ClusterBench, source: Any, policy: Any, seeds: Sequence[int], bank: Any) -> Any:
        asked.append(seeds)
        return run(self, source, policy, seeds, bank)

    monkeypatch.setattr(ClusterBench, "run", spy)
    again = run_grid(grid(POLICIES[:1]), tmp_path)
    assert asked == [[SEEDS[1]]]
    for metric in METRICS.values():
        values = again.values("tiny", POLICIES[0], metric.name)
        assert values.tolist() == whole.values("tiny", POLICIES[0], metric.name).tolist()


def test_a_torn_file_is_mended_and_said(tmp_path: Path, whole: Results) -> None:
    run_grid(grid(), tmp_path)
    path = tmp_path / "rows.csv"
    text = path.read_text()
    path.write_text(text[:-100])
    notes: list[str] = []
    assert run_grid(grid(), tmp_path, note=notes.append).rows == whole.rows
    assert path.read_text() == text
    assert any("interrupted" in note for note in notes)


def test_rows_of_other_data_under_the_same_name_are_refused(tmp_path: Path) -> None:
    run_grid(grid(POLICIES[:1]), tmp_path)
    with pytest.raises(InputError, match=r"tiny, fifo\+packed\+sticky, seed 200000 was computed with data"):
        run_grid(grid(POLICIES[:1], sources=(replace(find_source("tiny:compat=artifact"), name="tiny"),)), tmp_path)


def test_every_cell_is_heard_of_once_and_says_what_was_kept(tmp_path: Path) -> None:
    run_grid(grid(POLICIES[:2]), tmp_path)
    heard: list[Cell] = []
    run_grid(grid(), tmp_path, finished=heard.append)
    assert sum(cell.seeds for cell in heard) == grid().size
    assert [cell.policy for cell in heard] == [policy.name for policy in grid().policies]
    assert [cell.kept for cell in heard] == [len(grid().seeds)] * 2 + [0] * (len(heard) - 2)


def test_a_lengthened_stream_keeps_worlds_common_and_results_resumable(tmp_path: Path) -> None:
    trace = tmp_path / "short.csv"
    trace.write_text(TRACE)
    platform = ClusterPlatform(nodes=2, gpus_per_node=2, round_s=60.0, compat=Compat.ARTIFACT)
    source = ClusterFiles(trace, platform, stream_jobs=1)
    small = grid(("las+packed", "fifo+packed"), "las+packed", sources=(source,), seeds=(0,))
    first = run_grid(small, tmp_path / "out")
    assert len({row.data_hash for row in first.rows}) == 1
    assert run_grid(small, tmp_path / "out").rows == first.rows


def test_a_stream_that_was_too_short_is_lengthened_and_does_not_change_the_result(tmp_path: Path) -> None:
    trace = tmp_path / "long.csv"
    trace.write_text("job_id,num_gpus,submit_time,duration,model\na,3,0,10000,resnet50\nb,1,30,3000,vgg19\n")
    platform = ClusterPlatform(nodes=2, gpus_per_node=2, round_s=60.0, compat=Compat.ARTIFACT)
    none, short, long = (
        varigym.simulate(ClusterFiles(trace, platform, stream_jobs=jobs), "las+packed")[0] for jobs in (0, 1, 24)
    )
    assert short.jobs.finish_s.tolist() == long.jobs.finish_s.tolist() != none.jobs.finish_s.tolist()
    assert short.busy_gpu_rounds == long.busy_gpu_rounds


def test_the_stream_does_not_put_off_the_horizon(tmp_path: Path) -> None:
    # else a stream that starves the tracked jobs is lengthened for ever
    trace = tmp_path / "short.csv"
    trace.write_text(TRACE)
    platform = ClusterPlatform(nodes=2, gpus_per_node=2, compat=Compat.ARTIFACT)
    horizons = {horizon_round(ClusterFiles(trace, platform, stream_jobs=jobs).build(0)) for jobs in (1, 100, 1000)}
    assert len(horizons) == 1


def test_jobs_cut_off_at_the_horizon_are_said_again_by_a_rerun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stuck = "tiny:restart_s=1e9"
    for _ in range(2):
        results = run_grid(grid(POLICIES[:2], sources=(find_source(stuck),)), tmp_path)
        assert results.values(stuck, "fifo+pal", "unfinished").sum() == 2
        varigym.show_results(results)
        assert f"{stuck}, fifo+pal: 2 jobs had not finished at the horizon" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"sources": ()}, "no scenario to run"),
        ({"policies": ()}, "no policy to run"),
        ({"seeds": ()}, "seeds = 0; at least one is needed"),
        ({"sources": (find_source("tiny"), find_source("tiny"))}, "scenario 'tiny' is given twice"),
        ({"policies": (find_policy("pal"), find_policy("fifo+pal"))}, r"policy 'fifo\+pal' is given twice"),
        ({"baseline": "fifo+packd"}, "unknown placement 'packd'; did you mean packed"),
        ({"baseline": "ORDER+packd"}, "unknown placement 'packd'; did you mean packed"),
    ],
)
def test_a_grid_that_cannot_be_run_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        grid(**parts)


def test_order_in_a_baseline_stands_for_the_order_compared() -> None:
    asked = grid(baseline="ORDER+packed+sticky")
    assert asked.baseline_of("las-2d+pal+backfill") == "las-2d+packed+sticky"
    assert asked.baseline_of("srtf+packed+sticky") == "srtf+packed+sticky"
    assert grid(baseline="tiresias").baseline_of("fifo+pal") == "las+packed+sticky"


@pytest.mark.parametrize(
    ("policies", "baseline", "legal"),
    [
        (
            ["pal"],
            "tiresias",
            "baseline = 'tiresias' is not among the policies to run; legal: a name that stands for one of fifo[+]pal",
        ),
        (["pal", "las+pal"], "ORDER+packed", "legal: a name that stands for one of fifo[+]pal, las[+]pal"),
    ],
)
def test_a_baseline_that_is_not_run_is_refused_before_anything_runs(
    policies: list[str], baseline: str, legal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterBench, "run", None)
    with pytest.raises(InputError, match=legal):
        varigym.compare("tiny", policies, seeds=1, baseline=baseline)


def test_a_policy_of_ones_own_is_compared_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass(frozen=True)
    class Own(Interrupted):
        name: str = "mine"
        information: Information = Information.NON_CLAIRVOYANT

        @property
        def program(self) -> Program:
            return find_policy("fifo+pal").program

        def bind(self, bank: Bank) -> Any:
            return find_policy("fifo+pal").bind(bank)

    results = varigym.compare("tiny", ["fifo+packed+sticky", Own()], seeds=2, baseline="ORDER+packed+sticky")
    assert results.values("tiny", "mine", "mean_jct_s").tolist() == [142.5, 142.5]
    varigym.show_results(results, varigym.bench.report.terminal.console())
    assert "mine" in capsys.readouterr().out


def test_compare_runs_held_out_seeds_on_names_sources_and_scenarios(whole: Results) -> None:
    mine = varigym.find_source("tiny:restart_s=5").build(0)
    results = varigym.compare(["tiny", find_source("tiny:round_s=30"), mine], POLICIES, seeds=2)
    assert results.grid.seeds == (HELD_OUT.first, HELD_OUT.first + 1)
    assert results.grid.baseline == "fifo+packed+sticky"
    assert {row.scenario for row in results.rows} == {"tiny", "tiny:round_s=30", "tiny:restart_s=5"}
    assert [row for row in results.rows if row.scenario == "tiny"] == list(whole.rows)


def test_compare_continues_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = varigym.compare("tiny", ["pal"], seeds=2, baseline="pal", out=tmp_path)
    monkeypatch.setattr(ClusterBench, "run", None)
    assert varigym.compare("tiny", ["pal"], seeds=2, baseline="pal", out=tmp_path).rows == first.rows


@pytest.mark.parametrize(
    ("scenarios", "policies", "seeds", "message"),
    [
        ("tyny", ["pal"], 1, "unknown scenario 'tyny'; did you mean tiny"),
        ("tiny", ["pall"], 1, "unknown policy 'pall'; did you mean pal"),
        ("tiny", ["pal"], 0, "seeds"),
        ("tiny", ["pal"], 200_000, r"seeds = 200000; legal: how many, 1 to 99999 .seed_start says where they begin"),
        ("tiny", [], 1, "no policy"),
        ([], ["pal"], 1, "no scenario"),
    ],
)
def test_compare_refuses_what_it_cannot_run(
    scenarios: str | list[str], policies: list[str], seeds: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        varigym.compare(scenarios, policies, seeds=seeds)


def test_tables_show_ratios_to_the_baseline_and_mark_clairvoyance(
    whole: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    varigym.show_results(whole, varigym.bench.report.terminal.console())
    printed = capsys.readouterr().out
    ratios = {policy: whole.values("tiny", policy, "mean_jct_s") for policy in POLICIES}
    expected = float(np.mean(ratios["fifo+pal"] / ratios[POLICIES[0]]))
    lines = {policy: next(line for line in printed.splitlines() if policy in line) for policy in POLICIES}
    assert "1 (baseline)" in lines[POLICIES[0]]
    assert f"{expected:.3f}" in lines["fifo+pal"]
    assert "srtf+pal *" in lines["srtf+pal"]
    assert "clairvoyant" in printed
    assert "200000-200001" in printed
