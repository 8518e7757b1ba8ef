"""Process-wide settings of JAX. Nothing else in the package touches them, and no import does."""

from __future__ import annotations

import os

from .scenarios.checks import check_flag


def configure(x64: bool = True, synchronous: bool = False) -> None:
    """Choose 64-bit (`x64`) or 32-bit floats for all of JAX in this process; call it before anything else.

    `synchronous` is what single environment steps on a CPU want: a call runs on the thread that makes it, and its parts
    one after the other, which saves small programs more thread switches than they win; independent calls may still run
    on threads of their own. The part of it that JAX reads when it starts is the environment variable `PJRT_NPROC`.

    In 64 bits the cluster equals PAL's public simulator job by job; the `varigym` command uses them. 32 bits are
    JAX's own default and what learners want.
    """
    import jax

    check_flag("x64", x64)
    check_flag("synchronous", synchronous)
    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_cpu_enable_async_dispatch", not synchronous)
    if synchronous:
        os.environ["PJRT_NPROC"] = "1"
