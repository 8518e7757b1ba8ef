"""VariGym: train and judge learned GPU schedulers against the best hand-made ones."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import interrupts as interrupts
from .registration import register_all

if TYPE_CHECKING:
    from .bench.compare import compare as compare
    from .bench.grid.experiment import Results as Results
    from .bench.grid.world_kinds import add_metric as add_metric
    from .bench.grid.world_kinds import add_world as add_world
    from .bench.grid.world_kinds import metrics_of as metrics_of
    from .bench.report.tables import show_results as show_results
    from .bench.simulate import simulate as simulate
    from .commands.learners import Learner as Learner
    from .commands.learners import add_learner as add_learner
    from .envs.cluster.record import JobRecord as JobRecord
    from .envs.cluster.record import Record as Record
    from .envs.metric_type import Better as Better
    from .envs.metric_type import Metric as Metric
    from .envs.options import IllegalActionWarning as IllegalActionWarning
    from .envs.serverless.record import RequestRecord as RequestRecord
    from .policies.cluster.catalog import add_order as add_order
    from .policies.cluster.catalog import add_placement as add_placement
    from .policies.cluster.catalog import find_policy as find_policy
    from .policies.cluster.orders import Order as Order
    from .policies.cluster.placements import Placement as Placement
    from .policies.information import Information as Information
    from .policies.serverless.bounds import oracle_usd_per_request as oracle_usd_per_request
    from .policies.serverless.catalog import SchedulerEntry as SchedulerEntry
    from .policies.serverless.catalog import add_scheduler as add_scheduler
    from .policies.serverless.catalog import find_scheduler as find_scheduler
    from .scenarios.catalog import add_scenario as add_scenario
    from .scenarios.catalog import find_source as find_source
    from .scenarios.cluster.scenario import ClusterScenario as ClusterScenario
    from .scenarios.cluster.scenario import Compat as Compat
    from .scenarios.cluster.scenario import Jobs as Jobs
    from .scenarios.cluster.scenario import make_jobs as make_jobs
    from .scenarios.cluster.source import ClusterFiles as ClusterFiles
    from .scenarios.cluster.source import ClusterPlatform as ClusterPlatform
    from .scenarios.cluster.source import ClusterSynthetic as ClusterSynthetic
    from .scenarios.cluster.traces.formats import TraceFormat as TraceFormat
    from .scenarios.cluster.traces.formats import TraceUse as TraceUse
    from .scenarios.cluster.traces.formats import add_trace_format as add_trace_format
    from .scenarios.entry import ScenarioEntry as ScenarioEntry
    from .scenarios.errors import InputError as InputError
    from .scenarios.serverless.files import ServerlessFiles as ServerlessFiles
    from .scenarios.serverless.scenario import ServerlessScenario as ServerlessScenario
    from .scenarios.serverless.source import ServerlessPlatform as ServerlessPlatform
    from .scenarios.serverless.source import ServerlessSynthetic as ServerlessSynthetic
    from .settings import configure as configure

__version__ = "0.2.0"

_HOMES = {
    "Better": "envs.metric_type",
    "ClusterFiles": "scenarios.cluster.source",
    "ClusterPlatform": "scenarios.cluster.source",
    "ClusterScenario": "scenarios.cluster.scenario",
    "ClusterSynthetic": "scenarios.cluster.source",
    "Compat": "scenarios.cluster.scenario",
    "IllegalActionWarning": "envs.options",
    "Information": "policies.information",
    "InputError": "scenarios.errors",
    "JobRecord": "envs.cluster.record",
    "Jobs": "scenarios.cluster.scenario",
    "Learner": "commands.learners",
    "Metric": "envs.metric_type",
    "Order": "policies.cluster.orders",
    "Placement": "policies.cluster.placements",
    "Record": "envs.cluster.record",
    "RequestRecord": "envs.serverless.record",
    "Results": "bench.grid.experiment",
    "ScenarioEntry": "scenarios.entry",
    "SchedulerEntry": "policies.serverless.catalog",
    "ServerlessFiles": "scenarios.serverless.files",
    "ServerlessPlatform": "scenarios.serverless.source",
    "ServerlessScenario": "scenarios.serverless.scenario",
    "ServerlessSynthetic": "scenarios.serverless.source",
    "TraceFormat": "scenarios.cluster.traces.formats",
    "TraceUse": "scenarios.cluster.traces.formats",
    "add_learner": "commands.learners",
    "add_metric": "bench.grid.world_kinds",
    "add_order": "policies.cluster.catalog",
    "add_placement": "policies.cluster.catalog",
    "add_scenario": "scenarios.catalog",
    "add_scheduler": "policies.serverless.catalog",
    "add_trace_format": "scenarios.cluster.traces.formats",
    "add_world": "bench.grid.world_kinds",
    "compare": "bench.compare",
    "configure": "settings",
    "find_policy": "policies.cluster.catalog",
    "find_scheduler": "policies.serverless.catalog",
    "find_source": "scenarios.catalog",
    "make_jobs": "scenarios.cluster.scenario",
    "metrics_of": "bench.grid.world_kinds",
    "oracle_usd_per_request": "policies.serverless.bounds",
    "show_results": "bench.report.tables",
    "simulate": "bench.simulate",
}


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `import varigym` costs nothing."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'varigym' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(_HOMES)


register_all()
