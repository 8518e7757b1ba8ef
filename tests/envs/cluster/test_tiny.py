"""The Gantt chart of `tiny`, derived by hand (docs/tiny.md shows the derivation for fifo+pal).

2 nodes x 2 GPUs, rounds of 60 s, penalty 1.7. GPU 1 is 1.5 times slow for class A and 1.2 for B.

    job  arrives  GPUs  work   class
    0    0        2     120 s  A
    1    0        1     60 s   B
    2    30       2     120 s  A      (joins at 60)
    3    60       1     120 s  A
"""

from __future__ import annotations

import pytest
import varigym
from worlds import gangs, steps

GANTT = {
    # t = 0: job 0 takes the fast pair, job 1 the fast rest. t = 60: job 2 gets a slow pair (1.5), 40 of 120 s done.
    # t = 120: job 0 is done, job 2 moves to the fast pair, job 3 starts; 100 of 120 s at 180, done at 240.
    "fifo+pal": [
        {0: [2, 3], 1: [0]},
        {0: [2, 3], 2: [0, 1]},
        {2: [2, 3], 3: [0]},
        {2: [2, 3], 3: [0]},
    ],
    # Packed takes the lowest full node: job 0 runs on the slow GPU 1 (40 s per round) until 180. Job 3 waits for it.
    "fifo+packed": [
        {0: [0, 1], 1: [2]},
        {0: [0, 1], 2: [2, 3]},
        {0: [0, 1], 2: [2, 3]},
        {3: [0]},
        {3: [0]},
    ],
    # Least attained first. t = 60: jobs 2 and 3 are new and job 0 (60 s) is last; job 3 stops it. t = 120: all three
    # have 60 s, so arrival decides, and job 0 stops job 3. t = 180: job 2 is done; job 3 takes the lowest free GPU.
    "las+packed+sticky": [
        {0: [0, 1], 1: [2]},
        {2: [2, 3], 3: [0]},
        {0: [0, 1], 2: [2, 3]},
        {0: [0, 1], 3: [2]},
    ],
    # Shortest remaining time (clairvoyant). t = 60: job 0 has 60 s left, jobs 2 and 3 have 120.
    "srtf+pal": [
        {0: [2, 3], 1: [0]},
        {0: [2, 3], 2: [0, 1]},
        {2: [2, 3], 3: [0]},
        {2: [2, 3], 3: [0]},
    ],
}


@pytest.mark.parametrize("policy", GANTT)
def test_every_round_of_the_gantt(policy: str) -> None:
    scenario = varigym.find_source("tiny").build(0)
    seen = [gangs(planned) for _, planned in steps(scenario, varigym.find_policy(policy))]
    assert seen == GANTT[policy]


def test_times_and_metrics_under_pal() -> None:
    (record,) = varigym.simulate("tiny", "fifo+pal")
    assert record.jobs.start_s.tolist() == [0, 0, 60, 120]
    assert record.jobs.finish_s.tolist() == [120, 60, 240, 240]
    assert record.jobs.run_slowdown.tolist() == [1.0, 1.0, pytest.approx(3.5 / 3), 1.0]
    assert record.jobs.preemptions.tolist() == [0, 0, 1, 0]
    assert varigym.metrics_of(record) == {
        "mean_jct_s": (120 + 60 + 210 + 180) / 4,
        "p50_jct_s": 150.0,
        "p99_jct_s": pytest.approx(180 + 0.97 * 30),
        "mean_queueing_s": (0 + 0 + 30 + 60) / 4,
        "makespan_s": 240.0,
        "utilization": 13 / 16,
        "mean_slowdown": (1 + 1 + 210 / 120 + 180 / 120) / 4,
        # GPUs demanded per round: 3, 5, 3, 3 of 4; job 0 sees 1 and 1.25, jobs 2 and 3 see 1.25, 1 and 1.
        "mean_ftf": pytest.approx((1 / 1.125 + 1 + (1.75 + 1.5) / (3.25 / 3)) / 4, rel=1e-15),
        "max_ftf": 1.75 / (3.25 / 3),
        "preemptions": 1.0,
        "unfinished": 0.0,
    }
