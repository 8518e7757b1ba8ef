"""The compiled functions of lanes: calls for one lane, and the same calls for consecutive lanes.

The program steps its lanes one after the other, so that each lane computes only the branch that its action needs.
All inputs and outputs of a step are in a few flat buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ..process import Arrays, Process, Step
from .packing import Packed, Packer, packer_for

REWARD, TERMINATED, TRUNCATED, ILLEGAL, OVERFLOW, TIME_S, EXTRA = range(7)
"""Columns of a result; the process's own columns begin at EXTRA."""
Question = Callable[..., Any]
"""A pure function of (process, world, data, state, ...)."""


@dataclass(frozen=True)
class Calls:
    """The calls of lanes. `settled` begins with the index of the world. Batches have an axis b and a mask `active`."""

    reset: Callable[..., tuple[Packed, Packed, jax.Array, jax.Array]]
    """(worlds, data, index of a world, key [2]) -> (settled, draft, seen, result).

    For a batch: (worlds, data, settled, draft, seen, active, index, key) -> the same.
    """
    step: Callable[..., tuple[Packed, Packed, jax.Array, jax.Array]]
    """(worlds, data, settled, draft, seen, [active,] action) -> (settled, draft, seen, result)."""
    build: Callable[..., tuple[Packed, jax.Array]]
    """The same arguments as `step`, for instant actions -> (draft, seen)."""


@dataclass(frozen=True)
class Programs:
    """All compiled functions of a process; each is compiled at its first call."""

    alone: Calls
    batch: Calls
    pack_worlds: Callable[[Arrays], Packed]
    pack_data: Callable[[Arrays], Packed]
    state: Callable[[Packed, Packed], tuple[jax.Array, Arrays]]
    """(settled, draft) of one lane -> (index of its world, state)."""
    blank: tuple[Packed, Packed, jax.Array]
    """(settled, draft, seen) of one lane that was never reset."""
    ask: Callable[..., Any]


def programs_for(process: Process, worlds: Arrays, data: Arrays) -> Programs:
    """Return the programs of a process on banks of one shape, shared by all environments that need them."""
    return _programs(process, _shapes(worlds), _shapes(data))


def _shapes(tree: Arrays) -> tuple[Any, ...]:
    """Describe a pytree of arrays by a hashable value."""
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
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return Programs(
        alone=Calls(jax.jit(lane.reset), jax.jit(lane.step, donate_argnums=(2, 3)), jax.jit(lane.build)),
        batch=Calls(
            reset=_batched(lambda worlds, data, *lane_: lane.reset(worlds, data, *lane_[3:]), lane.stay, (2, 3, 4)),
            step=_batched(lane.step, lane.stay, (2, 3, 4)),
            build=_batched(lane.build, lambda settled, draft, seen: (draft, seen), (3, 4)),
        ),
        pack_worlds=jax.jit(jax.vmap(lane.worlds.pack)),
        pack_data=jax.jit(lane.shared.pack),
        state=jax.jit(lane.unpack),
        blank=(*blank, jnp.zeros(process.actions + sum(process.sizes.values()), jnp.float32)),
        ask=jax.jit(lane.ask, static_argnums=0),
    )


def _batched(one: Callable[..., Any], stay: Callable[..., Any], donated: tuple[int, ...]) -> Callable[..., Any]:
    """Apply `one` to every active lane of a call and `stay` to the others; all share worlds and data."""

    def run(worlds: Packed, data: Packed, *lanes: Any) -> Any:
        def lane(held: Any) -> Any:
            settled, draft, seen, active, *control = held
            return jax.lax.cond(
                active,
                lambda: one(worlds, data, settled, draft, seen, *control),
                lambda: stay(settled, draft, seen),
            )

        return jax.lax.map(lane, lanes)

    return jax.jit(run, donate_argnums=donated)


@dataclass(frozen=True)
class _Lane:
    """One lane of a packed program (pure)."""

    process: Process
    worlds: Packer[Arrays]
    shared: Packer[Arrays]
    settled: Packer[tuple[jax.Array, Arrays]]
    draft: Packer[Arrays]

    def reset(self, worlds: Packed, data: Packed, index: jax.Array, key: jax.Array) -> Any:
        world, bound = self._world(worlds, index), self.shared.unpack(data)
        state = self.process.reset(world, bound, key)
        return (*self.pack(index, state), self._show(world, bound, state), self._result(world, state, None))

    def step(
        self, worlds: Packed, data: Packed, settled: Packed, draft: Packed, seen: jax.Array, action: jax.Array
    ) -> Any:
        index, state = self.unpack(settled, draft)
        world, bound = self._world(worlds, index), self.shared.unpack(data)
        state, done = self.process.step(world, bound, state, action, seen[: self.process.actions] > 0)
        return (*self.pack(index, state), self._show(world, bound, state), self._result(world, state, done))

    def build(
        self, worlds: Packed, data: Packed, settled: Packed, draft: Packed, seen: jax.Array, action: jax.Array
    ) -> Any:
        index, state = self.unpack(settled, draft)
        world, bound = self._world(worlds, index), self.shared.unpack(data)
        state = self.process.build(world, bound, state, action)
        return self.pack(index, state)[1], self._show(world, bound, state)

    def stay(self, settled: Packed, draft: Packed, seen: jax.Array) -> Any:
        return settled, draft, seen, jnp.zeros(EXTRA + len(self.process.columns), float)

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
