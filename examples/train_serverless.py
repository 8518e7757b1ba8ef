"""MaskablePPO (sb3-contrib) on a small overloaded serverless platform, in a few minutes on two cores.

It is compared on held-out worlds with random legal actions, with the smallest configuration and with ESG. TensorBoard
logs go to runs/.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
import varigym
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from varigym.agents.vec_env import ServerlessGpuVecEnv
from varigym.envs.serverless.options import ServerlessOptions
from varigym.registration import make_serverless_bank

SMALL = "overload:invokers=4:load=0.325"
"""A quarter of the platform and of the load."""


@dataclass(frozen=True)
class Args:
    """What to train, and for how long."""

    scenario: str = SMALL
    base: str = "min-config"
    """Scheduler whose opinion the observation shows."""
    steps: int = 200_000
    lanes: int = 16
    worlds: int = 32
    """Train worlds, and as many held-out ones to compare on."""
    window_s: float = 20.0
    seed: int = 0
    logs: Path = Path("runs/ppo-serverless")


def main(args: Args) -> dict[str, float]:
    """Return the mean hit rate on the held-out worlds: random, min-config, esg, learned."""
    torch.set_num_threads(1)
    base = varigym.find_scheduler(args.base)
    options = ServerlessOptions(drop=False)
    worlds = make_serverless_bank(args.scenario, "train", args.worlds, args.window_s)
    train = ServerlessGpuVecEnv(worlds, base, args.lanes, options)
    model = MaskablePPO(
        "MultiInputPolicy",
        train,
        n_steps=256,
        batch_size=512,
        n_epochs=4,
        gamma=0.99,
        gae_lambda=0.95,
        learning_rate=5e-4,
        ent_coef=0.003,
        policy_kwargs={"net_arch": [128, 128]},
        tensorboard_log=str(args.logs),
        seed=args.seed,
    )
    train.seed(args.seed)
    model.learn(args.steps)

    bank = make_serverless_bank(args.scenario, "held-out", args.worlds, args.window_s)
    test, lots = ServerlessGpuVecEnv(bank, base, args.lanes, options), np.random.default_rng(args.seed)
    rates = {
        "random": hit_rate(test, args.worlds, lambda _, masks: (masks * lots.random(masks.shape)).argmax(axis=1)),
        "learned": hit_rate(
            test, args.worlds, lambda seen, masks: model.predict(seen, action_masks=masks, deterministic=True)[0]
        ),
    }
    for name in ("min-config", "esg"):
        own = ServerlessGpuVecEnv(bank, varigym.find_scheduler(name), args.lanes, options)
        rates[name] = hit_rate(own, args.worlds, obey)
    for name, rate in rates.items():
        print(f"{name:12} hit rate {rate:.1%}")
    return rates


def obey(seen: dict[str, NDArray], masks: NDArray) -> NDArray:
    """What the base scheduler would do, as the observation shows it."""
    configs = masks.shape[1] - 2
    chosen = seen["configs"].reshape(len(masks), configs, -1)[:, :, -1]
    return np.where(chosen.any(axis=1), chosen.argmax(axis=1), configs)


def hit_rate(env: ServerlessGpuVecEnv, worlds: int, decide) -> float:
    """Mean over every world of the bank once, in batches of the environment's lanes."""
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
    return float(np.mean(found))


if __name__ == "__main__":
    main(tyro.cli(Args))
