"""Gymnasium ids. `import varigym` registers them; what they build is imported when an environment is made."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium

if TYPE_CHECKING:
    from .envs.cluster.bank import Bank
    from .envs.cluster.mdp.base import Base
    from .envs.cluster.mdp.faces import GpuClusterEnv, GpuClusterVectorEnv
    from .envs.cluster.mdp.options import EnvOptions
    from .envs.serverless.bank import Bank as ServerlessBank
    from .envs.serverless.mdp.base import Base as ServerlessBase
    from .envs.serverless.mdp.faces import ServerlessGpuEnv, ServerlessGpuVectorEnv
    from .envs.serverless.mdp.options import ServerlessOptions

    Options = TypeVar("Options", EnvOptions, ServerlessOptions)

CLUSTER, SERVERLESS = "varigym/GpuCluster-v0", "varigym/ServerlessGpu-v0"
BANKS = ("train", "validation", "held-out")
MOST_WORLDS = 100_000
MAKERS = {
    CLUSTER: ("make_cluster", "make_cluster_vector"),
    SERVERLESS: ("make_serverless", "make_serverless_vector"),
}
"""Id -> what makes one environment, and a native batch."""


def register_all() -> None:
    """Register every id once."""
    for name, (single, batch) in MAKERS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point=f"varigym.registration:{single}",
                vector_entry_point=f"varigym.registration:{batch}",
                disable_env_checker=True,  # it costs every step a call; the tests run its checks
                order_enforce=False,  # the environment says so itself
            )


def make_cluster(
    scenario: Any = "sia-64",
    base: str | Base = "las-2d+pal+backfill",
    bank: str = "train",
    worlds: int = 32,
    bins: int | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> GpuClusterEnv:
    """`gym.make("varigym/GpuCluster-v0", ...)`.

    `scenario` is a name, a source or a scenario; `base` the policy that orders the window and completes plans at REST;
    `bank` and `worlds` say which seeds the worlds are drawn from, `bins` how many bins per class the spaces have room
    for. All other keywords are fields of `EnvOptions`.
    """
    from .envs.cluster.mdp.faces import GpuClusterEnv
    from .envs.cluster.mdp.options import EnvOptions

    return GpuClusterEnv(*_parts(scenario, base, bank, worlds, bins), _options(EnvOptions, options), render_mode)


def make_cluster_vector(
    num_envs: int = 1,
    scenario: Any = "sia-64",
    base: str | Base = "las-2d+pal+backfill",
    bank: str = "train",
    worlds: int = 32,
    bins: int | None = None,
    autoreset_mode: Any = "NextStep",
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> GpuClusterVectorEnv:
    """`gym.make_vec("varigym/GpuCluster-v0", num_envs=B, ...)`: a native batch; keywords as for `make_cluster`."""
    from .envs.cluster.mdp.faces import GpuClusterVectorEnv
    from .envs.cluster.mdp.options import EnvOptions

    _refuse_picture(render_mode)
    parts = _parts(scenario, base, bank, worlds, bins)
    return GpuClusterVectorEnv(*parts, num_envs, _options(EnvOptions, options), autoreset_mode, max_episode_steps)


def make_serverless(
    scenario: Any = "overload",
    base: str | ServerlessBase = "esg",
    bank: str = "train",
    worlds: int = 32,
    window_s: float | None = 20.0,
    render_mode: str | None = None,
    **options: Any,
) -> ServerlessGpuEnv:
    """`gym.make("varigym/ServerlessGpu-v0", ...)`.

    `scenario` is a name, a source or a scenario; `base` the scheduler whose opinion the observation shows; `bank` and
    `worlds` say which seeds the worlds are drawn from. An episode is a window of `window_s` that is truncated at its
    end; None: the scenario's own length. All other keywords are fields of `ServerlessOptions`.
    """
    from .envs.serverless.mdp.faces import ServerlessGpuEnv
    from .envs.serverless.mdp.options import ServerlessOptions

    parts = _serverless_parts(scenario, base, bank, worlds, window_s)
    return ServerlessGpuEnv(*parts, _options(ServerlessOptions, options), render_mode)


def make_serverless_vector(
    num_envs: int = 1,
    scenario: Any = "overload",
    base: str | ServerlessBase = "esg",
    bank: str = "train",
    worlds: int = 32,
    window_s: float | None = 20.0,
    autoreset_mode: Any = "NextStep",
    max_episode_steps: int | None = None,
    render_mode: str | None = None,
    **options: Any,
) -> ServerlessGpuVectorEnv:
    """`gym.make_vec("varigym/ServerlessGpu-v0", num_envs=B, ...)`: a native batch; keywords as `make_serverless`."""
    from .envs.serverless.mdp.faces import ServerlessGpuVectorEnv
    from .envs.serverless.mdp.options import ServerlessOptions

    _refuse_picture(render_mode)
    parts = _serverless_parts(scenario, base, bank, worlds, window_s)
    return ServerlessGpuVectorEnv(
        *parts, num_envs, _options(ServerlessOptions, options), autoreset_mode, max_episode_steps
    )


def make_serverless_bank(
    scenario: Any, bank: str = "train", worlds: int = 32, window_s: float | None = 20.0
) -> ServerlessBank:
    """The first `worlds` worlds of a bank of seeds, windows of `window_s`. Raises `InputError`."""
    from .envs.serverless.bank import make_bank as stack
    from .scenarios.catalog import find_source
    from .scenarios.errors import InputError
    from .scenarios.serverless.source import windowed

    source = find_source(scenario) if isinstance(scenario, str) else scenario
    source, drawn = draw_worlds(source if window_s is None else windowed(source, window_s), bank, worlds)
    if any(not hasattr(world, "workflows") for world in drawn):
        raise InputError(f"scenario {source.name} is a training cluster; its environment is {CLUSTER}")
    return stack(drawn)


def make_bank(scenario: Any, bank: str = "train", worlds: int = 32, bins: int | None = None) -> Bank:
    """The first `worlds` worlds of a bank of seeds. Raises `InputError` for names and numbers that are not legal.

    Spaces have room for `bins` bins per app class. Default: as many as any seed of the scenario can be expected to
    need, so that every bank of it has the same spaces; as many as there are where no bins are drawn.
    """
    from .envs.cluster.bank import make_bank as stack

    source, drawn = draw_worlds(scenario, bank, worlds)
    # A source of one's own need not say how many bins it draws.
    return stack(drawn, source.history(), bins if bins is not None else getattr(source, "bins", None))


def draw_worlds(scenario: Any, bank: str, worlds: int) -> tuple[Any, list[Any]]:
    """(source, the first `worlds` scenarios of a bank of seeds). Raises `InputError`."""
    from .bench.grid.preparation import build_worlds
    from .bench.simulate import as_source
    from .envs.forks import refuse_forked
    from .scenarios.checks import as_whole
    from .scenarios.errors import unknown_name
    from .scenarios.seeds import HELD_OUT, TRAIN, VALIDATION

    refuse_forked()
    ranges = dict(zip(BANKS, (TRAIN, VALIDATION, HELD_OUT), strict=True))
    if bank not in BANKS:
        raise unknown_name("bank", str(bank), BANKS)
    source, first = as_source(scenario), ranges[bank].first
    return source, build_worlds(source, range(first, first + as_whole("worlds", worlds, 1, MOST_WORLDS)))


def _parts(scenario: Any, base: str | Base, bank: str, worlds: int, bins: int | None) -> tuple[Bank, Base]:
    from .policies.cluster.catalog import find_policy

    return make_bank(scenario, bank, worlds, bins), find_policy(base) if isinstance(base, str) else base


def _serverless_parts(
    scenario: Any, base: str | ServerlessBase, bank: str, worlds: int, window_s: float | None
) -> tuple[ServerlessBank, Any]:
    from .policies.serverless.catalog import find_scheduler

    found = find_scheduler(base) if isinstance(base, str) else base
    return make_serverless_bank(scenario, bank, worlds, window_s), found


def _options(kind: type[Options], given: dict[str, Any]) -> Options:
    """The options of an environment from its keywords. Raises `InputError`."""
    from .scenarios.errors import unknown_name

    names = [field.name for field in fields(kind)]
    for name in given:
        if name not in names:
            raise unknown_name("environment option", name, names)
    return kind(**given)


def _refuse_picture(render_mode: str | None) -> None:
    from .scenarios.errors import InputError

    if render_mode is not None:
        raise InputError(f"render_mode = {render_mode!r}; a batch is not rendered, make a single environment")
