"""The kinds of world that the bench runs, by name; whatever else needs to know how they differ asks the kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ...agents.checkpoints.policies import load_policy, looks_like_path
from ...envs.metric_type import Metric
from ...scenarios.errors import InputError
from ...scenarios.registry import Registry
from ...scenarios.seeds import HELD_OUT
from .layout import Layout, Listing
from .suite import Suite


class BenchKind(Protocol):
    """From worlds and a policy to records, and from a record to figures."""

    @property
    def name(self) -> str:
        """Its name, which entries of the catalog of scenarios give as their world."""
        ...

    @property
    def about(self) -> str:
        """What it is, in words: `a training cluster`."""
        ...

    @property
    def scenario(self) -> type:
        """Class of its worlds."""
        ...

    @property
    def record(self) -> type:
        """Class of its records; each has `scenario`, `policy`, `seed` and `data_hash`."""
        ...

    @property
    def metrics(self) -> Registry[Metric[Any]]:
        """What a record is judged by; one of them is `unfinished`."""
        ...

    @property
    def layout(self) -> Layout:
        """Its tables."""
        ...

    @property
    def suites(self) -> Mapping[str, Suite]:
        """Its named benchmarks."""
        ...

    @property
    def usual_policy(self) -> str:
        """What `simulate` runs unless told otherwise."""
        ...

    @property
    def usual_baseline(self) -> str:
        """What ratios are taken to unless told otherwise."""
        ...

    @property
    def experts(self) -> tuple[str, ...]:
        """Policies that learners are compared with: the strongest that know no more; the first is the usual teacher."""
        ...

    @property
    def policy_names(self) -> str:
        """What may be given as a policy, in words."""
        ...

    @property
    def listings(self) -> list[Listing]:
        """Its policies as `varigym list` shows them."""
        ...

    def knows_policy(self, name: str) -> bool:
        """Whether `name` looks like one of its policies."""
        ...

    def find_policy(self, name: str) -> Any:
        """The policy of a name. Raises `InputError`."""
        ...

    def is_policy(self, policy: object) -> bool:
        """Whether an object of one's own is one of its policies."""
        ...

    def baseline_of(self, baseline: str, policy: str) -> str:
        """Name of the policy that `policy` is compared with under `baseline`; empty where there is none."""
        ...

    def bank(self, source: Any, worlds: Sequence[Any]) -> Any:
        """Prepared worlds, for any number of policies."""
        ...

    def run(self, source: Any, policy: Any, seeds: Sequence[int], bank: Any) -> list[Any]:
        """One record per world of the bank; `seeds` feed policies that draw lots."""
        ...

    def details(self, record: Any) -> dict[str, float]:
        """Figures beyond the metrics that tables and figures need; the unit is that of the metric before `[`."""
        ...

    def heading(self, record: Any) -> str:
        """What was counted, in words."""
        ...

    def unfinished_note(self, count: int) -> str:
        """What a user should know when `count` of them had not finished; nothing where the metrics say it."""
        ...

    def rows(self, record: Any) -> str:
        """CSV of what was counted, one row each."""
        ...

    def more_tables(self, results: Any) -> list[Any]:
        """Tables of `Results` that only this kind has, for its report."""
        ...

    def figures(self, results: Any) -> list[tuple[str, str]]:
        """(title, SVG) of `Results`, for its report."""
        ...


KINDS: Registry[BenchKind] = Registry("world")
SUITES: Registry[Suite] = Registry("suite")


def add_world(kind: BenchKind) -> None:
    """Add a kind of world and its suites, so that `simulate`, `compare` and commands run it. Raises `InputError`."""
    KINDS.add(kind.name, kind)
    for name, suite in kind.suites.items():
        SUITES.add(name, suite)


def add_metric(world: str, metric: Metric[Any]) -> None:
    """Add a metric of the records of a world: `cluster`, `serverless` or one that was added. Raises `InputError`."""
    KINDS.find(world).metrics.add(metric.name, metric)


def kind_of(source: Any) -> BenchKind:
    """The kind of the worlds that a source makes."""
    return kind_of_world(source.build(HELD_OUT.first))


def kind_of_world(world: Any) -> BenchKind:
    """The kind of a world. Raises `InputError`."""
    for kind in KINDS.values():
        if isinstance(world, kind.scenario):
            return kind
    legal = ", ".join(kind.scenario.__name__ for kind in KINDS.values())
    raise InputError(f"{type(world).__name__} is no world; legal: {legal}")


def find_policy_of(kind: BenchKind, policy: Any) -> Any:
    """A policy of `kind` from its name, from the folder of a checkpoint, or the object itself. Raises `InputError`.

    A name of a catalog wins; other texts with a path separator, or that name a folder, are checkpoints.
    """
    if isinstance(policy, Path):
        return _checkpoint_of(kind, policy)
    if isinstance(policy, str):
        return _named(kind, policy)
    if not kind.is_policy(policy):
        if other := next((other for other in KINDS.values() if other.is_policy(policy)), None):
            raise _foreign(kind, policy.name, other)
        name = getattr(policy, "name", repr(policy))
        raise InputError(f"policy = {name}; legal for {kind.about}: a name or a policy object")
    return policy


def _named(kind: BenchKind, name: str) -> Any:
    for other in KINDS.values():
        if other is not kind and other.knows_policy(name) and not kind.knows_policy(name):
            raise _foreign(kind, name, other)
    return _checkpoint_of(kind, Path(name)) if is_checkpoint(name) else kind.find_policy(name)


def is_checkpoint(name: str) -> bool:
    """Whether a policy's name is taken for the folder of a checkpoint."""
    return not any(kind.knows_policy(name) for kind in KINDS.values()) and looks_like_path(name)


def _checkpoint_of(kind: BenchKind, folder: Path) -> Any:
    world, policy = load_policy(folder)
    if world != kind.name:
        raise _foreign(kind, str(folder), KINDS.find(world))
    return policy


def _foreign(kind: BenchKind, name: str, other: BenchKind) -> InputError:
    return InputError(f"policy '{name}' is for {other.about}; legal for {kind.about}: {kind.policy_names}")


def kind_of_record(record: Any) -> BenchKind:
    """The kind of world that a record is of. Raises `InputError`."""
    for kind in KINDS.values():
        if isinstance(record, kind.record):
            return kind
    raise InputError(f"{type(record).__name__} is no record; legal: what `simulate` gives")


def metrics_of(record: Any) -> dict[str, float]:
    """Every metric of a record of either kind; NaN where one does not exist."""
    return {metric.name: metric.of(record) for metric in kind_of_record(record).metrics.values()}
