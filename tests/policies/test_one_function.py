"""Episodes stay one machine function each: a scatter, a sort or a matrix product inside would make them much slower.

What XLA makes of a program is its own affair, so that this holds for the versions it was looked at with.
"""

from __future__ import annotations

import re
from importlib.metadata import version

import jax
import jax.numpy as jnp
import pytest
from varigym.bench.grid.preparation import build_worlds
from varigym.bench.grid.world_kinds import KINDS
from varigym.envs.cluster import episode as cluster_episode
from varigym.envs.serverless import episode as serverless_episode
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.index_net import LearnedIndex, untrained
from varigym.policies.cluster.policy import Policy
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.esg.learned import LearnedEsg
from varigym.policies.serverless.esg.learned import untrained as untrained_esg
from varigym.policies.serverless.policy import Scheduler
from varigym.scenarios.catalog import find_source
from varigym.scenarios.seeds import HELD_OUT

pytestmark = pytest.mark.skipif(
    not version("jaxlib").startswith("0.10.") or jax.default_backend() != "cpu",
    reason="says what jaxlib 0.10 makes of an episode on a CPU",
)
SLOTS, PLACES = 160, 128


def loops_outside(text: str) -> tuple[int, int]:
    """(loops, loops that are compiled as functions)."""
    return len(re.findall(r" while\(", text)), text.count('xla_cpu_small_call="true"')


def cluster_policies() -> dict[str, Policy]:
    expert = find_policy("gittins+pal+backfill")
    return {"list": expert, "learned": LearnedIndex(expert, untrained(0))}


@pytest.mark.parametrize("name", ["list", "learned"])
def test_episodes_of_the_cluster(name: str) -> None:
    source, policy = find_source("sia-64"), cluster_policies()[name]
    bank = KINDS["cluster"].bank(source, build_worlds(source, [HELD_OUT.first]))
    data, first = policy.bind(bank), jnp.int32(0)
    carry = cluster_episode.begin(policy.program, SLOTS, bank.worlds, first, data)
    run = jax.jit(cluster_episode.go_on, static_argnums=0)
    program = run.lower(policy.program, carry, bank.worlds, first, data, jnp.bool_(False), jax.random.key(0))
    loops, inside = loops_outside(program.compile().as_text())
    assert loops == inside > 0


def scheduler_of(name: str) -> Scheduler:
    return LearnedEsg(find_scheduler("esg"), untrained_esg(0)) if name == "learned" else find_scheduler(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "esg",
        "learned",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("infless", "fast-gshare", "min-config")),
    ],
)
def test_episodes_of_the_serverless_platform(name: str) -> None:
    source, scheduler = find_source("fork-join"), scheduler_of(name)
    bank = KINDS["serverless"].bank(source, build_worlds(source, [HELD_OUT.first]))
    data, first, key = scheduler.bind(bank), jnp.int32(0), jax.random.key(0)
    program = scheduler.program
    carry = serverless_episode.begin(program, PLACES, serverless_episode.log_rows(bank), bank.worlds, first, data, key)
    run = jax.jit(serverless_episode.go_on, static_argnums=0).lower(program, carry, bank.worlds, first, data, key)
    loops, inside = loops_outside(run.compile().as_text())
    assert loops == inside > 0
