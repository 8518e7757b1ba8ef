"""Process-wide settings of JAX. Nothing else in the package touches them, and no import does."""

from __future__ import annotations

import os
from importlib.metadata import version

from .scenarios.checks import check_flag

IN_ORDER = "--xla_cpu_enable_concurrency_optimized_scheduler=false"
"""Flag of XLA: order the parts of a program for one thread, not for many."""
ONE_FUNCTION = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=2000000000"
"""XLA's CPU compiler makes small loops one machine function each, and runs others part by part; to it, ours are small.

Whole episodes then run 2 to 3 times as fast. Extra options that a version of XLA does not know are passed over.
"""
KNOWS_IN_ORDER = "0.10."
"""Versions of jaxlib that are known to have it; a flag that XLA does not know ends the process."""


def configure(x64: bool = True, synchronous: bool = False) -> None:
    """Choose 64-bit (`x64`) or 32-bit floats for all of JAX in this process; call it before anything else.

    Whole loops, such as episodes, are compiled as one function each on a CPU (by the environment variable `XLA_FLAGS`).

    `synchronous` is for processes that step one environment on a CPU: a call runs on the thread that makes it, and its
    parts one after the other, which saves small programs more thread switches than parallel parts would win. Batches
    and benchmarks are slower with it: JAX is told to use one thread in all, by the environment variables `PJRT_NPROC`
    and `XLA_FLAGS`.

    In 64 bits the cluster equals PAL's public simulator job by job; the `varigym` command uses them. 32 bits are
    JAX's own default and what learners want.
    """
    import jax

    check_flag("x64", x64)
    check_flag("synchronous", synchronous)
    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_cpu_enable_async_dispatch", not synchronous)
    _add_flag(ONE_FUNCTION)
    if synchronous:
        os.environ["PJRT_NPROC"] = "1"
        if version("jaxlib").startswith(KNOWS_IN_ORDER):
            _add_flag(IN_ORDER)


def _add_flag(flag: str) -> None:
    """Add to `XLA_FLAGS`, which XLA reads when it is first used."""
    flags = os.environ.get("XLA_FLAGS", "")
    if flag not in flags.split():
        os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()
