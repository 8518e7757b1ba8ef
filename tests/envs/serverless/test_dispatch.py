"""Dispatch tier by tier, by hand: inputs and warm, warm, inputs and a cold start in time, the function's walk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from serverless_steps import start, world_of
from varigym.envs.serverless.dispatch import Site, dispatchable, invoker_for, legal_configs, legal_invokers, site_of
from varigym.envs.serverless.dynamics import point
from varigym.envs.serverless.state import EMPTY, State, World
from varigym.envs.serverless.world import rows, walk_of
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import ServerlessScenario
from varigym.scenarios.serverless.workflows import Function, Workflow, chain

GRID = ConfigGrid((1, 2), (1, 2), (1, 2, 4))
NOBODY = None


@pytest.fixture(scope="module")
def platform() -> tuple[World, State]:
    """Three invokers of 4 vCPUs and 4 vGPUs; two requests of a chain of two functions; a cold start takes 100 ms."""
    functions = tuple(Function(name, np.full(GRID.size, 10.0), 100.0, 1.0) for name in ("A", "B"))
    scenario = ServerlessScenario(
        "toy",
        GRID,
        functions,
        (Workflow("pair", (0, 1), chain(2), 500.0),),
        np.array([4, 4, 4], np.int32),
        np.array([4, 4, 4], np.int32),
        make_requests(np.zeros(2), np.zeros(2, np.int32), (0.0, 1.0), stages=2),
        1000.0,
        (0.0, 1.0),
    )
    worlds = world_of(scenario)
    state, _ = start(worlds)
    return rows(worlds, jnp.int32(0)), state


def site(warm: list[int], local: list[list[int]], anywhere: bool = False, in_time: bool = True) -> Site:
    """Of function B (whose walk decides): warm invokers, and pieces on each invoker for a batch of 1 and of 2."""
    return Site(
        queue=jnp.int32(1),
        function=jnp.int32(1),
        length=jnp.int32(2),
        line=jnp.arange(3, dtype=jnp.int32),
        deadline=jnp.int32(50_000),
        warm=jnp.array([invoker in warm for invoker in range(3)]),
        local=jnp.array(local, jnp.int32),
        anywhere=jnp.bool_(anywhere),
        in_time=jnp.bool_(in_time),
    )


NONE_LOCAL = [[0, 0]] * 3
DUE = jnp.array([0, 50_000], jnp.int32)


def with_free(platform: tuple[World, State], vcpu: list[int], vgpu: list[int]) -> tuple[World, State]:
    world, state = platform
    free = replace(state.invokers, free_vcpu=jnp.array(vcpu, jnp.int32), free_vgpu=jnp.array(vgpu, jnp.int32))
    return world, replace(state, invokers=free)


def chosen(platform: tuple[World, State], where: Site, level: int = 0, vcpu: int = 1, vgpu: int = 1) -> int | None:
    invoker, found = invoker_for(*platform, where, jnp.int32(level), jnp.int32(vcpu), jnp.int32(vgpu))
    return int(invoker) if found else NOBODY


def test_where_most_inputs_lie_and_a_container_is_warm(platform: tuple[World, State]) -> None:
    local = [[0, 1], [1, 1], [1, 2]]
    assert chosen(platform, site([0, 1, 2], local), level=1) == 2  # two pieces
    assert chosen(platform, site([0, 1], local), level=1) == 0  # one piece each: the lowest number
    assert chosen(platform, site([0, 1, 2], local), level=0) == 1  # the batch of one has its piece on 1 and on 2


def test_inputs_go_before_a_fuller_invoker(platform: tuple[World, State]) -> None:
    fuller = with_free(platform, [4, 4, 4], [4, 1, 4])
    assert chosen(fuller, site([0, 1, 2], [[0, 0], [0, 0], [1, 1]])) == 2
    assert chosen(fuller, site([0, 1, 2], NONE_LOCAL)) == 1


def test_without_inputs_the_fullest_warm_invoker_that_fits(platform: tuple[World, State]) -> None:
    free = with_free(platform, [4, 4, 4], [3, 1, 2])
    assert chosen(free, site([0, 1, 2], NONE_LOCAL)) == 1
    assert chosen(free, site([0, 1, 2], NONE_LOCAL), vgpu=2) == 2
    assert chosen(free, site([0, 2], NONE_LOCAL)) == 2
    assert chosen(with_free(platform, [4, 4, 4], [2, 2, 2]), site([1, 2], NONE_LOCAL)) == 1  # a tie: the lowest number


def test_a_warm_container_elsewhere_goes_before_inputs_without_one(platform: tuple[World, State]) -> None:
    assert chosen(platform, site([2], [[2, 2], [0, 0], [0, 0]])) == 2


def test_a_cold_start_where_the_inputs_lie_needs_the_time_for_it(platform: tuple[World, State]) -> None:
    full = with_free(platform, [4, 4, 0], [4, 4, 0])  # the warm one is full
    local = [[0, 1], [1, 2], [0, 0]]
    assert chosen(full, site([2], local)) == 1
    assert chosen(full, site([2], local), level=1) == 1
    assert chosen(full, site([2], local, in_time=False)) is NOBODY


def test_the_walk_is_for_entries_and_for_functions_that_are_warm_nowhere(platform: tuple[World, State]) -> None:
    walk = walk_of("B", 3).tolist()
    first, second, third = sorted(range(3), key=walk.__getitem__)
    assert chosen(platform, site([], NONE_LOCAL, anywhere=True)) == first
    free = [4 * (invoker != first) for invoker in range(3)]
    assert chosen(with_free(platform, free, [4, 4, 4]), site([], NONE_LOCAL, anywhere=True)) == second
    assert chosen(with_free(platform, [4, 4, 4], free), site([], NONE_LOCAL, anywhere=True)) == second
    assert chosen(with_free(platform, free, free), site([third], NONE_LOCAL, anywhere=True)) == third
    assert chosen(with_free(platform, free, free), site([first], NONE_LOCAL)) is NOBODY


def test_where_nothing_fits_nobody_is_chosen(platform: tuple[World, State]) -> None:
    tight = with_free(platform, [1, 1, 1], [1, 1, 1])
    assert chosen(tight, site([0, 1, 2], [[1, 2]] * 3, anywhere=True), vgpu=2) is NOBODY
    assert chosen(tight, site([0, 1, 2], [[1, 2]] * 3, anywhere=True), vcpu=2) is NOBODY


def test_without_locality_inputs_do_not_matter(platform: tuple[World, State]) -> None:
    world, state = with_free(platform, [4, 4, 4], [4, 1, 4])
    blind = replace(world, locality=jnp.bool_(False)), state
    assert chosen(blind, site([0, 1, 2], [[0, 0], [0, 0], [1, 1]])) == 1
    assert chosen(with_free(blind, [4, 0, 4], [4, 4, 4]), site([1], [[1, 1], [0, 0], [0, 0]])) is NOBODY


def test_the_walk_meets_every_invoker_once() -> None:
    """crc32("A") = 3554254475: with 3 invokers the home is 2, and the step the second of 1 and 2."""
    assert walk_of("A", 3).tolist() == [2, 1, 0]
    for invokers in range(1, 40):
        for name in ("A", "B", "segmentation", "super-resolution"):
            assert sorted(walk_of(name, invokers).tolist()) == list(range(invokers))


def test_a_configuration_is_legal_where_the_queue_holds_its_batch_and_somebody_is_chosen(
    platform: tuple[World, State],
) -> None:
    @jax.jit
    def both(world: World, state: State, where: Site) -> tuple[jax.Array, jax.Array]:
        def found(config: jax.Array) -> jax.Array:
            axes = jnp.unravel_index(config, (2, 2, 3))
            level, vcpu, vgpu = axes[0], world.vcpus[axes[1]], world.vgpus[axes[2]]
            return invoker_for(world, state, where, level, vcpu, vgpu)[1] & (world.batches[level] <= where.length)

        return legal_configs(world, state, where), jax.vmap(found)(jnp.arange(GRID.size))

    rng, seen = np.random.default_rng(0), set()
    for _ in range(400):
        world, state = with_free(platform, *rng.integers(0, 5, (2, 3)).tolist())
        world = replace(world, locality=jnp.bool_(rng.random() < 0.8))
        pieces = np.sort(rng.integers(0, 3, (3, 2)), axis=1) * rng.integers(0, 2, (3, 1))
        flags: Any = [bool(flag) for flag in rng.integers(0, 2, 2)]
        where = site(np.flatnonzero(rng.random(3) < 0.4).tolist(), pieces.tolist(), *flags)
        where = replace(where, length=jnp.int32(rng.integers(1, 4)))
        legal, found = both(world, state, where)
        assert legal.tolist() == found.tolist()
        seen.add(int(legal.sum()))
    assert len(seen) > 8


def test_the_site_of_a_queue_says_what_is_there(platform: tuple[World, State]) -> None:
    """Two jobs of B whose inputs lie on 2 and on 0; B is idle on 1 since 3 and prepared on 2 until 9; it is 5."""
    world, state = platform
    queues = state.queues
    request = queues.request.at[1].set(jnp.tile(jnp.array([0, 1], jnp.int32), queues.request.shape[1] // 2))
    origin = queues.origin.at[1].set(jnp.tile(jnp.array([[2], [0]], jnp.int32), (queues.origin.shape[1] // 2, 1)))
    stamp = state.invokers.stamp.at[:, 1].set(EMPTY).at[1, 1, 0].set(3).at[2, 1, 0].set(9)
    state = replace(
        state,
        now=jnp.int32(5),
        queues=replace(queues, request=request, origin=origin, length=jnp.array([0, 2], jnp.int32), due=DUE),
        invokers=replace(state.invokers, stamp=stamp),
    )
    found = site_of(world, point(world, state, jnp.int32(1)))
    assert (int(found.function), int(found.length), int(found.deadline)) == (1, 2, 50_000)
    assert found.request[:2].tolist() == [0, 1]
    assert found.warm.tolist() == [False, True, False]
    assert found.local.tolist() == [[0, 1], [0, 0], [1, 1]]
    assert (bool(found.anywhere), bool(found.in_time)) == (False, True)
    # 10,000 are left, as long as a cold start.
    late = site_of(world, point(world, replace(state, now=jnp.int32(40_000)), jnp.int32(1)))
    assert not bool(late.in_time)
    nowhere = replace(state, invokers=replace(state.invokers, stamp=stamp.at[1, 1, 0].set(EMPTY)))
    assert bool(site_of(world, point(world, nowhere, jnp.int32(1))).anywhere)
    assert bool(site_of(world, point(world, state, jnp.int32(0))).anywhere)


def test_a_choice_of_invoker_needs_room_and_the_batch_and_nothing_else(platform: tuple[World, State]) -> None:
    world, state = with_free(platform, [4, 1, 4], [4, 4, 1])
    legal = np.array(legal_invokers(world, state, site([], NONE_LOCAL))).reshape(2, 2, 3, 3)
    assert legal[0].tolist() == legal[1].tolist()
    assert legal[0, 0].tolist() == [[True, True, True], [True, True, False], [True, True, False]]
    assert legal[0, 1].tolist() == [[True, False, True], [True, False, False], [True, False, False]]
    alone = replace(site([], NONE_LOCAL), length=jnp.int32(1))
    assert not legal_invokers(world, state, alone)[18:].any()
    assert not dispatchable(world, state, site([], NONE_LOCAL)).any()
