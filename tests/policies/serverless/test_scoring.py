"""ESG's decision as a look-up in JAX is the list of its NumPy tables, of which the first that can run is taken."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from serverless_worlds import random_world
from varigym.envs.serverless.bank import Bank, make_bank
from varigym.envs.serverless.view import View
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.costs import NO_PATH
from varigym.policies.serverless.esg.fallback import best_effort, give_up
from varigym.policies.serverless.esg.replanning import Candidates, Esg, NoPath
from varigym.policies.serverless.esg.scoring import EsgData, choose, path_costs, scores, target
from varigym.policies.serverless.frontier import SuffixTables, first_configurations, first_of_paths, suffix_tables
from varigym.policies.serverless.frontier import path_costs as host_costs
from varigym.policies.serverless.paths import LaterBatch
from varigym.policies.serverless.tables import PlatformTables, platform_tables
from varigym.scenarios.types import Ints

VIEWS = 200
WORLDS = (6, 42, 91)
"""With forks, with chains of up to five stages, and with three levels of batches."""
NAMES = (
    "esg",
    "esg-literal",
    "esg:k=1",
    "esg-literal:k=1",
    "esg:later_batch=free",
    "esg-literal:later_batch=free",
    "esg:sharing=off",
    "esg-literal:batching=off",
    "esg:replan=off:no_path=best_effort",
    "esg:margin=1.3:group=1",
    "esg-literal:margin=0.6:no_path=give_up:group=5",
    "esg:retries=2:k=2",
    "esg:rescue=on",
)


@dataclass(frozen=True)
class Host:
    """The same scheduler in NumPy: tables over the configurations that it may use."""

    esg: Esg
    platform: PlatformTables
    own: Ints
    tables: SuffixTables

    def listed(self, queue: int, goal: int, length: int) -> list[int]:
        """What is tried, best first."""
        if self.esg.candidates is Candidates.PATHS:
            found = first_of_paths(self.tables, queue, goal, length)
        else:
            found = first_configurations(self.tables, queue, goal, length, self.esg.k)
        return self.own[found].tolist()

    def last_resort(self, queue: int, length: int) -> list[int]:
        """What is tried when no path ends in time."""
        function = self.platform.function[queue]
        time, cost = self.platform.time[function][self.own], self.platform.cost[function][self.own]
        batch = self.platform.scenario.grid.batch[self.own]
        literal = self.esg.no_path is NoPath.BEST_EFFORT
        order = best_effort(time, cost, batch, length) if literal else give_up(cost, batch, length)
        return self.own[order].tolist()

    def decision(self, view: View, goal: int) -> int:
        """As the description has it: the list, then the last resort, then by option the minimum configuration."""
        queue, length, legal = int(view.queue), int(view.length), np.asarray(view.legal)
        tried = self.listed(queue, goal, length) or self.last_resort(queue, length)
        for config in tried:
            if legal[config]:
                return config
        least, retries = int(self.own[0]), self.esg.retries
        short = self.esg.rescue and int(view.slack) < self.platform.time[self.platform.function[queue], least]
        forced = short or 0 <= retries < int(view.fails) + 1
        return least if forced and legal[least] else len(legal)


def host_of(esg: Esg, bank: Bank) -> Host:
    platform = platform_tables(bank)
    grid = platform.scenario.grid
    usable = (grid.vgpu == grid.vgpus[-1]) | esg.sharing
    own = np.flatnonzero(usable & ((grid.batch == 1) | esg.batching)).astype(np.int32)
    suffixes = [
        tuple(workflow.functions[stage] for stage in share.suffix[first])
        for workflow, share in zip(platform.scenario.workflows, platform.shares(esg.group), strict=True)
        for first in range(workflow.stages)
    ]
    tables = suffix_tables(
        suffixes, platform.time[:, own], platform.cost[:, own], grid.batch[own], esg.k, esg.later_batch
    )
    return Host(esg, platform, own, tables)


def random_views(bank: Bank, rng: np.random.Generator) -> View:
    """Views [VIEWS, ...] of all queues; from far too late to long before the deadline."""
    scenario = bank.scenarios[0]
    queues, grid = scenario.queues, scenario.grid
    queue = rng.integers(0, len(queues), VIEWS)
    workflow = np.array([w for w, _ in queues])[queue]
    slo = np.array([round(w.slo_ms * 100) for w in scenario.workflows])[workflow]
    waited = np.rint(slo * rng.choice([0.0, 0.2, 0.5, 0.8, 1.1], VIEWS) * rng.random(VIEWS)).astype(int)
    length = rng.integers(1, 7, VIEWS)
    legal = (rng.random((VIEWS, grid.size)) < rng.choice([0.2, 0.7, 1.0], (VIEWS, 1))) & (grid.batch <= length[:, None])
    none = np.zeros((VIEWS, 1), np.int32)
    columns = {
        "queue": queue,
        "workflow": workflow,
        "function": np.array([scenario.workflows[w].functions[s] for w, s in queues])[queue],
        "length": length,
        "fails": rng.integers(0, 6, VIEWS),
        "waited": waited,
        "slack": slo - waited,
        "lengths": none,
        "free_vcpu": none,
        "free_vgpu": none,
        "now": none[:, 0],
    }
    return View(
        legal=jnp.asarray(legal),
        rate_per_s=jnp.zeros(VIEWS, jnp.float32),
        **{name: jnp.asarray(column, jnp.int32) for name, column in columns.items()},
    )


@jax.jit
def _decided(data: EsgData, views: View) -> tuple[jax.Array, ...]:
    def one(view: View) -> tuple[jax.Array, ...]:
        return target(data, view), path_costs(data, view), choose(data, view).action, scores(data, view)

    return jax.vmap(one)(views)


@pytest.mark.parametrize("seed", WORLDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_decision_is_that_of_the_tables(name: str, seed: int) -> None:
    bank = make_bank([random_world(seed)])
    esg = find_scheduler(name)
    assert isinstance(esg, Esg)
    host, views = host_of(esg, bank), random_views(bank, np.random.default_rng(seed))
    goals, costs, actions, score = (np.asarray(part) for part in _decided(esg.bind(bank), views))
    for number in range(VIEWS):
        view = jax.tree.map(lambda leaf, at=number: np.asarray(leaf)[at], views)
        queue, goal, length = int(view.queue), int(goals[number]), int(view.length)
        mine, k = np.full((len(view.legal), costs.shape[-1]), NO_PATH), costs.shape[-1]
        mine[host.own] = host_costs(host.tables, queue, goal, length)[:, :k]
        assert (np.minimum(costs[number], NO_PATH) == mine).all()
        assert int(actions[number]) == host.decision(view, goal)
        tried = host.listed(queue, goal, length)
        if tried and view.legal[tried].all():
            assert int(actions[number]) == int(np.argmax(score[number])) == tried[0]
        assert not np.isfinite(score[number][~view.legal]).any()


@pytest.mark.parametrize("seed", WORLDS)
def test_the_target_is_what_is_left_of_the_groups_time(seed: int) -> None:
    """T* = margin (share SLO - waited), down to a tick; without re-planning the shares of the group's stages alone."""
    bank = make_bank([random_world(seed)])
    views = random_views(bank, np.random.default_rng(seed))
    for name in ("esg", "esg:margin=1", "esg:replan=off", "esg:group=1"):
        esg = find_scheduler(name)
        assert isinstance(esg, Esg)
        shares = platform_tables(bank).shares(esg.group)
        end, begin = (np.concatenate([getattr(s, part) for s in shares])[views.queue] for part in ("deadline", "start"))
        slo = np.asarray(views.slack + views.waited)
        left = end * slo - views.waited if esg.replan else (end - begin) * slo
        goals = np.asarray(_decided(esg.bind(bank), views)[0])
        assert np.abs(goals - np.floor(esg.margin * left)).max() <= 1


def test_the_views_reach_every_case() -> None:
    """List and last resort, first choice and later ones, forced and waiting."""
    bank = make_bank([random_world(WORLDS[0])])
    esg = find_scheduler("esg-literal")
    assert isinstance(esg, Esg)
    host, views = host_of(esg, bank), random_views(bank, np.random.default_rng(WORLDS[0]))
    goals = np.asarray(_decided(esg.bind(bank), views)[0])
    listed = [host.listed(int(q), int(t), int(n)) for q, t, n in zip(views.queue, goals, views.length, strict=True)]
    assert 20 < sum(not found for found in listed) < VIEWS - 20
    assert sum(len(found) > 1 for found in listed) > 20
    assert sum(bool(found) and not views.legal[n, found[0]] for n, found in enumerate(listed)) > 20


def test_the_order_of_later_batches_matters() -> None:
    """Otherwise the tests above would not tell the two apart."""
    bank = make_bank([random_world(WORLDS[1])])
    views = random_views(bank, np.random.default_rng(0))
    found = [np.asarray(_decided(Esg("esg", later_batch=later).bind(bank), views)[1]) for later in LaterBatch]
    assert (found[0] != found[1]).any()
