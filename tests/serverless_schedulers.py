"""Schedulers of the serverless platform, decision by decision: every one of them is legal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from serverless_steps import is_over, start, step, world_of
from varigym.envs.serverless.bank import make_bank
from varigym.envs.serverless.episode import outcome_of
from varigym.envs.serverless.record import Record, make_record
from varigym.envs.serverless.state import State
from varigym.envs.serverless.view import Decision, View
from varigym.policies.serverless.policy import Scheduler
from varigym.scenarios.serverless.scenario import ServerlessScenario


@lru_cache(maxsize=64)
def _compiled(act: Any) -> Any:
    """A scheduler's `act`, compiled once per program and shape."""
    return jax.jit(act)


def decisions(
    scheduler: Scheduler, scenario: ServerlessScenario, seed: int = 0
) -> Iterator[tuple[State, View, Decision]]:
    """Every decision of a scheduler's whole episode, all of them legal; at last the end, decided by nobody."""
    data = scheduler.bind(make_bank([scenario]))
    worlds, key = scheduler.adapt(world_of(scenario), data), jax.random.key(seed)
    memory, act = scheduler.program.start(data, key), _compiled(scheduler.program.act)
    state, view = start(worlds)
    while not is_over(state):
        decision, memory = act(data, view, memory, jax.random.fold_in(key, state.visits))
        action = int(decision.action)
        assert [*view.legal.tolist(), True, True][action], f"{scheduler.name}: {action} is not legal"
        yield state, view, decision
        state, view = step(worlds, state, action)
    yield state, view, Decision(jnp.int32(-1), jnp.bool_(False))


def record_of(scheduler: Scheduler, scenario: ServerlessScenario, seed: int = 0) -> Record:
    """The record of an episode, decision by decision."""
    made = list(decisions(scheduler, scenario, seed))
    misses = sum(bool(decision.missed) for *_, decision in made)
    return make_record(scenario, scheduler.name, seed, outcome_of(made[-1][0], misses, seconds=1.0))
