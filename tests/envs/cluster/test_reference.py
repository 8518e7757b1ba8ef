"""The simulator equals a plain-Python reading of the rules on random small worlds, job by job and gang by gang."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cluster_reference import simulate as reference
from varigym.bench.simulate import simulate
from varigym.policies.cluster.catalog import find_policy
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import as_reference, gangs, scenarios, steps

ORDERS = ("fifo", "las", "las-2d", "srtf", "srsf", "sqrt")
PLACEMENTS = ("packed", "pm-first", "pal")
CASES = list(product(ORDERS, PLACEMENTS, (False, True), (False, True)))


def policy_name(order: str, placement: str, sticky: bool, backfill: bool) -> str:
    return f"{order}+{placement}" + "+sticky" * sticky + "+backfill" * backfill


@settings(max_examples=600)
@given(scenario=scenarios(), case=st.sampled_from(CASES))
def test_every_job_starts_and_ends_as_in_the_reference(
    scenario: ClusterScenario, case: tuple[str, str, bool, bool]
) -> None:
    (record,) = simulate(scenario, policy_name(*case))
    expected = reference(*as_reference(scenario), *case)
    tracked = np.flatnonzero(scenario.jobs.tracked)
    assert sorted(expected) == tracked.tolist()
    rows = [expected[int(job)] for job in tracked]
    assert record.jobs.start_s.tolist() == [row.start_s for row in rows]
    assert record.jobs.finish_s.tolist() == [row.finish_s for row in rows]
    assert record.jobs.preemptions.tolist() == [row.preemptions for row in rows]
    assert record.jobs.contention.tolist() == pytest.approx([row.contention for row in rows], rel=1e-12)
    jct_s = [row.finish_s - scenario.jobs.arrival_s[job] for job, row in zip(tracked, rows, strict=True)]
    ftf = [jct / (w * row.contention) for jct, w, row in zip(jct_s, scenario.jobs.work_s[tracked], rows, strict=True)]
    assert record.jobs.ftf.tolist() == pytest.approx(ftf, rel=1e-12)
    assert record.jobs.run_slowdown.tolist() == pytest.approx([row.run_slowdown for row in rows], rel=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("fifo", "las")], ids=lambda c: policy_name(*c))
@settings(max_examples=4)
@given(scenario=scenarios())
def test_every_gang_of_every_round_is_the_reference_s(
    scenario: ClusterScenario, case: tuple[str, str, bool, bool]
) -> None:
    trace: list[tuple[float, dict[int, list[int]]]] = []
    reference(*as_reference(scenario), *case, trace=trace)
    expected = [held for _, held in trace if held]
    seen = [gangs(planned) for _, planned in steps(scenario, find_policy(policy_name(*case)))]
    assert [held for held in seen if held] == [dict(sorted(held.items())) for held in expected]
