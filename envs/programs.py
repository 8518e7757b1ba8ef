"""The compiled functions of lanes: what a call does to one lane, and the same for consecutive lanes.

On a CPU lanes go one after the other inside the program, so that each takes only the branch its action needs.
Everything a step needs travels in a handful of flat buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from .packing import Packed, Packer, packer_for
from .process import Arrays, Process, Step

REWARD, TERMINATED, TRUNCATED, ILLEGAL, OVERFLOW, TIME_S, EXTRA = range(7)
"""Columns of a result; the process's own begin at the last."""
Question = Callable[..., Any]
"""A pure function of (process, world, data, state, ...)."""


@dataclass(frozen=True)
class Programs:
    """All lanes of a call have a leading axis b. `settled` begins with the index of the lane's world."""

    reset: Callable[..., tuple[Packed, Packed, jax.Array, jax.Array]]
    """(worlds, data, settled, draft, seen, which [b], world [b], key [b, 2]) -> (settled, draft, seen, result)."""
    step: Callable[..., tuple[Packed, Packed, jax.Array, jax.Array]]
    """(worlds, data, settled, draft, seen, action [b], active [b]) -> (settled, draft, seen, result)."""
    build: Callable[..., tuple[Packed, jax.Array]]
    """The same arguments, for instant actions -> (draft, seen)."""
    pack_worlds: Callable[[Arrays], Packed]
    pack_data: Callable[[Arrays], Packed]
    state: Callable[[Packed, Packed], tuple[jax.Array, Arrays]]
    """(settled, draft) of one lane -> (index of its world, state)."""
    blank: Callable[[int], tuple[Packed, Packed, jax.Array]]
    """(settled, draft, seen) of lanes that were never reset."""
    ask: Callable[..., Any]


def programs_for(process: Process, worlds: Arrays, data: Arrays) -> Programs:
    """The programs of a process on banks of one shape; shared by all environments that need them."""
    return _programs(process, _shapes(worlds), _shapes(data))


def _shapes(tree: Arrays) -> tuple[Any, ...]:
    """A hashable description of a pytree of arrays."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


def _example(shapes: tuple[Any, ...]) -> Arrays:
    structure, leaves = shapes
    return jax.tree.unflatten(structure, [jax.ShapeDtypeStruct(shape, jnp.dtype(kind)) for shape, kind in leaves])


@lru_cache
def _programs(process: Process, world_shapes: tuple[Any, ...], data_shapes: tuple[Any, ...]) -> Programs:
    worlds, data = _example(world_shapes), _example(data_shapes)
    world = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), worlds)
    state = jax.eval_shape(process.reset, world, data, jax.ShapeDtypeStruct((2,), jnp.uint32))
    settled, draft = jax.eval_shape(process.split, state)
    index: Any = jax.ShapeDtypeStruct((), jnp.int32)
    lane = _Lane(process, packer_for(world), packer_for(data), packer_for((index, settled)), packer_for(draft))
    shapes = jax.eval_shape(lane.pack, index, state)
    width = process.actions + sum(process.sizes.values())

    def blank(lanes: int) -> Any:
        empty = jax.tree.map(lambda leaf: jnp.zeros((lanes, *leaf.shape), leaf.dtype), shapes)
        return (*empty, jnp.zeros((lanes, width), jnp.float32))

    return Programs(
        reset=_over_lanes(lane.reset, (2, 3, 4)),
        step=_over_lanes(lane.step, (2, 3, 4)),
        build=_over_lanes(lane.build, (3, 4)),
        pack_worlds=jax.jit(jax.vmap(lane.worlds.pack)),
        pack_data=jax.jit(lane.shared.pack),
        state=jax.jit(lane.unpack),
        blank=blank,
        ask=jax.jit(lane.ask, static_argnums=0),
    )


def _over_lanes(one: Callable[..., Any], donated: tuple[int, ...]) -> Callable[..., Any]:
    """`one` for every lane of a call; worlds and data are the same for all."""

    def run(worlds: Packed, data: Packed, *lanes: Any) -> Any:
        if lanes[2].shape[0] == 1:
            alone = one(worlds, data, *jax.tree.map(lambda leaf: leaf[0], lanes))
            return jax.tree.map(lambda leaf: leaf[None], alone)
        return jax.lax.map(lambda lane: one(worlds, data, *lane), lanes)

    return jax.jit(run, donate_argnums=donated)


@dataclass(frozen=True)
class _Lane:
    """One lane of a packed program (pure)."""

    process: Process
    worlds: Packer[Arrays]
    shared: Packer[Arrays]
    settled: Packer[tuple[jax.Array, Arrays]]
    draft: Packer[Arrays]

    def reset(
        self,
        worlds: Packed,
        data: Packed,
        settled: Packed,
        draft: Packed,
        seen: jax.Array,
        which: jax.Array,
        index: jax.Array,
        key: jax.Array,
    ) -> Any:
        def fresh() -> Any:
            world, bound = self._world(worlds, index), self.shared.unpack(data)
            state = self.process.reset(world, bound, key)
            return (*self.pack(index, state), self._show(world, bound, state), self._result(world, state, None))

        return jax.lax.cond(which, fresh, lambda: (settled, draft, seen, self._no_result()))

    def step(
        self,
        worlds: Packed,
        data: Packed,
        settled: Packed,
        draft: Packed,
        seen: jax.Array,
        action: jax.Array,
        active: jax.Array,
    ) -> Any:
        def go() -> Any:
            index, state = self.unpack(settled, draft)
            world, bound = self._world(worlds, index), self.shared.unpack(data)
            state, done = self.process.step(world, bound, state, action, seen[: self.process.actions] > 0)
            return (*self.pack(index, state), self._show(world, bound, state), self._result(world, state, done))

        return jax.lax.cond(active, go, lambda: (settled, draft, seen, self._no_result()))

    def build(
        self,
        worlds: Packed,
        data: Packed,
        settled: Packed,
        draft: Packed,
        seen: jax.Array,
        action: jax.Array,
        active: jax.Array,
    ) -> Any:
        def go() -> Any:
            index, state = self.unpack(settled, draft)
            world, bound = self._world(worlds, index), self.shared.unpack(data)
            state = self.process.build(world, bound, state, action)
            return self.pack(index, state)[1], self._show(world, bound, state)

        return jax.lax.cond(active, go, lambda: (draft, seen))

    def ask(
        self, question: Question, worlds: Packed, data: Packed, settled: Packed, draft: Packed, arguments: Any
    ) -> Any:
        index, state = self.unpack(settled, draft)
        return question(self.process, self._world(worlds, index), self.shared.unpack(data), state, *arguments)

    def pack(self, index: jax.Array, state: Arrays) -> tuple[Packed, Packed]:
        settled, draft = self.process.split(state)
        return self.settled.pack((index, settled)), self.draft.pack(draft)

    def unpack(self, settled: Packed, draft: Packed) -> tuple[jax.Array, Arrays]:
        index, rest = self.settled.unpack(settled)
        return index, self.process.join(rest, self.draft.unpack(draft))

    def _world(self, worlds: Packed, index: jax.Array) -> Arrays:
        return self.worlds.unpack(tuple(buffer[index] for buffer in worlds))

    def _show(self, world: Arrays, data: Arrays, state: Arrays) -> jax.Array:
        parts, mask = self.process.observe(world, data, state)
        return jnp.concatenate([mask.astype(jnp.float32), *(parts[name] for name in sorted(parts))])

    def _result(self, world: Arrays, state: Arrays, done: Step | None) -> jax.Array:
        time_s, overflow = self.process.clock(world, state)
        nothing = [jnp.int32(0)]
        before, after = nothing * OVERFLOW, nothing * len(self.process.columns)
        if done:
            before, after = [done.reward, done.terminated, done.truncated, done.illegal], list(done.extra)
        return jnp.stack([jnp.asarray(x).astype(float) for x in (*before, overflow, time_s, *after)])

    def _no_result(self) -> jax.Array:
        return jnp.zeros(EXTRA + len(self.process.columns), float)
