"""Shows what a learned index does differently: how often it plans as its expert does, and one round of both."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
import varigym
from rich.console import Console
from rich.table import Table
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.envs.cluster.bank import make_bank, pick
from varigym.envs.cluster.dynamics import advance, apply_plan, initial_state, is_over
from varigym.envs.cluster.state import FREE
from varigym.envs.cluster.view import View, observe
from varigym.policies.cluster.index_net import LearnedIndex
from varigym.scenarios.seeds import HELD_OUT

LOADS = (1.0, 2.0, 4.0)
"""Upper limits of the groups of states by load, the demand of all active jobs divided by the GPUs."""


@dataclass(frozen=True)
class Args:
    """Which checkpoint to analyse, and on how many held-out worlds."""

    checkpoint: Path = Path("runs/reference/cluster")
    worlds: int = 8
    seed_start: int = HELD_OUT.first
    most_jobs: int = 14
    """Most active jobs of the round that is shown."""


@dataclass(frozen=True)
class Round:
    """One state after a change of the active jobs, and both plans for it; jobs are in arrival order."""

    view: View
    number: int
    learned: np.ndarray
    """Owner [N, P] of every GPU."""
    expert: np.ndarray

    @property
    def load(self) -> float:
        """Demand of the active jobs divided by the GPUs."""
        return float(np.asarray(self.view.demand)[: self.number].sum() / self.learned.size)

    @property
    def load_group(self) -> int:
        """Index of the state's group in `LOADS`."""
        return int(np.searchsorted(LOADS, self.load))

    def fates(self, plan: np.ndarray) -> list[str]:
        """Return what a plan does with each job."""
        return [self._fate(plan, job) for job in range(self.number)]

    def _fate(self, plan: np.ndarray, job: int) -> str:
        runs, ran = bool((plan == job).any()), bool(np.asarray(self.view.running)[job])
        stays = bool(((plan == job) == (np.asarray(self.view.owner) == job)).all())
        return {(1, 1): "stays" if stays else "moves", (1, 0): "starts", (0, 1): "stops", (0, 0): "waits"}[runs, ran]


@partial(jax.jit, static_argnums=0)
def both(program: Any, data: Any, untrained: Any, worlds: Any, at: Any, state: Any, memory: Any) -> tuple[Any, ...]:
    """Return (view, learned plan, expert's plan, next state, memory, over); the expert plans as after a change."""
    world, key = pick(worlds, at), jax.random.key(0)
    view = observe(world, state, jnp.bool_(False))
    learned, after = program.act(data, view, memory, key)
    expert, _ = program.act(untrained, replace(view, changed=jnp.bool_(True)), memory, key)
    state = advance(world, apply_plan(world, state, learned))
    return view, learned, expert, state, after, is_over(world, state)


def rounds(policy: LearnedIndex, source: Any, seeds: range) -> Iterator[Round]:
    """Yield every round of the learned policy's episodes in which the active jobs had changed."""
    bank = make_bank([source.build(seed) for seed in seeds], source.history(), source.bins)
    data = policy.bind(bank)
    nothing = policy.rebind(data, {name: np.zeros_like(value) for name, value in policy.weights.items()})
    slots = bank.worlds.demand.shape[1]
    for world in range(len(bank)):
        at, over = jnp.int32(world), False
        state, memory = initial_state(pick(bank.worlds, at), slots), policy.program.start(data, slots)
        while not over:
            view, learned, expert, state, memory, over = both(
                policy.program, data, nothing, bank.worlds, at, state, memory
            )
            if bool(view.changed) and int(view.count):
                yield Round(view, int(view.count), np.asarray(learned), np.asarray(expert))


def agreement_table(seen: list[Round]) -> Table:
    """Make the table of agreement by load, and of what happens to running gangs."""
    table = Table("demand over GPUs", "states", "same plan", "same jobs run", "of running gangs: learned", "expert")
    for group in range(len(LOADS) + 1):
        states = [r for r in seen if r.load_group == group]
        if not states:
            continue
        fates = [(r.fates(r.learned), r.fates(r.expert)) for r in states]
        same = np.mean([(r.learned == r.expert).all() for r in states])
        alike = np.mean([running(one) == running(other) for one, other in fates])
        bounds = f"{(0, *LOADS)[group]:g} to {LOADS[group]:g}" if group < len(LOADS) else f"over {LOADS[-1]:g}"
        told = [gangs([fate[side] for fate in fates]) for side in (0, 1)]
        table.add_row(bounds, f"{len(states):,}", f"{same:.1%}", f"{alike:.1%}", *told)
    return table


def running(fates: list[str]) -> list[bool]:
    """Return which jobs run."""
    return [fate in ("stays", "moves", "starts") for fate in fates]


def gangs(fates: list[list[str]]) -> str:
    """Format the shares of running gangs that stay, move and stop."""
    count = Counter(fate for row in fates for fate in row)
    total = max(sum(count[name] for name in ("stays", "moves", "stops")), 1)
    return ", ".join(f"{name} {count[name] / total:.0%}" for name in ("stays", "moves", "stops"))


def example_table(shown: Round) -> Table:
    """Make the table of one round, job by job."""
    table = Table("job", "class", "GPUs", "had, h", "runs", "expert", "learned")
    view, hours = shown.view, float(shown.view.round_s) / 3600
    for job, (expert, learned) in enumerate(zip(shown.fates(shown.expert), shown.fates(shown.learned), strict=True)):
        facts = ("ABCD"[int(view.app_class[job])], str(int(view.demand[job])), f"{int(view.attained[job]) * hours:.1f}")
        told = f"[bold]{learned}[/]" if learned != expert else learned
        table.add_row(str(job), *facts, "yes" if bool(view.running[job]) else "", expert, told)
    return table


def main(args: Args) -> list[Round]:
    """Print both tables; return the rounds that were examined."""
    varigym.configure()
    made = load_checkpoint(args.checkpoint)
    _, policy = load_policy(args.checkpoint)
    if not isinstance(policy, LearnedIndex):
        raise SystemExit(f"{args.checkpoint}: not a learned index of a training cluster")
    source = varigym.find_source(made.training.scenarios[0])
    seen = list(rounds(policy, source, range(args.seed_start, args.seed_start + args.worlds)))
    screen = Console()
    screen.print(agreement_table(seen))
    differ = (r for r in seen if r.load > 1 and running(r.fates(r.learned)) != running(r.fates(r.expert)))
    for shown in islice((r for r in differ if r.number <= args.most_jobs), 1):
        free = int((shown.learned == FREE).sum()), int((shown.expert == FREE).sum())
        screen.print(f"hour {int(shown.view.round) * float(shown.view.round_s) / 3600:.1f}; GPUs left free: {free}")
        screen.print(example_table(shown))
    return seen


if __name__ == "__main__":
    main(tyro.cli(Args))
