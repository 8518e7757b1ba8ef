"""Compiled lanes: many independent episodes of one decision process, stepped by one device call.

On a CPU lanes go one after the other inside the program, so that each takes only the branch its action needs; larger
batches are cut in two, one part per thread. Everything a step needs travels in a handful of flat buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..packing import Packed, Packer, packer_for
from .bank import Bank, pick
from .base import Base
from .env import ClusterProcess, EnvState, Step, build, observe_env, reset, step
from .episode import Outcome, outcome_of
from .state import World

Question = Callable[..., Any]
"""A pure function of (process, worlds, base data, state, ...)."""
SPLIT_FROM = 16
"""Batches of at least this many lanes use two threads."""
REWARD, TERMINATED, TRUNCATED, ILLEGAL, ROUNDS, OVERFLOW, TIME_S = range(7)
"""Columns of `Batch.result`."""


@dataclass(frozen=True)
class Batch:
    """B lanes after a call, on the host."""

    mask: NDArray[np.bool_]  # [B, actions]
    parts: dict[str, NDArray[np.float32]]  # [B, size] each
    result: NDArray[np.floating[Any]]  # [B, 7], columns as the constants of this module


@dataclass
class _Shard:
    """Consecutive lanes that one program steps."""

    packed: Packed
    seen: jax.Array  # [b, actions + observation] float32


class Lanes:
    """B lanes over the worlds of a bank. Not thread-safe; a lane that was never reset holds nothing."""

    def __init__(self, process: ClusterProcess, bank: Bank, base: Base, lanes: int) -> None:
        """Prepare `lanes` lanes; `reset` starts them."""
        self.process, self.bank, self.lanes = process, bank, lanes
        data = base.bind(bank)
        self._programs = _programs(process, _shapes(bank.worlds), _shapes(data))
        self._constants = (self._programs.pack_worlds(bank.worlds), self._programs.pack_data(data))
        half = (lanes + 1) // 2
        self._cuts = [(0, lanes)] if lanes < SPLIT_FROM else [(0, half), (half, lanes)]
        self._shards = [self._programs.blank(end - start) for start, end in self._cuts]
        self._mask = np.zeros((lanes, process.space.size), bool)
        self._pool = ThreadPoolExecutor(len(self._cuts)) if len(self._cuts) > 1 else None

    def reset(self, which: NDArray[np.bool_], world: NDArray[np.int32], key: NDArray[np.uint32]) -> Batch:
        """Start new episodes in the lanes `which` [B], in worlds `world` [B], with lots from `key` [B, 2]."""

        def run(shard: _Shard, start: int, end: int) -> jax.Array:
            arguments = (which[start:end], world[start:end], key[start:end])
            shard.packed, shard.seen, result = self._programs.reset(
                *self._constants, shard.packed, shard.seen, *arguments
            )
            return result

        return self._gather(run)

    def step(self, action: NDArray[np.int32], active: NDArray[np.bool_]) -> Batch:
        """Take one action per lane [B]; lanes that are not `active` stay as they are, at no reward."""
        at = np.arange(self.lanes)
        known = (action >= 0) & (action < self.process.space.rest)
        quiet = known & self._mask[at, np.where(known, action, 0)]
        program = self._programs.build if (quiet | ~active).all() else self._programs.step

        def run(shard: _Shard, start: int, end: int) -> jax.Array:
            shard.packed, shard.seen, result = program(
                *self._constants, shard.packed, shard.seen, action[start:end], active[start:end]
            )
            return result

        return self._gather(run)

    def state(self, lane: int) -> EnvState:
        """The unpacked state of one lane."""
        shard, at = self._find(lane)
        whole, real = shard.packed
        return self._programs.unpack((whole[at], real[at]))

    def ask(self, question: Question, lane: int, *arguments: Any) -> Any:
        """`question(process, bank of the lane's world, base data, state, *arguments)`, compiled once per question."""
        shard, at = self._find(lane)
        return self._programs.ask(question, *self._constants, shard.packed, at, arguments)

    def outcome(self, lane: int) -> Outcome:
        """Results of the episode in a lane, as far as it has come."""
        state = self.state(lane)
        scenario = self.bank.scenarios[int(state.world)]
        return outcome_of(state.cluster, len(scenario.jobs), rounds=0)

    def snapshot(self) -> list[tuple[NDArray[np.int32], NDArray[Any], NDArray[np.float32]]]:
        """Everything that decides how the lanes go on, as arrays on the host."""
        return [(np.array(s.packed[0]), np.array(s.packed[1]), np.array(s.seen)) for s in self._shards]

    def restore(self, snapshot: list[tuple[NDArray[np.int32], NDArray[Any], NDArray[np.float32]]]) -> None:
        """Go on from a snapshot of lanes of the same process, bank shape and number."""
        for shard, (whole, real, seen) in zip(self._shards, snapshot, strict=True):
            # Copies: a step gives its buffers back to the device.
            shard.packed, shard.seen = (jnp.array(whole), jnp.array(real)), jnp.array(seen)
        self._split(_joined([np.asarray(shard.seen) for shard in self._shards]), np.zeros((self.lanes, 1)))

    def _find(self, lane: int) -> tuple[_Shard, int]:
        for shard, (start, end) in zip(self._shards, self._cuts, strict=True):
            if start <= lane < end:
                return shard, lane - start
        raise IndexError(f"lane {lane}; legal: 0 to {self.lanes - 1}")

    def _gather(self, run: Callable[[_Shard, int, int], jax.Array]) -> Batch:
        work = [(shard, *cut) for shard, cut in zip(self._shards, self._cuts, strict=True)]
        if self._pool is None:
            results = [np.asarray(run(*work[0]))]
        else:
            results = list(self._pool.map(lambda item: np.asarray(run(*item)), work))
        seen = [np.asarray(shard.seen) for shard in self._shards]
        return self._split(_joined(seen), _joined(results))

    def _split(self, seen: NDArray[np.float32], result: NDArray[Any]) -> Batch:
        at = self.process.space.size
        mask, parts = seen[:, :at] > 0, {}
        self._mask = mask
        for name, size in sorted(self.process.layout.sizes.items()):
            if size:
                parts[name] = seen[:, at : at + size]
                at += size
        return Batch(mask, parts, result)


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


@dataclass(frozen=True)
class _Programs:
    reset: Callable[..., tuple[Packed, jax.Array, jax.Array]]
    step: Callable[..., tuple[Packed, jax.Array, jax.Array]]
    build: Callable[..., tuple[Packed, jax.Array, jax.Array]]
    pack_worlds: Callable[[World], Packed]
    pack_data: Callable[[Any], Packed]
    unpack: Callable[[Packed], EnvState]
    blank: Callable[[int], _Shard]
    ask: Callable[..., Any]


def _shapes(tree: Any) -> tuple[Any, ...]:
    """A hashable description of a pytree of arrays."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


@lru_cache
def _programs(process: ClusterProcess, world_shapes: tuple[Any, ...], data_shapes: tuple[Any, ...]) -> _Programs:
    """The compiled functions of a process on banks of one shape; shared by all environments that need them."""
    worlds, data = _example(world_shapes), _example(data_shapes)
    one_world = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), worlds)
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    example = jax.eval_shape(partial(reset, process), worlds, data, jax.ShapeDtypeStruct((), jnp.int32), key)
    world_packer, data_packer, packer = packer_for(one_world), packer_for(data), packer_for(example)
    body = _Lane(process, world_packer, data_packer, packer)
    width = process.space.size + sum(process.layout.sizes.values())
    whole, real = jax.eval_shape(packer.pack, example)

    def blank(lanes: int) -> _Shard:
        packed = (jnp.zeros((lanes, *whole.shape), whole.dtype), jnp.zeros((lanes, *real.shape), real.dtype))
        return _Shard(packed, jnp.zeros((lanes, width), jnp.float32))

    def over_lanes(one: Callable[..., Any]) -> Callable[..., Any]:
        def run(worlds: Packed, data: Packed, packed: Packed, seen: jax.Array, *control: Any) -> Any:
            lanes = (packed, seen, *control)
            if seen.shape[0] == 1:
                alone = one(worlds, data, *jax.tree.map(lambda leaf: leaf[0], lanes))
                return jax.tree.map(lambda leaf: leaf[None], alone)
            return jax.lax.map(lambda lane: one(worlds, data, *lane), lanes)

        return jax.jit(run, donate_argnums=(2, 3))

    return _Programs(
        reset=over_lanes(body.reset),
        step=over_lanes(body.step),
        build=over_lanes(body.build),
        pack_worlds=jax.jit(jax.vmap(world_packer.pack)),
        pack_data=jax.jit(data_packer.pack),
        unpack=jax.jit(packer.unpack),
        blank=blank,
        ask=jax.jit(body.ask, static_argnums=0),
    )


def _example(shapes: tuple[Any, ...]) -> Any:
    structure, leaves = shapes
    return jax.tree.unflatten(structure, [jax.ShapeDtypeStruct(shape, jnp.dtype(kind)) for shape, kind in leaves])


@dataclass(frozen=True)
class _Lane:
    """One lane of a packed program (pure)."""

    process: ClusterProcess
    worlds: Packer[World]
    data: Packer[Any]
    states: Packer[EnvState]

    def reset(
        self, worlds: Packed, data: Packed, packed: Packed, seen: jax.Array, which: Any, index: Any, key: Any
    ) -> Any:
        def fresh() -> Any:
            # A reset needs the one world it starts in; as a bank of one its index is 0 until the state is stored.
            bank = self._world(worlds, index)
            bound = self.data.unpack(data)
            state = reset(self.process, bank, bound, jnp.int32(0), key)
            return self._show(bank, bound, state, index, None)

        return jax.lax.cond(which, fresh, lambda: (packed, seen, jnp.zeros(TIME_S + 1, packed[1].dtype)))

    def build(self, worlds: Packed, data: Packed, packed: Packed, seen: jax.Array, action: Any, active: Any) -> Any:
        def take(bank: World, bound: Any, state: EnvState) -> tuple[EnvState, Step]:
            return build(self.process, state, action)

        return self._move(worlds, data, packed, seen, active, take)

    def step(self, worlds: Packed, data: Packed, packed: Packed, seen: jax.Array, action: Any, active: Any) -> Any:
        mask = seen[: self.process.space.size] > 0

        def take(bank: World, bound: Any, state: EnvState) -> tuple[EnvState, Step]:
            return step(self.process, bank, bound, state, action, mask)

        return self._move(worlds, data, packed, seen, active, take)

    def _move(
        self,
        worlds: Packed,
        data: Packed,
        packed: Packed,
        seen: jax.Array,
        active: jax.Array,
        take: Callable[[World, Any, EnvState], tuple[EnvState, Step]],
    ) -> Any:
        def go() -> Any:
            state = self.states.unpack(packed)
            index = state.world
            bank, bound = self._world(worlds, index), self.data.unpack(data)
            state, done = take(bank, bound, _at(state, jnp.int32(0)))
            return self._show(bank, bound, state, index, done)

        return jax.lax.cond(active, go, lambda: (packed, seen, jnp.zeros(TIME_S + 1, packed[1].dtype)))

    def ask(
        self, question: Question, worlds: Packed, data: Packed, lanes: Packed, at: jax.Array, arguments: Any
    ) -> Any:
        state = self.states.unpack((lanes[0][at], lanes[1][at]))
        bank = self._world(worlds, state.world)
        return question(self.process, bank, self.data.unpack(data), _at(state, jnp.int32(0)), *arguments)

    def _world(self, worlds: Packed, index: jax.Array) -> World:
        row = self.worlds.unpack((worlds[0][index], worlds[1][index]))
        return jax.tree.map(lambda leaf: leaf[None], row)

    def _show(self, bank: World, bound: Any, state: EnvState, index: jax.Array, done: Step | None) -> Any:
        parts, mask = observe_env(self.process, bank, bound, state)
        seen = jnp.concatenate([mask.astype(jnp.float32), *(parts[name] for name in sorted(parts))])
        cluster = state.cluster
        time_s = cluster.round * pick(bank, jnp.int32(0)).round_s
        columns = [jnp.int32(0)] * OVERFLOW
        if done:
            columns = [done.reward, done.terminated, done.truncated, done.illegal, done.rounds]
        kind = cluster.flow.dtype
        result = jnp.stack([jnp.asarray(x).astype(kind) for x in (*columns, cluster.overflow, time_s)])
        return self.states.pack(_at(state, index)), seen, result


def _at(state: EnvState, index: jax.Array) -> EnvState:
    return replace(state, world=index)
