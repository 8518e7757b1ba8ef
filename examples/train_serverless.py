"""MaskablePPO (sb3-contrib) on a small overloaded serverless platform, in a few minutes on two cores.

The learner is compared on held-out worlds with random legal actions, with the smallest configuration and with ESG.
TensorBoard logs go to runs/.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
import varigym
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from varigym.agents.recipes.time_baseline import TimeBaseline
from varigym.agents.serverless.score_policy import ScorePolicy, score_kwargs
from varigym.agents.vec_env import ServerlessGpuVecEnv
from varigym.bench.grid.intervals import difference_interval, mean_interval
from varigym.envs.serverless.mdp.options import ServerlessOptions
from varigym.registration import make_serverless_bank

REWARD_SCALE = 5.0
"""It makes returns about 1. With larger ones the critic's gradient dominates, as it is clipped with the actor's."""
SMALL = "overload:invokers=4:load=0.325"
"""A quarter of the platform and of the load."""


@dataclass(frozen=True)
class Args:
    """What to train, and for how long."""

    scenario: str = SMALL
    base: str = "min-config"
    """Scheduler whose preferences the observation shows."""
    steps: int = 400_000
    """Number of decisions that each network learns from."""
    lanes: int = 64
    worlds: int = 32
    """Number of train worlds, and of worlds for the comparison."""
    bank: str = "held-out"
    """Bank of the worlds for the comparison."""
    window_s: float = 20.0
    learning_rate: float = 1.5e-3
    gamma: float = 0.99
    entropy: float = 0.001
    epochs: int = 4
    width: int = 32
    """Number of hidden units."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of the networks to train, one after the other."""
    logs: Path = Path("runs/ppo-serverless")


def main(args: Args) -> dict[str, float]:
    """Return the mean hit rate on the held-out worlds: random, min-config, esg, learned (mean over the seeds)."""
    torch.set_num_threads(1)  # more threads are slower on small networks
    base, options = varigym.find_scheduler(args.base), ServerlessOptions(drop=False)
    bank = make_serverless_bank(args.scenario, args.bank, args.worlds, args.window_s)
    together, lots = min(args.lanes, args.worlds), np.random.default_rng(0)
    test = ServerlessGpuVecEnv(bank, base, together, options)
    rates = {"random": hit_rates(test, args.worlds, lambda _, masks: (masks * lots.random(masks.shape)).argmax(axis=1))}
    for name in ("min-config", "esg"):
        own = ServerlessGpuVecEnv(bank, varigym.find_scheduler(name), together, options)
        rates[name] = hit_rates(own, args.worlds, obey)
    learned = []
    for seed in args.seeds:
        model = train(args, seed)
        # Actions are drawn as in training: many configurations are almost equally good, so the most likely one alone
        # does not represent what was learned.
        found = hit_rates(test, args.worlds, lambda seen, masks, m=model: m.predict(seen, action_masks=masks)[0])
        learned.append(found)
        ahead = [f"{shown(difference_interval(found, rates[name]))} less {name}'s" for name in ("min-config", "random")]
        print(f"seed {seed}: {shown(mean_interval(found))}, {', '.join(ahead)}", flush=True)
    rates["learned"] = np.mean(learned, axis=0)
    for name, rate in rates.items():
        print(f"{name:12} hit rate {shown(mean_interval(rate))}")
    return {name: float(rate.mean()) for name, rate in rates.items()}


def train(args: Args, seed: int) -> MaskablePPO:
    """Train a policy on `args.steps` decisions."""
    worlds = make_serverless_bank(args.scenario, "train", args.worlds, args.window_s)
    options = ServerlessOptions(drop=False, reward_scale=REWARD_SCALE)
    lanes = ServerlessGpuVecEnv(worlds, varigym.find_scheduler(args.base), args.lanes, options)
    model = MaskablePPO(
        ScorePolicy,
        TimeBaseline(lanes),
        n_steps=64,
        batch_size=min(512, 64 * args.lanes),
        n_epochs=args.epochs,
        gamma=args.gamma,
        gae_lambda=0.95,
        learning_rate=lambda left: args.learning_rate * left,
        ent_coef=args.entropy,
        policy_kwargs=score_kwargs(lanes.batch.kind.process, args.width),
        tensorboard_log=str(args.logs),
        seed=seed,
    )
    model.get_env().seed(seed)
    start = time.perf_counter()
    model.learn(args.steps)
    spent = time.perf_counter() - start
    print(
        f"seed {seed}: {model.num_timesteps} decisions in {spent:.0f} s, {model.num_timesteps / spent:.0f} per second"
    )
    return model


def obey(seen: dict[str, NDArray], masks: NDArray) -> NDArray:
    """Return the base scheduler's decision, which the observation shows."""
    configs = masks.shape[1] - 2
    chosen = seen["configs"].reshape(len(masks), configs, -1)[:, :, -1]
    return np.where(chosen.any(axis=1), chosen.argmax(axis=1), configs)


def hit_rates(env: ServerlessGpuVecEnv, worlds: int, decide) -> NDArray[np.float64]:
    """Return the hit rate of one episode in every world of the bank, in batches of the environment's lanes."""
    found: list[float] = []
    for first in range(0, worlds, env.num_envs):
        asked = [(first + i) % worlds for i in range(env.num_envs)]
        seen, rates = env.batch.reset(seed=0, options={"worlds": asked})[0], {}
        while len(rates) < env.num_envs:
            seen, _, _, infos = env.step(decide(seen, env.batch.action_masks()))
            for lane, info in enumerate(infos):
                if "metrics" in info:
                    rates.setdefault(lane, info["metrics"]["hit_rate"])
        found += [rates[i] for i in range(min(env.num_envs, worlds - first))]
    return np.array(found)


def shown(interval) -> str:
    """Format a share in per cent, with its interval over the worlds."""
    return f"{100 * interval.value:.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


if __name__ == "__main__":
    main(tyro.cli(Args))
