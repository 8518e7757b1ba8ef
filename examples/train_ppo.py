"""MaskablePPO (sb3-contrib) on a 16-GPU cluster, in about a minute on two cores; TensorBoard logs go to runs/.

The learner chooses which jobs run, and PAL places them. It is compared on held-out worlds with random legal actions
and with the base policy (REST at every decision).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
import varigym
from sb3_contrib import MaskablePPO
from varigym.agents.evaluation import Decide, metric_by_world
from varigym.agents.vec_env import GpuClusterVecEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from varigym.registration import make_bank


@dataclass(frozen=True)
class Args:
    """What to train, and for how long."""

    scenario: str = "sia-64:nodes=4:jobs=40:span_h=3"
    base: str = "las-2d+pal+backfill"
    steps: int = 200_000
    lanes: int = 16
    worlds: int = 64
    """Number of train worlds, and of held-out worlds for the comparison."""
    seed: int = 0
    logs: Path = Path("runs/ppo")


def main(args: Args) -> dict[str, float]:
    """Return mean JCT in seconds on the held-out worlds: random, base, learned."""
    torch.set_num_threads(1)
    options = EnvOptions(action_mode="select", window=16)
    base = varigym.find_policy(args.base)
    train = GpuClusterVecEnv(make_bank(args.scenario, "train", args.worlds), base, args.lanes, options)
    model = MaskablePPO(
        "MultiInputPolicy",
        train,
        n_steps=256,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.98,
        learning_rate=5e-4,
        ent_coef=0.002,
        policy_kwargs={"net_arch": [128, 128]},
        tensorboard_log=str(args.logs),
        seed=args.seed,
    )
    train.seed(args.seed)
    model.learn(args.steps)

    test = GpuClusterVecEnv(make_bank(args.scenario, "held-out", args.worlds), base, args.lanes, options)
    lots, rest = np.random.default_rng(args.seed), test.batch.single_action_space.n - 2
    deciders: dict[str, Decide] = {
        "random": lambda _, masks: np.array([lots.choice(np.flatnonzero(mask)) for mask in masks]),
        "base": lambda _, masks: np.full(len(masks), rest),
        "learned": lambda seen, masks: model.predict(seen, action_masks=masks, deterministic=True)[0],
    }
    means = {name: float(metric_by_world(test, "mean_jct_s", decide).mean()) for name, decide in deciders.items()}
    for name, mean in means.items():
        print(f"{name:8} mean JCT {mean:10,.0f} s, {mean / means['base']:.3f} of the base policy's")
    return means


if __name__ == "__main__":
    main(tyro.cli(Args))
