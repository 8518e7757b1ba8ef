"""Masked behaviour cloning of ESG on the serverless platform: collect demonstrations, clone, compare with the teacher.

The observation shows features and the preferences of a base scheduler, by default the one that always uses the smallest
configuration. So the network has to learn what the teacher would do.
"""

from dataclasses import dataclass
from itertools import chain, islice

import gymnasium as gym
import numpy as np
import tyro
import varigym  # registers the environments
from varigym.agents.recipes.bc import CloneOptions, act, agreement, clone, collect
from varigym.agents.serverless.demonstrations import demonstrate_visits
from varigym.bench.grid.intervals import difference_interval, ratio_interval


@dataclass(frozen=True)
class Args:
    """What to clone, and from how much data."""

    teacher: str = "esg"
    scenario: str = "strict-heavy"
    base: str = "min-config"
    """Scheduler whose preferences the observation shows."""
    window_s: float = 20.0
    episodes: int = 6
    """Number of train worlds on which the teacher demonstrates."""
    visits: int = 10_000
    """Most visits to record per world."""
    held_out: int = 5
    """Number of held-out worlds for the comparison."""
    epochs: int = 8
    seeds: int = 1
    """Number of networks to train, each with its own seed."""


def main(args: Args) -> list[tuple[float, float, float]]:
    """Return per network (agreement on held-out states with a choice, hit rate - teacher's, cost / teacher's)."""
    expert = varigym.find_scheduler(args.teacher)

    def make(bank: str, worlds: int):
        name, window = "varigym/ServerlessGpu-v0", args.window_s
        options = {"scenario": args.scenario, "base": args.base, "bank": bank, "worlds": worlds, "window_s": window}
        return gym.make(name, **options).unwrapped

    train, test = make("train", args.episodes), make("held-out", args.held_out)
    shown = (islice(demonstrate_visits(train, expert, seed=0, world=w), args.visits) for w in range(args.episodes))
    data = collect(chain.from_iterable(shown))
    print(f"{len(data)} visits of {args.teacher}", flush=True)

    held, teacher = [], []
    for world in range(args.held_out):
        held.extend(demonstrate_visits(test, expert, seed=0, world=world))
        teacher.append(figures(test))
    kept, found = collect(held), []
    for seed in range(args.seeds):
        network = clone(train, data, CloneOptions(epochs=args.epochs, seed=seed))
        # WAIT and DROP are always legal, so 4 legal actions mean a choice between configurations.
        agreed = agreement(network, test, kept, least=4)
        own, other = np.array([follow(test, network, world) for world in range(args.held_out)]).T, np.array(teacher).T
        hits, cost = difference_interval(own[0], other[0]), ratio_interval(own[1], other[1])
        print(
            f"seed {seed}: agreement on {agreed.states} held-out states {agreed.overall:.2%}, {agreed.by_type}; "
            f"hit rate {100 * hits.value:+.2f} [{100 * hits.low:+.2f}, {100 * hits.high:+.2f}] points, "
            f"cost {cost.value:.4f} [{cost.low:.4f}, {cost.high:.4f}] of the teacher's",
            flush=True,
        )
        found.append((agreed.overall, hits.value, cost.value))
    return found


def follow(env, network, world: int) -> tuple[float, float]:
    """Return hit rate and cost of a world under the network's most likely actions."""
    observation, _ = env.reset(seed=0, options={"world": world})
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(act(network, observation))
        over = terminated or truncated
    return figures(env)


def figures(env) -> tuple[float, float]:
    """Return hit rate and cost per served request of the episode so far."""
    metrics = env.kind.metrics(env.record())
    return metrics["hit_rate"], metrics["cost_usd_per_request"]


if __name__ == "__main__":
    main(tyro.cli(Args))
