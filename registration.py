"""Gymnasium ids. `import varigym` registers them; what they build is imported when an environment is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from .envs.cluster.bank import Bank
    from .envs.cluster.faces import GpuClusterEnv, GpuClusterVectorEnv
    from .policies.cluster.policy import ListPolicy

CLUSTER = "varigym/GpuCluster-v0"
BANKS = ("train", "validation", "held-out")


def register_all() -> None:
    """Register every id once."""
    if CLUSTER not in gymnasium.registry:
        gymnasium.register(
            CLUSTER,
            entry_point="varigym.registration:make_cluster",
            vector_entry_point="varigym.registration:make_cluster_vector",
            disable_env_checker=True,  # it would step the environment with illegal actions
            order_enforce=False,  # the environment says so itself
        )


def make_cluster(
    scenario: Any = "sia-64",
    base: str = "las-2d+pal+backfill",
    bank: str = "train",
    worlds: int = 32,
    render_mode: str | None = None,
    **options: Any,
) -> GpuClusterEnv:
    """`gym.make("varigym/GpuCluster-v0", ...)`.

    `scenario` is a name, a source or a scenario; `base` the policy that orders the window and completes plans at REST;
    `bank` and `worlds` say which seeds the worlds are drawn from. All other keywords are fields of `EnvOptions`.
    """
    from .envs.cluster.faces import GpuClusterEnv

    return GpuClusterEnv(*_parts(scenario, base, bank, worlds), _options(options), render_mode)


def make_cluster_vector(
    num_envs: int = 1,
    scenario: Any = "sia-64",
    base: str = "las-2d+pal+backfill",
    bank: str = "train",
    worlds: int = 32,
    autoreset_mode: Any = "NextStep",
    render_mode: str | None = None,
    **options: Any,
) -> GpuClusterVectorEnv:
    """`gym.make_vec("varigym/GpuCluster-v0", num_envs=B, ...)`: a native batch; keywords as for `make_cluster`."""
    from .envs.cluster.faces import GpuClusterVectorEnv
    from .scenarios.errors import InputError

    if render_mode is not None:
        raise InputError(f"render_mode = '{render_mode}'; a batch is not rendered, make a single environment")
    return GpuClusterVectorEnv(*_parts(scenario, base, bank, worlds), num_envs, _options(options), autoreset_mode)


def make_bank(scenario: Any, bank: str = "train", worlds: int = 32) -> Bank:
    """The first `worlds` worlds of a bank of seeds. Raises `InputError` for names and numbers that are not legal."""
    from .bench.simulate import as_source, build_worlds
    from .envs.cluster.bank import make_bank as stack
    from .scenarios.catalog import HELD_OUT, TRAIN, VALIDATION
    from .scenarios.errors import InputError, unknown_name

    ranges = dict(zip(BANKS, (TRAIN, VALIDATION, HELD_OUT), strict=True))
    if bank not in ranges:
        raise unknown_name("bank", bank, BANKS)
    if not isinstance(worlds, int) or not 1 <= worlds <= 100_000:
        raise InputError(f"worlds = {worlds}; legal: a whole number, 1 to 100,000")
    source = as_source(scenario)
    first = ranges[bank].first
    return stack(build_worlds(source, range(first, first + worlds)), source.history())


def _parts(scenario: Any, base: str, bank: str, worlds: int) -> tuple[Bank, ListPolicy]:
    from .policies.catalog import find_policy

    return make_bank(scenario, bank, worlds), find_policy(base)


def _options(given: dict[str, Any]) -> Any:
    from dataclasses import fields

    from .envs.cluster.options import EnvOptions
    from .scenarios.errors import unknown_name

    names = [field.name for field in fields(EnvOptions)]
    for name in given:
        if name not in names:
            raise unknown_name("environment option", name, names)
    return EnvOptions(**given)
