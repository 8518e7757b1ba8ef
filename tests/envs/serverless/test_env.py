"""The decision process against the plain reference: masks, times, rewards, results; and what it never tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference.serverless_reference import ReferenceWorld
from serverless_small import CHAIN, MADE, WORLDS, Given, go_on, legal, make, same, small_world
from serverless_worlds import random_policy
from varigym import InputError
from varigym.envs.serverless.mdp.faces import ServerlessGpuEnv
from varigym.envs.serverless.mdp.observation import CONFIG_FEATURES, QUEUE_FEATURES
from varigym.envs.serverless.record import Record
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import ServerlessScenario

TICKS_PER_S, TICKS_PER_MS = 100_000, 100


class Reference(ReferenceWorld):
    """The reference whose actions may name the invoker: any that has room for a batch that waits."""

    target: int | None = None

    def __init__(self, scenario: ServerlessScenario, names_invoker: bool) -> None:
        super().__init__(scenario)
        self.targets = len(self.invokers) if names_invoker else 1
        self.names_invoker = names_invoker

    def mask(self) -> list[bool]:
        if not self.names_invoker:
            return self.legal()
        pairs = []
        for config in range(len(self.configs)):
            for target in range(self.targets):
                self.target = target
                pairs.append(self.invoker_for(config) is not None)
        self.target = None
        return [*pairs, True, True]

    def act(self, action: int) -> None:
        wait = len(self.configs) * self.targets
        serves = action < wait
        self.target = action % self.targets if serves and self.names_invoker else None
        self.take(action // self.targets if serves else action - wait + len(self.configs))
        self.target = None

    def _invoker(self, queue: Any, config: int) -> Any:
        if self.target is None:
            return super()._invoker(queue, config)
        batch, vcpu, vgpu = self.configs[config]
        invoker = self.invokers[self.target]
        fits = invoker.free_vcpu >= vcpu and invoker.free_vgpu >= vgpu
        return invoker if fits and batch <= len(queue.jobs) else None


def reference_usd(scenario: ServerlessScenario) -> float:
    """A request at the minimum configuration, averaged over the workflows."""
    per_h = scenario.prices.usd_per_vcpu_h * scenario.grid.vcpus[0]
    per_h += scenario.prices.usd_per_vgpu_h * scenario.grid.vgpus[0]
    ms = [sum(scenario.functions[f].latency_ms[0] for f in workflow.functions) for workflow in scenario.workflows]
    return sum(ms) / len(ms) / 1000 / 3600 * per_h


def expected_metrics(world: Reference, log: bool) -> dict[str, float]:
    counted = [request for request in world.requests if request.counted]
    served = [request for request in counted if request.finish is not None]
    cold = sum(task.cold and any(r.counted for r in task.requests) for task in world.log)
    found = {
        "hit_rate": sum(r.hit for r in counted) / len(counted),
        "served": len(served) / len(counted),
        "shed": sum(r.shed for r in counted) / len(counted),
        "unfinished": float(sum(not r.ended for r in counted)),
        "cold_starts": float(cold),
        "cost_usd_per_request": sum(r.cost_usd for r in counted) / len(served) if served else np.nan,
    }
    if log:
        ratio = [(r.finish - r.arrival) / (r.deadline - r.arrival) for r in served if r.finish is not None]
        found |= {f"p{p}_latency_over_slo": float(np.percentile(ratio, p)) if ratio else np.nan for p in (50, 99)}
    return found


def assert_record(record: Record, world: Reference) -> None:
    counted = [request for request in world.requests if request.counted]
    requests, tasks = record.requests, record.tasks
    finish = [np.nan if r.finish is None else r.finish / TICKS_PER_MS for r in counted]
    np.testing.assert_array_equal(requests.finish_ms, finish)
    assert requests.hit.tolist() == [r.hit for r in counted]
    assert requests.shed.tolist() == [r.shed for r in counted]
    assert requests.cold_starts.tolist() == [r.cold_starts for r in counted]
    np.testing.assert_allclose(requests.cost_usd, [r.cost_usd for r in counted], rtol=1e-12)
    assert not (requests.hit & requests.shed).any()
    told = zip(tasks.queue, tasks.config, tasks.invoker, tasks.start_ms, tasks.end_ms, tasks.members, strict=True)
    assert [(q, c, i, s, e, m[m >= 0].tolist()) for q, c, i, s, e, m in told] == [
        (t.queue, t.config, t.invoker, t.start / TICKS_PER_MS, t.end / TICKS_PER_MS, list(t.members)) for t in world.log
    ]


@pytest.mark.parametrize("number", range(len(MADE)), ids=["log", "log, invoker", "totals"])
@pytest.mark.parametrize("index", range(WORLDS))
def test_episodes_are_the_references(number: int, index: int) -> None:
    env = make(number)
    scenario, options = env.kind.bank.scenarios[index], env.kind.options
    world, policy = Reference(scenario, options.choose_invoker), random_policy(100 * number + index)
    weight = options.price_weight / reference_usd(env.kind.bank.scenarios[0])
    _, info = env.reset(options={"world": index})
    begins_ms, infos, over = 1000 * info["time_s"], [], False
    while not over:
        queue = world.visit()
        assert queue is not None
        assert info["time_s"] == pytest.approx(world.now / TICKS_PER_S, rel=1e-14)
        mask = world.mask()
        assert env.action_masks().tolist() == mask
        action = policy(len(infos), mask)
        world.act(action)
        _, reward, terminated, truncated, info = env.step(action)
        terms = info["reward_terms"]
        assert info["reward_raw"] == reward == pytest.approx(terms["hits"] - weight * terms["cost_usd"], rel=1e-12)
        assert (terms["hits"], info["shed"]) >= (0, 0)
        assert not info["illegal"]
        infos.append(info)
        over = terminated or truncated
    assert world.visit() is None
    assert (terminated, truncated) == (not world.truncated, world.truncated)
    assert info["time_s"] == pytest.approx(world.now / TICKS_PER_S, rel=1e-14)
    assert begins_ms + sum(told["elapsed_ms"] for told in infos) == pytest.approx(1000 * info["time_s"], abs=1e-6)
    counted = int(scenario.requests.counted.sum())
    metrics, hits = info["metrics"], sum(told["reward_terms"]["hits"] for told in infos)
    assert hits / counted == metrics["hit_rate"]
    assert sum(told["shed"] for told in infos) == round(metrics["shed"] * counted)
    spent = sum(told["reward_terms"]["cost_usd"] for told in infos)
    assert spent == pytest.approx(sum(r.cost_usd for r in world.requests if r.counted), rel=1e-9, abs=1e-15)
    assert np.isnan(metrics["cost_usd_per_request"]) or metrics["cost_usd_per_request"] == pytest.approx(
        spent / round(metrics["served"] * counted)
    )
    for name, value in expected_metrics(world, options.log).items():
        assert metrics[name] == pytest.approx(value, rel=1e-9, nan_ok=True), name
    if options.log:
        assert_record(env.record(), world)  # type: ignore[arg-type]


# --- masks, by doing


@pytest.mark.parametrize("number", [1, 2])
def test_masks_say_what_is_accepted(number: int) -> None:
    env, lenient = make(number, illegal_action="error"), make(number)
    rng = np.random.default_rng(0)
    for seed in range(2):
        env.reset(seed=seed)
        for _ in range(25):
            before, mask = env.get_state(), env.action_masks()
            wait = len(mask) - 2
            lenient.set_state(copied(before, lenient))
            waited = lenient.step(wait)
            for action in (-1, *range(len(mask)), len(mask)):
                env.set_state(before)
                if 0 <= action < len(mask) and mask[action]:
                    assert not env.step(action)[-1]["illegal"]
                    continue
                with pytest.raises(InputError, match="legal"):
                    env.step(action)
                assert same(env.get_state(), before)
                lenient.set_state(copied(before, lenient))
                told = lenient.step(action)
                assert told[-1].pop("illegal")
                told[-1].get("metrics", {}).pop("illegal_actions", None)
                assert same(told, (*waited[:-1], told_of(waited[-1])))
            env.set_state(before)
            *_, terminated, truncated, _ = env.step(int(rng.choice(legal(env))))
            if terminated or truncated:
                break


def told_of(info: dict[str, Any]) -> dict[str, Any]:
    """What a step tells, without its count of illegal actions."""
    told = {name: value for name, value in info.items() if name != "illegal"}
    if "metrics" in told:
        told["metrics"] = {name: value for name, value in told["metrics"].items() if name != "illegal_actions"}
    return told


def copied(state: dict[str, Any], env: ServerlessGpuEnv) -> dict[str, Any]:
    """A snapshot as `env` would have made it: how illegal actions are presented shapes no state."""
    assert state["of"] == env.get_state()["of"]
    return state


def test_an_illegal_action_costs_the_penalty_and_counts_as_wait() -> None:
    env, other = make(illegal_action="penalty", illegal_penalty=3.0, reward_scale=2.0), make()
    env.reset(seed=0)
    other.reset(seed=0)
    while env.action_masks().all():
        for each in (env, other):
            each.step(0)
    bad = int(np.flatnonzero(~env.action_masks())[0])
    obs, reward, *_, info = env.step(bad)
    waited, plain, *_ = other.step(len(env.action_masks()) - 2)
    assert info["illegal"]
    assert reward == pytest.approx(plain / 2 - 3.0)
    assert info["reward_raw"] == plain
    assert same(obs, waited)


# --- nobody profits from not working


def only(env: ServerlessGpuEnv, index: int, action: int) -> tuple[list[float], dict[str, Any], bool]:
    """(rewards, last info, terminated) where every decision is the same."""
    env.reset(options={"world": index})
    rewards, over = [], False
    while not over:
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards, info, terminated


@pytest.mark.parametrize("number", [0, 2])
def test_waiting_dropping_and_illegal_actions_earn_nothing(number: int) -> None:
    env, strict = make(number), make(number, illegal_action="penalty")
    wait = len(env.action_masks()) - 2
    for index in range(WORLDS):
        scenario = env.kind.bank.scenarios[index]
        counted = int(scenario.requests.counted.sum())
        rewards, info, terminated = only(env, index, wait)
        assert set(rewards) == {0.0}
        assert info["metrics"]["hit_rate"] == info["metrics"]["shed"] == 0
        assert info["metrics"]["unfinished"] == counted
        assert terminated  # nothing is left that could happen
        assert info["time_s"] <= scenario.requests.arrival_ms[-1] / 1000 + 1
        rewards, info, terminated = only(env, index, wait + 1)
        assert set(rewards) == {0.0}
        assert info["metrics"]["hit_rate"] == info["metrics"]["unfinished"] == 0
        assert info["metrics"]["shed"] == 1
        assert terminated
        rewards, info, _ = only(strict, index, wait + 2)
        assert set(rewards) == {-1.0}
        assert info["metrics"]["hit_rate"] == 0


def test_a_window_is_truncated_at_its_end() -> None:
    """Waiting for a task that is still running at the horizon."""
    scenario = small_world(0, CHAIN)
    requests = replace(scenario.requests, noise=np.full_like(scenario.requests.noise, 1e3))
    short = replace(scenario, requests=requests, horizon_ms=2000.0, window_ms=(0.0, 2000.0))
    env = make(2, scenario=Given((short, *(small_world(seed, CHAIN) for seed in range(1, WORLDS)))))
    env.reset(options={"world": 0})
    wait, over = len(env.action_masks()) - 2, False
    env.step(0)
    while not over:
        *_, terminated, truncated, info = env.step(wait)
        over = terminated or truncated
    assert (terminated, truncated) == (False, True)
    assert info["time_s"] == pytest.approx(short.horizon_ms / 1000, rel=1e-14)
    assert info["metrics"]["unfinished"] > 0


# --- nothing of the future


def shown(env: ServerlessGpuEnv, index: int, actions: list[int] | None = None) -> list[Any]:
    """(time, observation) of every step in world `index`, under given actions or random ones that are added."""
    observation, info = env.reset(options={"world": index})
    rng, over, found, number = np.random.default_rng(5), False, [(info["time_s"], observation)], 0
    while not over and (actions is None or number < len(actions)):
        action = int(rng.choice(legal(env))) if actions is None else actions[number]
        observation, _, terminated, truncated, info = env.step(action)
        found.append((info["time_s"], observation, action))
        over, number = terminated or truncated, number + 1
    return found


def test_no_observation_tells_of_requests_or_noise_to_come() -> None:
    world, rng = small_world(1), np.random.default_rng(0)
    requests = world.requests
    half_ms = float(requests.arrival_ms[14])
    known = int((requests.arrival_ms <= half_ms).sum())
    later_ms = half_ms + np.sort(rng.integers(1, 300, 15)) * 1.0
    arrival_ms = np.concatenate([requests.arrival_ms[:known], later_ms])
    more = (len(arrival_ms), 4)
    noise = np.concatenate([requests.noise[:known], rng.uniform(0.2, 5, more).astype(np.float32)[known:]])
    workflow = np.concatenate([requests.workflow[:known], 1 - requests.workflow[:15]]).astype(np.int32)
    window_ms = (0.0, world.horizon_ms + 4000)
    whole = replace(
        world,
        horizon_ms=window_ms[1],
        window_ms=window_ms,
        requests=make_requests(requests.arrival_ms, requests.workflow, window_ms, requests.noise),
    )
    other = replace(whole, requests=make_requests(arrival_ms, workflow, window_ms, noise), horizon_ms=window_ms[1] + 50)
    slower = replace(
        whole, requests=make_requests(requests.arrival_ms, requests.workflow, window_ms, 3 * requests.noise)
    )
    env = make(0, scenario=Given((whole, other, slower, *make(0).kind.bank.scenarios[3:])))
    mine = shown(env, 0)
    first_end_s = env.record().tasks.end_ms.min() / 1000  # type: ignore[union-attr]
    actions = [step[2] for step in mine[1:]]
    for index, until_s, least in ((1, half_ms / 1000, 20), (2, first_end_s, 3)):
        equal = 0
        now = sum(step[0] <= until_s - 1e-9 for step in mine)
        for own, told in zip(mine[:now], shown(env, index, actions[: now - 1]), strict=True):
            assert own[0] == told[0]
            assert same(own[1], told[1])
            equal += 1
        assert equal >= least


@pytest.mark.parametrize("number", range(len(MADE)))
def test_observations_lie_in_their_space_and_masks_agree(number: int) -> None:
    env = make(number)
    for index in range(WORLDS):
        observation, info = env.reset(options={"world": index})
        seen = [(observation, info), *((s[1], s[-1]) for s in go_on(env, np.random.default_rng(index)))]
        for observation, info in seen:
            assert env.observation_space.contains(observation)
            assert all(np.isfinite(part).all() and np.abs(part).max() <= 5 for part in observation.values())
            assert same(info["action_mask"], observation["action_mask"])
        assert not seen[-1][0]["action_mask"].any()


@pytest.mark.parametrize("number", range(len(MADE)))
def test_the_base_s_preferences_are_told_apart(number: int) -> None:
    env = make(number)
    differ = 0
    for index in range(3):
        env.reset(options={"world": index})
        for _, observation, *_ in go_on(env, np.random.default_rng(index)):
            rows = observation["configs"].reshape(-1, len(CONFIG_FEATURES))
            named = dict(zip(CONFIG_FEATURES, rows.T, strict=True))
            known = named["base scheduler has a score"] == 1
            score = named["base scheduler's score less its best"]
            assert not known.any() or score[known].max() == 0
            assert (score[~known] == -2).all()
            differ += len(set(score[known].tolist())) > 1
            if env.action_masks().any():
                chosen = named["base scheduler would choose it"]
                assert chosen.sum() == 1 - observation["queue"][QUEUE_FEATURES.index("base scheduler would wait")]
                dispatched, placed = named[CONFIG_FEATURES[0]] == 1, legal_rows(env)
                assert same(dispatched & placed, dispatched)
                assert env.kind.options.choose_invoker or same(dispatched, placed)
    assert differ > 20


def legal_rows(env: ServerlessGpuEnv) -> Any:
    """Configurations that the mask allows, on whichever invoker."""
    mask = env.action_masks()[:-2]
    return mask if not env.kind.options.choose_invoker else mask.reshape(-1, env.kind.process.targets).any(axis=1)
