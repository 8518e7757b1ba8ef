"""Cells against a literal brute force: what is legal, which gang each cell names, and that PAL can be expressed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from varigym.envs.cluster import allocation
from varigym.envs.cluster.mdp.cells import gang_of, legal_cells
from varigym.envs.cluster.world import make_profile
from worlds import GPUS, LEVELS, NODES, PER_NODE, SmallJob, small_scenario

BINS, ROWS = 4, 4


@dataclass(frozen=True)
class Asked:
    """A cluster with some GPUs free, and a window of jobs (demand 0: an empty row)."""

    pm_bin: Any  # [2, GPUS]
    penalty: tuple[float, float]
    free: Any  # [NODES, PER_NODE]
    app_class: Any  # [ROWS]
    demand: Any  # [ROWS]


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    cells = draw(st.lists(st.sampled_from(LEVELS), min_size=2 * GPUS, max_size=2 * GPUS))
    penalty = st.sampled_from([1.0, 1.1, 1.7, 3.0])
    return Asked(
        pm_bin=np.array(cells).reshape(2, GPUS),
        penalty=(draw(penalty), draw(penalty)),
        free=np.array(draw(st.lists(st.booleans(), min_size=GPUS, max_size=GPUS))).reshape(NODES, PER_NODE),
        app_class=np.array(draw(st.lists(st.integers(0, 1), min_size=ROWS, max_size=ROWS)), np.int32),
        demand=np.array(draw(st.lists(st.integers(0, 5), min_size=ROWS, max_size=ROWS)), np.int32),
    )


@jax.jit
def answers(profile: Any, app_class: Any, demand: Any, free: Any) -> Any:
    """(legal [W, 2V], gang of every cell [W, 2V, N, P], PM-First's and PAL's gang [W, N, P])."""

    def of_row(row: Any) -> Any:
        c, n = row
        cells = jnp.arange(2 * BINS, dtype=jnp.int32)
        gangs = jax.lax.map(lambda cell: gang_of(profile, c, free, n, cell), cells)
        return gangs, allocation.pm_first(profile, c, free, n), allocation.pal(profile, c, free, n)

    return legal_cells(profile, app_class, demand, free), *jax.lax.map(of_row, (app_class, demand))


@dataclass(frozen=True)
class Row:
    """One job of a question with the program's answers; GPUs are ids, bins are levels of the job's class."""

    n: int
    level: list[int]  # [GPUS]
    free: list[int]
    legal: list[bool]  # [2V]
    gangs: list[frozenset[int]]  # [2V]
    pm_first: frozenset[int]
    pal: frozenset[int]

    def node(self, node: int) -> list[int]:
        return [g for g in self.free if g // PER_NODE == node]

    def bottleneck(self, node: int) -> int | None:
        """The node's n-th smallest free bin."""
        bins = sorted(self.level[g] for g in self.node(node))
        return bins[self.n - 1] if 1 <= self.n <= len(bins) else None

    def within(self, v: int) -> bool:
        return 2 <= self.n <= PER_NODE and any(self.bottleneck(node) == v for node in range(NODES))

    def across(self, v: int) -> bool:
        """As a set of GPUs, whether or not `within` gives the same."""
        usable = [g for g in self.free if self.level[g] <= v]
        return self.n >= 1 and len(usable) >= self.n and any(self.level[g] == v for g in usable)

    def within_gang(self, v: int) -> frozenset[int]:
        nodes = [node for node in range(NODES) if self.bottleneck(node) == v]
        usable = {node: [g for g in self.node(node) if self.level[g] <= v] for node in nodes}
        best = max(nodes, key=lambda node: (len(usable[node]), -node))
        return frozenset(usable[best][: self.n])


def rows_of(asked: Asked) -> list[Row]:
    scenario = small_scenario([SmallJob(0, 1, 60, 0)], pm_bin=asked.pm_bin, locality_penalty=asked.penalty)
    profile = make_profile(scenario, BINS)
    legal, gangs, pm_first, pal = map(np.asarray, answers(profile, asked.app_class, asked.demand, asked.free))

    def ids(mask: Any) -> frozenset[int]:
        return frozenset(np.flatnonzero(mask).tolist())

    return [
        Row(
            n=int(asked.demand[w]),
            level=np.unique(asked.pm_bin[asked.app_class[w]], return_inverse=True)[1].tolist(),
            free=np.flatnonzero(asked.free).tolist(),
            legal=legal[w].tolist(),
            gangs=[ids(gang) for gang in gangs[w]],
            pm_first=ids(pm_first[w]),
            pal=ids(pal[w]),
        )
        for w in range(ROWS)
    ]


@given(questions())
@settings(max_examples=300)
def test_legal_cells_are_those_of_the_brute_force(asked: Asked) -> None:
    for row in rows_of(asked):
        for v in range(BINS):
            assert row.legal[v] == row.within(v)
            twice = row.within(v) and row.gangs[v] == row.gangs[BINS + v]
            assert row.legal[BINS + v] == (row.across(v) and not twice)


@given(questions())
@settings(max_examples=300)
def test_a_cell_names_its_worst_bin_exactly(asked: Asked) -> None:
    for row in rows_of(asked):
        for cell in np.flatnonzero(row.legal):
            gang, v = row.gangs[cell], int(cell) % BINS
            assert len(gang) == row.n
            assert gang <= set(row.free)
            assert max(row.level[g] for g in gang) == v
            if cell < BINS:
                assert gang == row.within_gang(v)
                assert len({g // PER_NODE for g in gang}) == 1


@given(questions())
@settings(max_examples=300)
def test_across_takes_pm_firsts_gang_or_the_slowest(asked: Asked) -> None:
    for row in rows_of(asked):
        possible = [v for v in range(BINS) if row.across(v)]
        for v in possible:
            gang = row.gangs[BINS + v]
            if v == possible[0]:
                assert gang == row.pm_first
                assert row.legal[BINS + v] or (row.legal[v] and row.gangs[v] == gang)
            else:
                usable = sorted(row.level[g] for g in row.free if row.level[g] <= v)
                assert sorted(row.level[g] for g in gang) == usable[-row.n :]


@given(questions())
@settings(max_examples=300)
def test_no_gang_has_two_cells_and_pals_has_one(asked: Asked) -> None:
    for row in rows_of(asked):
        gangs = [row.gangs[cell] for cell in np.flatnonzero(row.legal)]
        assert len(set(gangs)) == len(gangs)
        if 1 <= row.n <= len(row.free):
            assert row.pal in gangs
        else:
            assert not gangs


@pytest.mark.parametrize("n", [1, PER_NODE + 1, GPUS])
def test_one_gpu_and_wide_gangs_have_no_within_cell(n: int) -> None:
    bins = np.tile(np.repeat(LEVELS[:3], 3), (2, 1))
    asked = Asked(
        bins, (1.7, 1.7), np.ones((NODES, PER_NODE), bool), np.zeros(ROWS, np.int32), np.full(ROWS, n, np.int32)
    )
    for row in rows_of(asked):
        assert not any(row.legal[:BINS])
        assert row.legal[BINS:] == [n <= 3 * (v + 1) and v < 3 for v in range(BINS)]
