"""Ring buffers against Python's deques."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from varigym.envs.serverless import queues as queues_of
from varigym.envs.serverless.queues import empty_queues
from varigym.envs.serverless.state import Queues

QUEUES, MOST, PREDECESSORS = 2, 3, 2
PLACES, WIDER = 10, 17
"""Room for four jobs, as a batch may join while another one is being taken; and for eleven."""
Job = tuple[int, int, int]
"""Request, and where its two predecessors ran."""

ARRIVAL, SLO = 10, (1_000, 5_000)
"""Request n arrives at 10 n; what each queue's workflow promises."""

push = jax.jit(queues_of.push)  # compiled, as in the platform
pop = jax.jit(queues_of.pop, static_argnums=4)
first_jobs = jax.jit(queues_of.first_jobs, static_argnums=2)
has_room = jax.jit(queues_of.has_room, static_argnums=1)
enlarge = jax.jit(queues_of.enlarge, static_argnums=(1, 2))

MOVES = st.lists(st.tuples(st.booleans(), st.integers(0, QUEUES - 1), st.integers(0, MOST)), max_size=60)


def joined(queues: Queues, queue: int, jobs: list[Job]) -> Queues:
    """`jobs` join; the rest of the batch is rubbish, as in the platform."""
    rubbish = [(-7, -7, -7)] * (MOST - len(jobs))
    table = jnp.array(jobs + rubbish, jnp.int32)
    return push(queues, jnp.int32(queue), table[:, 0], table[:, 1:], jnp.int32(len(jobs)), due_of(queue, table[0, 0]))


def due_of(queue: int, request: jax.Array) -> jax.Array:
    return request * ARRIVAL + SLO[queue]


def left(queues: Queues, queue: int, count: int) -> Queues:
    """The first `count` jobs are gone."""
    line, _ = first_jobs(queues, jnp.int32(queue), MOST)
    return pop(queues, jnp.int32(queue), jnp.int32(count), due_of(queue, line[count]), MOST)


def heads(queues: Queues, queue: int, count: int) -> list[Job]:
    """The first `count` jobs of a queue, at most a batch."""
    request, origin = first_jobs(queues, jnp.int32(queue), MOST)
    return [(int(r), int(p), int(q)) for r, (p, q) in zip(request[:count], origin[:count], strict=True)]


def same(queues: Queues, twins: list[deque[Job]]) -> bool:
    due = zip(twins, queues.due.tolist(), SLO, strict=True)
    return (
        queues.length.tolist() == [len(twin) for twin in twins]
        and all(heads(queues, q, min(len(twin), MOST)) == list(twin)[:MOST] for q, twin in enumerate(twins))
        and all(tick == twin[0][0] * ARRIVAL + slo for twin, tick, slo in due if twin)
    )


@settings(max_examples=80)
@given(moves=MOVES)
def test_queues_are_deques_however_often_they_go_round(moves: list[tuple[bool, int, int]]) -> None:
    queues = empty_queues(QUEUES, PLACES, MOST, PREDECESSORS)
    twins: list[deque[Job]] = [deque() for _ in range(QUEUES)]
    number = 0
    for joins, queue, count in moves:
        if joins:
            if not bool(has_room(queues, MOST)):
                continue
            jobs = [(number + k, number + k + 100, number + k + 200) for k in range(count)]
            number += count
            twins[queue].extend(jobs)
            queues = joined(queues, queue, jobs)
        else:
            leave = min(count, len(twins[queue]))
            for _ in range(leave):
                twins[queue].popleft()
            queues = left(queues, queue, leave)
        assert same(queues, twins)
    wide = enlarge(queues, WIDER, MOST)
    assert same(wide, twins)
    for queue, twin in enumerate(twins):
        twin.append((999, 1, 2))
        wide = joined(wide, queue, [(999, 1, 2)])
        for _ in range(len(twin) - 1):
            twin.popleft()
            wide = left(wide, queue, 1)
            assert same(wide, twins)


def test_every_start_in_the_circle_gives_the_same_queue() -> None:
    """A queue of one to four jobs, joined one by one or as a batch, at each of the places."""
    for turn in range(PLACES):
        for length in range(1, 5):
            for batch in range(1, MOST + 1):  # of how many they come
                queues = empty_queues(QUEUES, PLACES, MOST, PREDECESSORS)
                queues = replace(queues, head=jnp.array([turn] * QUEUES, jnp.int32))
                jobs = [(turn + k, k, k + 1) for k in range(length)]
                for first in range(0, length, batch):
                    queues = joined(queues, 0, jobs[first : first + batch])
                for gone in range(length):
                    assert heads(queues, 0, min(MOST, length - gone)) == jobs[gone : gone + MOST]
                    queues = left(queues, 0, 1)


def test_a_queue_has_room_for_what_may_join_beside_a_batch() -> None:
    queues = empty_queues(2, PLACES, MOST, 1)
    lengths = [bool(has_room(replace(queues, length=jnp.array([0, n], jnp.int32)), MOST)) for n in range(8)]
    assert lengths == [True] * 5 + [False] * 3


def test_joining_ends_waiting_and_nothing_else_does() -> None:
    queues = replace(empty_queues(2, PLACES, MOST, PREDECESSORS), waiting=jnp.array([True, True]))
    assert joined(queues, 0, []).waiting.tolist() == [True, True]
    assert joined(queues, 0, [(1, 2, 3)]).waiting.tolist() == [False, True]
    assert left(queues, 0, 0).waiting.tolist() == [True, True]


def test_nothing_joins_where_the_count_is_zero() -> None:
    queues = joined(empty_queues(2, PLACES, MOST, PREDECESSORS), 1, [(1, 2, 3)])
    after = joined(queues, 1, [])
    for before, now in zip(jax.tree.leaves(queues), jax.tree.leaves(after), strict=True):
        assert np.array_equal(before, now)
