"""Small worlds of one shape (one compilation), and stepping through an episode round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st
from reference.cluster_reference import RefJob, RefWorld
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.dynamics import advance, apply_plan, initial_state, is_over
from varigym.envs.cluster.episode import Program
from varigym.envs.cluster.state import FREE, State
from varigym.envs.cluster.view import observe
from varigym.policies.cluster.policy import Information, Policy
from varigym.scenarios.cluster.scenario import ClusterScenario, Compat, make_jobs

NODES, PER_NODE, CLASSES = 3, 3, ("A", "B")
GPUS = NODES * PER_NODE
LEVELS = (0.9, 1.0, 1.25, 2.0)


@dataclass(frozen=True)
class SmallJob:
    arrival_s: float
    demand: int
    work_s: float
    app_class: int
    tracked: bool = True


@dataclass(frozen=True)
class Worlds:
    """A source of given scenarios: seed s builds scenario s."""

    scenarios: tuple[ClusterScenario, ...]
    name: str = "given"

    def build(self, seed: int) -> ClusterScenario:
        return self.scenarios[seed]

    def history(self) -> None:
        return None


@st.composite
def scenarios(draw: st.DrawFn, jobs: int = 8, restart: bool = True, penalty: float | None = None) -> ClusterScenario:
    count = draw(st.integers(1, jobs))
    rows = [
        SmallJob(
            arrival_s=draw(st.integers(0, 300)),
            demand=draw(st.integers(1, GPUS)),
            work_s=draw(st.integers(1, 400)),
            app_class=draw(st.integers(0, 1)),
            tracked=k == 0 or draw(st.booleans()),
        )
        for k in range(count)
    ]
    cells = st.lists(st.sampled_from(LEVELS), min_size=2 * GPUS, max_size=2 * GPUS)
    penalties = st.sampled_from([1.0, 1.1, 1.7, 3.0])
    return small_scenario(
        rows,
        pm_bin=np.array(draw(cells)).reshape(2, GPUS),
        pm_score=np.array(draw(cells)).reshape(2, GPUS) if draw(st.booleans()) else None,
        locality_penalty=[penalty or draw(penalties), penalty or draw(penalties)],
        restart_s=draw(st.sampled_from([0.0, 0.0, 15.0, 45.0])) if restart else 0.0,
        compat=draw(st.sampled_from(list(Compat))),
    )


def small_scenario(
    rows: Sequence[SmallJob],
    pm_bin: Any = None,
    pm_score: Any = None,
    locality_penalty: Sequence[float] = (1.7, 1.7),
    restart_s: float = 0.0,
    round_s: float = 60.0,
    compat: Compat = Compat.PAPER,
) -> ClusterScenario:
    bins = np.ones((2, GPUS)) if pm_bin is None else np.asarray(pm_bin, float)
    return ClusterScenario(
        name="small",
        jobs=make_jobs(
            job_id=np.arange(len(rows)).astype(str),
            arrival_s=np.array([row.arrival_s for row in rows]),
            demand=np.array([row.demand for row in rows]),
            iterations=np.array([row.work_s for row in rows]) / 0.7,
            iter_s=np.full(len(rows), 0.7),
            app_class=np.array([row.app_class for row in rows]),
            tracked=np.array([row.tracked for row in rows]),
        ),
        nodes=NODES,
        gpus_per_node=PER_NODE,
        classes=CLASSES,
        pm_score=bins if pm_score is None else np.asarray(pm_score, float),
        pm_bin=bins,
        locality_penalty=np.array(locality_penalty, float),
        round_s=round_s,
        restart_s=restart_s,
        compat=compat,
    )


def as_reference(scenario: ClusterScenario) -> tuple[RefWorld, list[RefJob]]:
    jobs = scenario.jobs
    world = RefWorld(
        nodes=scenario.nodes,
        gpus_per_node=scenario.gpus_per_node,
        pm_score=scenario.pm_score.tolist(),
        pm_bin=scenario.pm_bin.tolist(),
        locality_penalty=scenario.locality_penalty.tolist(),
        round_s=scenario.round_s,
        restart_s=scenario.restart_s,
        artifact=scenario.compat is Compat.ARTIFACT,
    )
    columns = (jobs.arrival_s, jobs.demand, jobs.iterations, jobs.iter_s, jobs.app_class, jobs.tracked)
    return world, [RefJob(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def steps(
    scenario: ClusterScenario, policy: Policy, rounds: int = 10_000, slots: int = 32
) -> list[tuple[State, State]]:
    """(state before planning, state with the plan applied) of every round until the episode is over."""
    bank = make_bank([scenario], None)
    data = policy.bind(bank)
    world = jax.tree.map(lambda leaf: leaf[0], bank.worlds)
    state = initial_state(world, slots)
    memory = policy.program.start(data, slots)
    clairvoyant = jnp.bool_(policy.information is Information.CLAIRVOYANT)
    plan, run = _stages(policy.program)
    seen = []
    while not bool(is_over(world, state)) and len(seen) < rounds:
        planned, memory = plan(world, state, data, memory, clairvoyant)
        seen.append((state, planned))
        state = run(world, planned)
    return seen


@cache
def _stages(program: Program) -> tuple[Any, Any]:
    def plan(world: Any, state: Any, data: Any, memory: Any, clairvoyant: Any) -> Any:
        key = jax.random.fold_in(jax.random.key(0), state.round)
        owner, memory = program.act(data, observe(world, state, clairvoyant), memory, key)
        return apply_plan(world, state, owner), memory

    return jax.jit(plan), jax.jit(advance)


def gangs(state: State) -> dict[int, list[int]]:
    """GPU ids held by each job (index into the scenario's jobs)."""
    owner, job = np.asarray(state.owner).ravel(), np.asarray(state.slots.job)
    held: dict[int, list[int]] = {}
    for gpu in np.flatnonzero(owner != FREE):
        held.setdefault(int(job[owner[gpu]]), []).append(int(gpu))
    return dict(sorted(held.items()))


def scaled(scenario: ClusterScenario, factor: float) -> ClusterScenario:
    """Every second of the scenario times `factor`."""
    jobs = scenario.jobs
    return replace(
        scenario,
        jobs=replace(jobs, arrival_s=jobs.arrival_s * factor, iter_s=jobs.iter_s * factor),
        round_s=scenario.round_s * factor,
        restart_s=scenario.restart_s * factor,
    )
