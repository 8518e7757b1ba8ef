"""The worlds of seeds, and what policies plan before they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...scenarios.seeds import check_seed


def build_worlds(source: Any, seeds: Sequence[int]) -> list[Any]:
    """The worlds of the seeds. Raises `InputError` for a seed outside the range of the seed table."""
    for seed in seeds:
        check_seed(seed)
    return [source.build(seed) for seed in seeds]


def plan_ahead(policy: Any, worlds: Iterable[Any], processes: int, note: Callable[[str], None]) -> None:
    """Let a policy that plans for long make its plans of these worlds at once, in several processes."""
    if processes > 1 and hasattr(policy, "plan_ahead"):
        policy.plan_ahead(list(worlds), processes, note)
