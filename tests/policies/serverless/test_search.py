"""ESG_1Q against brute force, blade by blade."""

from __future__ import annotations

import numpy as np
import pytest
from path_spaces import all_paths, random_space, random_visit
from varigym.policies.serverless.esg.search import Search
from varigym.policies.serverless.paths import LaterBatch, PathSpace

PIPELINE = PathSpace(
    time=np.array([[10, 6, 14, 9], [10, 6, 14, 9]], np.int32),
    cost=np.array([[4, 7, 3, 5], [4, 7, 3, 5]], np.int32),
    batch=np.array([1, 1, 2, 2], np.int32),
)


def test_two_stages_by_hand() -> None:
    """Batch 1 is slow (10, 4) or fast (6, 7); batch 2 is slow (14, 3) or fast (9, 5); T* = 24.

    The cheapest, 2 then 2, takes 28. Of cost 7: 2 then 0 takes 24; 0 then 2 is not legal, as the batch grows.
    Of cost 8: 0 then 0 takes 20, 2 then 3 and 3 then 2 take 23. Of cost 9: 3 then 0 takes 19.
    """
    found = Search(PIPELINE).paths(target=24, length=2, k=5)
    assert [(p.cost, p.configs, p.time) for p in found.paths] == [
        (7, (2, 0), 24),
        (8, (0, 0), 20),
        (8, (2, 3), 23),
        (8, (3, 2), 23),
        (9, (3, 0), 19),
    ]
    assert found.first == (2, 0, 3)
    assert Search(PIPELINE).paths(target=24, length=1, k=4).first == (0, 1)


def test_later_batches_may_be_free() -> None:
    free = PathSpace(PIPELINE.time, PIPELINE.cost, PIPELINE.batch, LaterBatch.FREE)
    assert Search(free).paths(target=24, length=1, k=2).paths[0].configs == (0, 2)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_search_is_brute_force(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(300):
        space = random_space(rng)
        target, length = random_visit(rng, space)
        found = Search(space).paths(target, length, k)
        expected = all_paths(space, target, length)[:k]
        assert [(p.cost, p.configs, p.time) for p in found.paths] == expected
        assert found.first == tuple(dict.fromkeys(path[0] for _, path, _ in expected))
        assert all(path.time <= target for path in found.paths)


def test_a_blade_only_saves_work() -> None:
    rng = np.random.default_rng(7)
    saved = np.zeros(2, int)
    for _ in range(150):
        space, k = random_space(rng), int(rng.choice([1, 3, 5]))
        target, length = random_visit(rng, space)
        search = Search(space)
        both = search.paths(target, length, k)
        no_time, no_cost = (search.paths(target, length, k, time_blade=b, cost_blade=not b) for b in (False, True))
        neither = search.paths(target, length, k, time_blade=False, cost_blade=False)
        for other in (no_time, no_cost, neither):
            assert other.paths == both.paths
            assert other.kept >= both.kept
        assert no_time.pruned_by_time == no_cost.pruned_by_cost == 0
        assert (neither.pruned_by_time, neither.pruned_by_cost) == (0, 0)
        saved += (no_time.kept > both.kept, no_cost.kept > both.kept)
    assert (saved > 30).all()


def test_bounds_are_those_of_real_completions() -> None:
    """Least time and cost of the stages after one, and what their fastest completion costs."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        space = random_space(rng, stages=3)
        search = Search(space)
        for level, batch in enumerate(search.batches):
            legal = space.batch <= (batch if space.later_batch is LaterBatch.LE_FIRST else 99)
            for stage in (1, 2):
                time, cost = space.time[stage:, legal], space.cost[stage:, legal]
                fastest = [min(c[t == t.min()]) for t, c in zip(time, cost, strict=True)]
                expected = (time.min(axis=1).sum(), cost.min(axis=1).sum(), sum(fastest))
                assert search.rest[level][stage - 1] == expected
            assert search.rest[level][2] == (0, 0, 0)


def test_leaving_out_dominated_configurations_keeps_the_cheapest_cost() -> None:
    rng = np.random.default_rng(11)
    fewer = 0
    for _ in range(200):
        space = random_space(rng)
        target, length = random_visit(rng, space)
        thin = Search(PathSpace(space.time, space.cost, space.batch, space.later_batch, pareto=True))
        full, thinned = Search(space).paths(target, length), thin.paths(target, length)
        assert [p.cost for p in full.paths[:1]] == [p.cost for p in thinned.paths[:1]]
        assert {p.configs for p in thinned.paths} <= {path for _, path, _ in all_paths(space, target, length)}
        fewer += thinned.kept < full.kept
    assert fewer > 50


def test_nothing_in_time_is_nothing_found() -> None:
    found = Search(PIPELINE).paths(target=11, length=5)
    assert (found.paths, found.first, found.kept) == ((), (), 0)
    assert found.pruned_by_time == 4
    assert Search(PIPELINE).paths(target=-(10**9), length=5).first == ()
