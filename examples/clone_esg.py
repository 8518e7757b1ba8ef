"""Masked behaviour cloning of ESG on the serverless platform: collect, clone, and compare with the teacher."""

from dataclasses import dataclass
from itertools import chain, islice

import gymnasium as gym
import numpy as np
import tyro
import varigym  # registers the environments
from varigym.agents.bc import CloneOptions, act, agreement, clone, collect
from varigym.agents.visits import demonstrate_visits


@dataclass(frozen=True)
class Args:
    """What to clone, and from how much."""

    teacher: str = "esg"
    scenario: str = "strict-heavy"
    base: str = "esg"
    """Scheduler whose opinion the observation shows."""
    window_s: float = 20.0
    episodes: int = 8
    """Train worlds that the teacher shows."""
    visits: int = 3000
    """Most visits of each."""
    held_out: int = 3
    """Held-out worlds for the comparison."""
    epochs: int = 4
    seeds: int = 1
    """Networks to train, each from its own seed."""


def main(args: Args) -> list[tuple[float, float, float]]:
    """Return (agreement on held-out states with a choice, hit rate less the teacher's, cost over it) per network."""
    expert = varigym.find_scheduler(args.teacher)

    def make(bank: str, worlds: int):
        name, window = "varigym/ServerlessGpu-v0", args.window_s
        options = {"scenario": args.scenario, "base": args.base, "bank": bank, "worlds": worlds, "window_s": window}
        return gym.make(name, **options).unwrapped

    train, test = make("train", args.episodes), make("held-out", args.held_out)
    shown = (islice(demonstrate_visits(train, expert, seed=0, world=w), args.visits) for w in range(args.episodes))
    data = collect(chain.from_iterable(shown))
    print(f"{len(data)} visits of {args.teacher}")

    held, teacher = [], []
    for world in range(args.held_out):
        held.extend(demonstrate_visits(test, expert, seed=0, world=world))
        teacher.append(test.kind.metrics(test.record()))
    found = []
    for seed in range(args.seeds):
        network = clone(train, data, CloneOptions(epochs=args.epochs, seed=seed))
        # WAIT and DROP are always legal: a real choice is one between configurations.
        agreed = agreement(network, test, collect(held), least=4)
        pairs = [(follow(test, network, world), teacher[world]) for world in range(args.held_out)]
        hits = float(np.mean([own["hit_rate"] - other["hit_rate"] for own, other in pairs]))
        cost = float(np.mean([own["cost_usd_per_request"] / other["cost_usd_per_request"] for own, other in pairs]))
        print(
            f"seed {seed}: agreement on {agreed.states} held-out states {agreed.overall:.2%}, {agreed.by_type}; "
            f"hit rate {100 * hits:+.2f} points, cost {cost:.4f} of the teacher's"
        )
        found.append((agreed.overall, hits, cost))
    return found


def follow(env, network, world: int) -> dict[str, float]:
    """Metrics of a world under the network's most likely actions."""
    observation, _ = env.reset(seed=0, options={"world": world})
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(act(network, observation))
        over = terminated or truncated
    return env.kind.metrics(env.record())


if __name__ == "__main__":
    main(tyro.cli(Args))
