"""Masked behaviour cloning of PAL on sia-64, in about a minute: demonstrate, clone, compare with the teacher."""

from dataclasses import dataclass
from itertools import chain

import gymnasium as gym
import numpy as np
import tyro
import varigym  # registers the environments
from varigym.agents.cluster.demonstrations import demonstrate
from varigym.agents.recipes.bc import CloneOptions, act, agreement, clone, collect


@dataclass(frozen=True)
class Args:
    """What to clone, and from how much data."""

    teacher: str = "fifo+pal"
    scenario: str = "sia-64"
    episodes: int = 10
    """Number of train worlds on which the teacher demonstrates."""
    held_out: int = 4
    """Number of held-out worlds for the comparison."""
    epochs: int = 6


def main(args: Args) -> tuple[float, float]:
    """Return (agreement on held-out states with a choice, mean ratio of mean JCT to the teacher's)."""
    expert = varigym.find_policy(args.teacher)

    def make(bank: str, worlds: int):
        made = gym.make("varigym/GpuCluster-v0", scenario=args.scenario, base=args.teacher, bank=bank, worlds=worlds)
        return made.unwrapped

    train, test = make("train", args.episodes), make("held-out", args.held_out)
    data = collect(chain.from_iterable(demonstrate(train, expert, seed=0, world=w) for w in range(args.episodes)))
    print(f"{len(data)} micro-steps of {args.teacher}")
    network = clone(train, data, CloneOptions(epochs=args.epochs), lambda e, loss: print(f"epoch {e}: loss {loss:.4f}"))

    ratios, shown = [], []
    for world in range(args.held_out):
        shown.extend(demonstrate(test, expert, seed=0, world=world))
        teacher_s = test.record().jobs.jct_s.mean()
        observation, _ = test.reset(seed=0, options={"world": world})
        over = False
        while not over:
            observation, _, terminated, truncated, _ = test.step(act(network, observation))
            over = terminated or truncated
        ratios.append(test.record().jobs.jct_s.mean() / teacher_s)
    found = agreement(network, test, collect(shown))
    print(f"agreement on {found.states} held-out states with a choice: {found.overall:.2%}, by action {found.by_type}")
    print("mean JCT over the teacher's, per held-out world:", ", ".join(f"{ratio:.4f}" for ratio in ratios))
    return found.overall, float(np.mean(ratios))


if __name__ == "__main__":
    main(tyro.cli(Args))
