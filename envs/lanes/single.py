"""A single lane: one episode of a process, stepped by one small device call per action."""

from __future__ import annotations

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

NO_ACTION = -1


class Lane:
    """One lane on worlds that are stacked on a leading axis. Not thread-safe; it is empty until the first reset."""

    @crosses
    def __init__(self, process: Process, worlds: Arrays, data: Arrays) -> None:
        """Prepare the lane; `reset` starts an episode."""
        refuse_forked()
        self.process = process
        self._programs = programs_for(process, worlds, data)
        self._constants = (self._programs.pack_worlds(worlds), self._programs.pack_data(data))
        self._numbers: dict[int, jax.Array] = {}
        self._columns = EXTRA + len(process.columns)
        self.settled, self.draft, self._seen = self._programs.blank
        self.mask = np.zeros(process.actions, bool)
        self._time_s = 0.0

    @crosses
    def reset(self, world: int, key: NDArray[np.uint32]) -> Batch:
        """Start an episode in world `world`, with the random key `key` [2]."""
        made = self._programs.alone.reset(*self._constants, jnp.int32(world), key)
        return self._renew(made)

    def step(self, action: int) -> Batch:
        """Take an action; all numbers outside the action space have the same effect."""
        action = action if 0 <= action < self.process.actions else NO_ACTION
        number = self._numbers.get(action)
        if number is None:  # kept on the device: transferring a number costs as much as a small program
            number = self._numbers[action] = jax.device_put(np.int32(action))
        held = (*self._constants, self.settled, self.draft, self._seen, number)
        if action < self.process.instant and action != NO_ACTION and self.mask[action]:
            self.draft, self._seen = self._programs.alone.build(*held)
            result = np.zeros(self._columns)
            result[TIME_S] = self._time_s
            return self._show(result)
        return self._renew(self._programs.alone.step(*held))

    @crosses
    def state(self) -> Arrays:
        """Return the lane's state."""
        return self._programs.state(self.settled, self.draft)[1]

    @crosses
    def ask(self, question: Question, *arguments: Any) -> Any:
        """Return `question(process, the world, data, state, *arguments)`, compiled once per question."""
        return self._programs.ask(question, *self._constants, self.settled, self.draft, arguments)

    def snapshot(self) -> Snapshot:
        """Return all that determines how the lane continues, as arrays on the host."""
        return self._time_s, [np.array(buffer) for buffer in (*self.settled, *self.draft, self._seen)]

    @crosses
    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of a lane of the same process and bank shape."""
        self._time_s = snapshot[0]
        buffers = tuple(jnp.array(buffer) for buffer in snapshot[1])  # copies, because a step donates its buffers
        at = len(self.settled)
        self.settled, self.draft, self._seen = buffers[:at], buffers[at:-1], buffers[-1]
        self._show(np.zeros(self._columns))

    def _renew(self, made: tuple[Packed, Packed, jax.Array, jax.Array]) -> Batch:
        self.settled, self.draft, self._seen, last = made
        result = np.asarray(last)
        self._time_s = float(result[TIME_S])
        return self._show(result)

    def _show(self, result: NDArray[Any]) -> Batch:
        seen = np.array(self._seen)
        batch = Batch(*parts_of(self.process, seen), result)
        self.mask = batch.mask
        return batch
