"""Lanes: many independent episodes of one process, stepped by one device call (large batches: one per thread)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..core import crosses
from ..forks import refuse_forked
from ..process import Arrays, Process
from .batch import Batch, Snapshot, parts_of
from .packing import Packed
from .programs import EXTRA, TIME_S, Question, programs_for

SPLIT_FROM = 16
"""Batches of at least this many lanes use two threads."""


@dataclass
class _Shard:
    """Consecutive lanes that are stepped by one program."""

    settled: Packed
    draft: Packed
    seen: jax.Array  # [b, actions + observation] float32

    @property
    def buffers(self) -> tuple[jax.Array, ...]:
        return (*self.settled, *self.draft, self.seen)


class Lanes:
    """B lanes on worlds that are stacked on a leading axis. Not thread-safe; a lane is empty until its first reset."""

    @crosses
    def __init__(self, process: Process, worlds: Arrays, data: Arrays, lanes: int) -> None:
        """Prepare `lanes` lanes; `reset` starts their episodes."""
        refuse_forked()
        self.process, self.lanes = process, lanes
        self._programs = programs_for(process, worlds, data)
        self._constants = (self._programs.pack_worlds(worlds), self._programs.pack_data(data))
        half = (lanes + 1) // 2
        self._cuts = [(0, lanes)] if lanes < SPLIT_FROM else [(0, half), (half, lanes)]
        self._shards = [_Shard(*_repeated(self._programs.blank, end - start)) for start, end in self._cuts]
        self.mask = np.zeros((lanes, process.actions), bool)
        self._time_s = np.zeros(lanes)
        self._pool = ThreadPoolExecutor(len(self._cuts)) if len(self._cuts) > 1 else None

    def reset(self, which: NDArray[np.bool_], world: NDArray[np.int32], key: NDArray[np.uint32]) -> Batch:
        """Start new episodes in the lanes `which` [B], in worlds `world` [B], with random keys `key` [B, 2]."""
        return self._timed(which, self._each(self._renew(self._programs.batch.reset), which, world, key))

    def step(self, action: NDArray[np.int32], active: NDArray[np.bool_]) -> Batch:
        """Take one action per lane [B]; lanes that are not `active` do not change and get no reward."""
        known = (action >= 0) & (action < self.process.instant)
        instant = known & self.mask[np.arange(self.lanes), np.where(known, action, 0)]
        if (instant & active).any() and (instant | ~active).all():
            self._each(self._extend, active, action)
            result = np.zeros((self.lanes, EXTRA + len(self.process.columns)))
            result[:, TIME_S] = np.where(active, self._time_s, 0.0)
            return self._show(result)
        return self._timed(active, self._each(self._renew(self._programs.batch.step), active, action))

    @crosses
    def state(self, lane: int) -> Arrays:
        """Return the state of one lane."""
        return self._programs.state(*self._lane(lane))[1]

    @crosses
    def ask(self, question: Question, lane: int, *arguments: Any) -> Any:
        """Return `question(process, the lane's world, data, state, *arguments)`, compiled once per question."""
        return self._programs.ask(question, *self._constants, *self._lane(lane), arguments)

    def snapshot(self) -> Snapshot:
        """Return all that determines how the lanes continue, as arrays on the host."""
        return self._time_s.copy(), [[np.array(buffer) for buffer in shard.buffers] for shard in self._shards]

    @crosses
    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of as many lanes of the same process and bank shape."""
        self._time_s = snapshot[0].copy()
        for shard, kept in zip(self._shards, snapshot[1], strict=True):
            buffers = tuple(jnp.array(buffer) for buffer in kept)  # copies, because a step donates its buffers
            at = len(shard.settled)
            shard.settled, shard.draft, shard.seen = buffers[:at], buffers[at:-1], buffers[-1]
        self._show(np.zeros((self.lanes, EXTRA + len(self.process.columns))))

    def _lane(self, lane: int) -> tuple[Packed, Packed]:
        for shard, (start, end) in zip(self._shards, self._cuts, strict=True):
            if start <= lane < end:
                at = lane - start
                return tuple(buffer[at] for buffer in shard.settled), tuple(buffer[at] for buffer in shard.draft)
        raise IndexError(f"lane {lane}; legal: 0 to {self.lanes - 1}")

    def _renew(self, program: Callable[..., Any]) -> Callable[..., jax.Array]:
        def run(shard: _Shard, *control: Any) -> jax.Array:
            made = program(*self._constants, shard.settled, shard.draft, shard.seen, *control)
            shard.settled, shard.draft, shard.seen, result = made
            return result

        return run

    def _extend(self, shard: _Shard, *control: Any) -> jax.Array:
        made = self._programs.batch.build(*self._constants, shard.settled, shard.draft, shard.seen, *control)
        shard.draft, shard.seen = made
        return shard.seen

    def _each(self, run: Callable[..., jax.Array], *control: NDArray[Any]) -> NDArray[Any]:
        """Call `run` on every shard with its part of `control`, and join the results."""
        run = crosses(run)  # wrapped here, because each thread has its own transfer guard
        work = [
            (shard, *(part[start:end] for part in control))
            for shard, (start, end) in zip(self._shards, self._cuts, strict=True)
        ]
        if self._pool is None:
            return np.asarray(run(*work[0]))
        return _joined(list(self._pool.map(lambda item: np.asarray(run(*item)), work)))

    def _timed(self, moved: NDArray[np.bool_], result: NDArray[Any]) -> Batch:
        self._time_s = np.where(moved, result[:, TIME_S], self._time_s)
        return self._show(result)

    def _show(self, result: NDArray[Any]) -> Batch:
        seen = _joined([np.asarray(shard.seen) for shard in self._shards])
        batch = Batch(*parts_of(self.process, seen), result.astype(np.float64))  # rewards are divided in 64 bits
        self.mask = batch.mask
        return batch


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _repeated(lane: Any, lanes: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.zeros((lanes, *leaf.shape), leaf.dtype), lane)
