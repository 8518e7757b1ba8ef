"""A plug-in: a third kind of world. Someone walks a way of some length, by steps of 1 or 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import varigym
from varigym.bench.grid.columns import Mean, Ratio
from varigym.bench.grid.layout import Layout, Listing
from varigym.bench.grid.suite import Suite
from varigym.envs.faces.gym import SchedulingEnv
from varigym.envs.faces.vector import SchedulingVectorEnv
from varigym.envs.options import IllegalAction
from varigym.envs.process import Column, EveryActionTakesTime, Step
from varigym.scenarios.errors import unknown_name
from varigym.scenarios.registry import Registry
from varigym.scenarios.seeds import rng_of

# --- scenarios: what a world is


@dataclass(frozen=True)
class Ground:
    least: int = 5
    spread: int = 10


@dataclass(frozen=True)
class WalkScenario:
    name: str
    length: int

    @property
    def data_hash(self) -> str:
        return f"{self.length:016x}"


@dataclass(frozen=True)
class WalkSource:
    name: str
    ground: Ground = Ground()

    def build(self, seed: int) -> WalkScenario:
        return WalkScenario(self.name, self.ground.least + int(rng_of(seed, 99).integers(self.ground.spread)))

    def history(self) -> None:
        return


# --- envs: how it moves, and its Gymnasium environment


@dataclass(frozen=True)
class Walk(EveryActionTakesTime):
    actions: int = 3
    sizes = {"left": 1}  # noqa: RUF012
    columns: tuple[Column, ...] = (Column("walked", int),)

    def reset(self, world: Any, data: Any, key: jax.Array) -> Any:
        return jnp.int32(0)

    def step(self, world: Any, data: Any, state: Any, action: Any, mask: Any) -> Any:
        illegal = ~mask[jnp.clip(action, 0, 2)] | (action < 0) | (action > 2)
        way = jnp.where(illegal, jnp.int32(1), action)
        state = state + way
        return state, Step(jnp.float32(-1), state >= world, jnp.bool_(False), illegal, (way,))

    def observe(self, world: Any, data: Any, state: Any) -> Any:
        left = (world - state).astype(jnp.float32)
        return {"left": left[None] / 32}, jnp.array([False, True, True])

    def clock(self, world: Any, state: Any) -> Any:
        return state.astype(jnp.float32), jnp.bool_(False)

    def is_over(self, world: Any, state: Any) -> Any:
        return state >= world


@dataclass(frozen=True)
class WalkBank:
    scenarios: tuple[WalkScenario, ...]

    @property
    def worlds(self) -> jax.Array:
        return jnp.array([scenario.length for scenario in self.scenarios], jnp.int32)

    def __len__(self) -> int:
        return len(self.scenarios)


@dataclass(frozen=True)
class WalkOptions:
    illegal_action: IllegalAction = IllegalAction.NOOP
    illegal_penalty: float = 0.0


@dataclass(frozen=True)
class WalkRecord:
    scenario: str
    policy: str
    seed: int
    data_hash: str
    length: int
    steps: int


METRICS: Registry[varigym.Metric[Any]] = Registry.of(
    "metric",
    varigym.Metric("steps", "1", varigym.Better.LOWER, "steps to the end", lambda record: float(record.steps)),
    varigym.Metric("unfinished", "1", varigym.Better.LOWER, "walks cut off", lambda record: 0.0),
)


@dataclass(frozen=True)
class WalkKind:
    bank: WalkBank
    options: WalkOptions = WalkOptions()
    process: Walk = Walk()
    data: tuple[()] = ()
    reward_scale: float = 1.0
    fingerprint: str = "walk"
    advice: str = "walk less"
    idle: str = "WALK"

    def describe(self, action: int) -> str:
        return ("STAY", "WALK", "RUN")[action]

    def record(self, state: Any, world: int, seed: int) -> WalkRecord:
        scenario = self.bank.scenarios[world]
        return WalkRecord(scenario.name, "", seed, scenario.data_hash, scenario.length, int(state))

    def metrics(self, record: WalkRecord) -> dict[str, float]:
        return {metric.name: metric.of(record) for metric in METRICS.values()}

    def render(self, state: Any, world: int) -> str:
        return "." * int(state) + "|"


def _kind(worlds: int, options: dict[str, Any]) -> WalkKind:
    return WalkKind(WalkBank(tuple(WalkSource("walk").build(seed) for seed in range(worlds))), WalkOptions(**options))


def make_walk(worlds: int = 4, render_mode: str | None = None, **options: Any) -> SchedulingEnv[WalkKind]:
    return SchedulingEnv(_kind(worlds, options), render_mode)


def make_walks(
    num_envs: int = 1, worlds: int = 4, autoreset_mode: Any = "NextStep", max_episode_steps: Any = None, **options: Any
) -> SchedulingVectorEnv[WalkKind]:
    return SchedulingVectorEnv(_kind(worlds, options), num_envs, autoreset_mode, max_episode_steps)


# --- policies and bench: who decides, and what came out


@dataclass(frozen=True)
class Pace:
    name: str
    way: int


PACES = {"stroll": Pace("stroll", 1), "run": Pace("run", 2)}


class WalkBench:
    """See `bench.grid.world_kinds.BenchKind`."""

    name, about = "walk", "a walk"
    scenario, record, metrics = WalkScenario, WalkRecord, METRICS
    usual_policy, usual_baseline, experts = "stroll", "stroll", ("run",)
    policy_names = ", ".join(PACES)
    suites = {"walks": Suite("both paces", ("walk", "walk:least=20"), tuple(PACES), "stroll")}  # noqa: RUF012
    layout = Layout(
        columns=(Mean("steps", "steps", bounds=True), Ratio("ratio", "steps")),
        headline=2,
        compared=(Ratio("steps ratio", "steps"),),
        summary="Geometric mean",
        along_knobs=(Ratio("steps ratio", "steps"),),
        judged=(Ratio("steps over {expert}'s", "steps"),),
        known=tuple(METRICS),
    )

    @property
    def listings(self) -> list[Listing]:
        rows = tuple((pace.name, f"steps of {pace.way}") for pace in PACES.values())
        return [Listing("Paces of a walk", ("name", "about"), rows)]

    def knows_policy(self, name: str) -> bool:
        return name in PACES

    def find_policy(self, name: str) -> Pace:
        if name not in PACES:
            raise unknown_name("pace", name, PACES)
        return PACES[name]

    def is_policy(self, policy: object) -> bool:
        return isinstance(policy, Pace)

    def baseline_of(self, baseline: str, policy: str) -> str:
        return baseline

    def bank(self, source: Any, worlds: Sequence[WalkScenario]) -> WalkBank:
        return WalkBank(tuple(worlds))

    def run(self, source: Any, policy: Pace, seeds: Sequence[int], bank: WalkBank) -> list[WalkRecord]:
        steps = np.ceil(np.asarray(bank.worlds) / policy.way).astype(int).tolist()
        return [
            WalkRecord(world.name, policy.name, seed, world.data_hash, world.length, count)
            for world, seed, count in zip(bank.scenarios, seeds, steps, strict=True)
        ]

    def details(self, record: WalkRecord) -> dict[str, float]:
        return {}

    def heading(self, record: WalkRecord) -> str:
        return f"a way of {record.length}"

    def unfinished_note(self, count: int) -> str:
        return ""

    def rows(self, record: WalkRecord) -> str:
        return f"length,steps\n{record.length},{record.steps}\n"

    def more_tables(self, results: Any) -> list[Any]:
        return []

    def figures(self, results: Any) -> list[tuple[str, str]]:
        return []


varigym.add_world(WalkBench())
varigym.add_scenario("walk", varigym.ScenarioEntry("walk", WalkSource, "a way of 5 to 14 steps"))
gymnasium.register(
    "toy/Walk-v0",
    entry_point=make_walk,
    vector_entry_point=make_walks,  # type: ignore[arg-type]
    disable_env_checker=True,
    order_enforce=False,
)
