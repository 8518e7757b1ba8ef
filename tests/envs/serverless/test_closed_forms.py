"""A platform that holds one task at a time is a single-server queue: Lindley's recursion, M/M/1 and M/D/1."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from varigym.envs.serverless.bank import Bank, make_bank
from varigym.envs.serverless.episode import FIRST_PLACES, run_episodes
from varigym.envs.serverless.record import Record, make_record
from varigym.policies.serverless.catalog import find_scheduler
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import TRANSFERS, ServerlessScenario
from varigym.scenarios.serverless.workflows import Function, Workflow

REQUESTS, SEEDS = 4000, 5
SERVICE_MS, LOAD = 100.0, 0.5
GRID = ConfigGrid((1, 4), (1,), (1,))
SIGMAS = 3.0
"""Of the spread of an average over so many requests, which is known in closed form too."""


def single_server(seed: int, random_service: bool, load: float = LOAD) -> ServerlessScenario:
    """Poisson arrivals; run times are exponential or constant; an SLO of twice the mean run time."""
    rng = np.random.default_rng([seed, random_service])
    arrival_ms = np.cumsum(rng.exponential(SERVICE_MS / load, REQUESTS))
    factor = rng.exponential(1.0, (REQUESTS, 1)) if random_service else np.ones((REQUESTS, 1))
    horizon_ms = float(arrival_ms[-1]) + 1e6
    return ServerlessScenario(
        name="single server",
        grid=GRID,
        functions=(Function("serve", np.array([SERVICE_MS, 4 * SERVICE_MS]), 0.0, 0.0),),
        workflows=(Workflow("single", (0,), (), 2 * SERVICE_MS),),
        vcpu=np.array([1], np.int32),
        vgpu=np.array([1], np.int32),
        requests=make_requests(arrival_ms, np.zeros(REQUESTS, np.int32), (0.0, horizon_ms), factor),
        horizon_ms=horizon_ms,
        window_ms=(0.0, horizon_ms),
        transfer=TRANSFERS["none"],
        warm=1,
    )


def records(bank: Bank) -> list[Record]:
    scheduler = find_scheduler("min-config")
    data, seeds = scheduler.bind(bank), range(len(bank))
    outcomes = run_episodes(bank, scheduler.program, data, seeds, bank.worlds)
    return [make_record(world, "min-config", 0, found) for world, found in zip(bank.scenarios, outcomes, strict=True)]


@pytest.fixture(scope="module")
def played() -> list[Record]:
    """Exponential run times, then constant ones."""
    return records(make_bank([single_server(seed, kind) for kind in (True, False) for seed in range(SEEDS)]))


def in_ticks(ms: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(ms * 100).astype(np.int64)


def assert_lindley(record: Record) -> None:
    """Every task starts at its request's arrival or when the one before it ends, whichever is later."""
    requests, tasks = record.requests, record.tasks
    assert tasks.members[:, 0].tolist() == list(range(REQUESTS))
    arrival, billed = in_ticks(requests.arrival_ms), in_ticks(tasks.billed_ms)
    end = 0
    for request, start, finish in zip(range(REQUESTS), in_ticks(tasks.start_ms), in_ticks(tasks.end_ms), strict=True):
        begin = max(int(arrival[request]), end)
        end = begin + int(billed[request])
        assert (start, finish) == (begin, end)
    assert (in_ticks(requests.finish_ms) == in_ticks(tasks.end_ms)).all()


def waits_ms(played: list[Record]) -> NDArray[np.float64]:
    return np.concatenate([record.tasks.start_ms - record.requests.arrival_ms for record in played])


def test_every_wait_is_lindleys(played: list[Record]) -> None:
    for record in played:
        assert_lindley(record)


def test_exponential_run_times_wait_as_long_as_mm1_says(played: list[Record]) -> None:
    """W = rho s / (1 - rho); how much an average of n waits strays is Daley's (1968), for large n."""
    waits = waits_ms(played[:SEEDS])
    rho = LOAD
    mean_ms = rho * SERVICE_MS / (1 - rho)
    spread = SERVICE_MS * np.sqrt(rho * (2 + 5 * rho - 4 * rho**2 + rho**3) / (1 - rho) ** 4 / len(waits))
    assert waits.mean() == pytest.approx(mean_ms, abs=SIGMAS * spread)
    assert spread < 0.05 * mean_ms
    assert (waits > 0).mean() == pytest.approx(rho, abs=0.02)


def test_hit_rate_and_cost_are_those_of_mm1(played: list[Record]) -> None:
    """Latency is exponential with mean s / (1 - rho), so that exp(-(1 - rho) SLO / s) of the requests are late."""
    of = played[:SEEDS]
    late = np.exp(-(1 - LOAD) * 2)
    assert np.mean([record.requests.hit.mean() for record in of]) == pytest.approx(1 - late, abs=0.02)
    usd = SERVICE_MS / 1000 * (0.034 + 0.67) / 3600
    assert np.mean([record.requests.cost_usd.mean() for record in of]) == pytest.approx(usd, rel=0.02)


def test_constant_run_times_wait_half_as_long(played: list[Record]) -> None:
    """Pollaczek and Khinchine: W = rho s / (2 (1 - rho))."""
    waits = waits_ms(played[SEEDS:])
    assert waits.mean() == pytest.approx(LOAD * SERVICE_MS / (2 * (1 - LOAD)), rel=0.05)
    assert np.unique(np.concatenate([in_ticks(r.tasks.billed_ms) for r in played[SEEDS:]])).tolist() == [10_000]


@pytest.mark.slow
def test_queues_longer_than_their_places_are_lindleys_too() -> None:
    (record,) = records(make_bank([single_server(9, True, load=1.5)]))
    waiting = np.searchsorted(record.requests.arrival_ms, record.tasks.start_ms) - np.arange(REQUESTS)
    assert waiting.max() > 4 * FIRST_PLACES
    assert_lindley(record)
