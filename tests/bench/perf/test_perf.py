"""What `perf` measures of the serverless platform and of ESG's search."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from varigym.bench.perf.serverless.readings import VIEWS, record_views
from varigym.bench.perf.serverless.search_times import CASES, WORLDS, SearchCase, time_search
from varigym.envs.serverless.bank import make_bank
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.tables import PlatformTables, platform_tables
from varigym.scenarios.catalog import find_source
from varigym.scenarios.seeds import HELD_OUT


@pytest.fixture(scope="module")
def tables() -> PlatformTables:
    return platform_tables(make_bank([find_source(WORLDS["S100"]).build(HELD_OUT.first)]))


def test_blades_save_nodes(tables: PlatformTables) -> None:
    both, ms = time_search(tables, SearchCase("S100", 3, 5))
    assert ms > 0
    for case in CASES:
        if not (case.time_blade and case.cost_blade):
            assert time_search(tables, SearchCase("S100", 2, 1, case.time_blade, case.cost_blade))[0] > 0
    without, _ = time_search(tables, SearchCase("S100", 3, 5, cost_blade=False))
    assert without > 5 * both


def test_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_recorded_views_are_those_of_an_episode() -> None:
    bank = make_bank([find_source("tiny-serverless").build(0)])
    views = record_views(bank, find_scheduler("esg").bind(bank))
    assert all(len(leaf) == VIEWS for leaf in jax.tree.leaves(views))
    shown = np.flatnonzero(views.length > 0)
    assert shown.tolist() == list(range(len(shown)))
    assert (np.diff(views.now[: len(shown)]) >= 0).all()
    assert views.length[0] == 1
    assert views.queue[0] == 0
