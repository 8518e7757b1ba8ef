"""ORDER+PLACEMENT[+sticky][+backfill] as a policy object."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...envs.cluster.bank import Bank
from ...envs.cluster.mdp.base import BaseProgram
from ...envs.cluster.world import bucket
from ...scenarios.cluster.scenario import ClusterScenario, Jobs
from ..information import Information
from .gittins import History, add_finished, empty_history
from .list_program import ListData, list_program
from .orders import Order
from .placements import Placement

CELL_STEP = 16


@dataclass(frozen=True)
class ListPolicy:
    """A list scheduler: an order, a placement, and the switches `sticky` and `backfill`.

    Its program can switch among all of `orders` and `placements`.
    """

    order: Order
    placement: Placement
    sticky: bool
    backfill: bool
    orders: tuple[Order, ...]
    placements: tuple[Placement, ...]

    @property
    def name(self) -> str:
        """The canonical name."""
        habits = ["sticky"] * self.sticky + ["backfill"] * self.backfill
        return "+".join([self.order.name, self.placement.name, *habits])

    @property
    def information(self) -> Information:
        """The information that the order needs."""
        return self.order.information

    @property
    def clairvoyant(self) -> bool:
        """Whether the policy uses true remaining work."""
        return self.information is Information.CLAIRVOYANT

    @property
    def program(self) -> BaseProgram:
        """One program for all list policies over the same orders and placements."""
        return list_program(self.orders, self.placements)

    def bind(self, bank: Bank) -> ListData:
        """Return the settings of the program's switches, and the service history of the bank."""
        return ListData(
            order=jnp.int32(self.orders.index(self.order)),
            placement=jnp.int32(self.placements.index(self.placement)),
            sticky=jnp.bool_(self.sticky),
            backfill=jnp.bool_(self.backfill),
            history=bank_history(bank),
        )


def bank_history(bank: Bank) -> History:
    """Return the service that the train bank's jobs need on median GPUs; gangs wider than a node pay the penalty.

    Without a train bank the history is empty and grows by the jobs that finish in the episode.
    """
    scenario = bank.scenarios[0]
    known = bank.history or scenario.jobs
    pairs = np.unique(np.stack([known.app_class, known.demand], axis=1), axis=0)
    room = bucket(len(pairs) + 1, CELL_STEP) - 1
    pairs = np.concatenate([pairs, np.full((room - len(pairs), 2), -1)]).astype(np.int32)
    history = empty_history(pairs, online=bank.history is None)
    if bank.history is None:
        return history
    rounds = _rounds_needed(bank.history, scenario)
    return _add_finished(history, *map(jnp.asarray, (bank.history.app_class, bank.history.demand, rounds)))


_add_finished = jax.jit(add_finished)


def _rounds_needed(jobs: Jobs, scenario: ClusterScenario) -> NDArray[np.int32]:
    wide = jobs.demand > scenario.gpus_per_node
    slowdown = np.where(wide, scenario.locality_penalty[jobs.app_class], 1.0)
    return np.ceil(jobs.work_s * slowdown / scenario.round_s).astype(np.int32)
