"""Containers that no task uses: what is warm, which one is taken, and where a new one goes."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from hypothesis import given
from hypothesis import strategies as st
from varigym.envs.serverless.containers import is_kept, is_warm, next_ready, put, stamps_of, take
from varigym.envs.serverless.state import EMPTY, NEVER

KEEP = jnp.int32(100)
YES, NO, AT = jnp.bool_(True), jnp.bool_(False), jnp.int32(1)
"""Invoker 1 and function 1 of two, so that a wrong axis shows."""
STAMPS = st.lists(st.one_of(st.just(EMPTY), st.integers(0, 300)), min_size=1, max_size=5)

put, take = jax.jit(put), jax.jit(take)


def pools(stamps: Sequence[int]) -> jax.Array:
    """[2, 2, N]: the stamps under test, and others beside them."""
    row = jnp.array(stamps, jnp.int32)
    return jnp.full((2, 2, len(stamps)), 7, jnp.int32).at[1, 1].set(row)


def own(table: jax.Array) -> list[int]:
    """The stamps under test, when the others are as they were."""
    assert (table.at[1, 1].set(7) == 7).all()
    return sorted(stamps_of(table, AT, AT).tolist())


def now(tick: int) -> jax.Array:
    return jnp.int32(tick)


def test_a_container_is_warm_from_its_stamp_on_for_as_long_as_it_is_kept() -> None:
    ticks = jnp.array([99, 100, 199, 200])
    assert is_warm(jnp.int32(100), ticks, KEEP).tolist() == [False, True, True, False]
    assert is_kept(jnp.int32(100), ticks, KEEP).tolist() == [True, True, True, False]
    assert not is_kept(jnp.int32(EMPTY), jnp.array([0, NEVER // 2]), jnp.int32(NEVER // 2)).any()


def test_the_one_used_last_is_taken() -> None:
    assert own(take(pools([10, 80, 30]), AT, AT, now(90), KEEP, YES)) == [EMPTY, 10, 30]
    assert own(take(pools([10, 80, 30]), AT, AT, now(80), KEEP, YES)) == [EMPTY, 10, 30]


def test_one_under_preparation_is_not_taken() -> None:
    assert own(take(pools([10, 80, 30]), AT, AT, now(79), KEEP, YES)) == [EMPTY, 10, 80]


def test_what_is_not_there_is_not_taken() -> None:
    for stamps, tick in (([EMPTY, EMPTY], 50), ([80, EMPTY], 50), ([10, EMPTY], 110)):
        assert own(take(pools(stamps), AT, AT, now(tick), KEEP, YES)) == sorted(stamps)


def test_of_two_with_one_stamp_one_is_taken() -> None:
    assert own(take(pools([30, 30]), AT, AT, now(90), KEEP, YES)) == [EMPTY, 30]


def test_a_new_container_takes_an_empty_place_and_else_that_of_the_one_longest_idle() -> None:
    assert own(put(pools([30, EMPTY, 10]), AT, AT, now(500), YES)) == [10, 30, 500]
    assert own(put(pools([30, 60, 10]), AT, AT, now(500), YES)) == [30, 60, 500]


def test_nothing_happens_where_nothing_is_wanted() -> None:
    assert own(put(pools([30, EMPTY]), AT, AT, now(500), NO)) == [EMPTY, 30]
    assert own(take(pools([30, EMPTY]), AT, AT, now(90), KEEP, NO)) == [EMPTY, 30]


def test_the_next_one_to_be_ready() -> None:
    assert int(next_ready(pools([30, 90, 60]), now(50))) == 60
    assert int(next_ready(pools([30, 90, 60]), now(60))) == 90
    assert int(next_ready(pools([30, EMPTY]), now(60))) == NEVER


@given(stamps=STAMPS, tick=st.integers(0, 400))
def test_taking_is_that_of_a_list(stamps: list[int], tick: int) -> None:
    padded = stamps + [EMPTY] * (5 - len(stamps))
    warm = [stamp for stamp in padded if tick - int(KEEP) < stamp <= tick]
    expected = list(padded)
    if warm:
        expected[expected.index(max(warm))] = EMPTY
    assert own(take(pools(padded), AT, AT, now(tick), KEEP, YES)) == sorted(expected)


@given(stamps=STAMPS, tick=st.integers(100, 400))
def test_what_is_put_while_there_is_a_useless_place_drops_nothing_useful(stamps: list[int], tick: int) -> None:
    padded = stamps + [EMPTY] * (5 - len(stamps))
    kept = [stamp for stamp in padded if stamp > tick - int(KEEP)]
    after = own(put(pools(padded), AT, AT, now(tick), YES))
    if len(kept) < len(padded):
        assert sorted(stamp for stamp in after if stamp > tick - int(KEEP)) == sorted([*kept, tick])
