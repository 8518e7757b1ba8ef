"""Process-wide settings of JAX. Nothing else in the package touches them, and no import does."""

from __future__ import annotations


def configure(x64: bool = True, synchronous: bool = False) -> None:
    """Choose 64-bit (`x64`) or 32-bit floats for all of JAX in this process; call it before anything else.

    `synchronous` dispatch saves a thread switch per call, which is what single environment steps on a CPU want.

    In 64 bits the cluster equals PAL's public simulator job by job; the `varigym` command uses them. 32 bits are
    JAX's own default and what learners want.
    """
    import jax

    jax.config.update("jax_enable_x64", x64)
    jax.config.update("jax_cpu_enable_async_dispatch", not synchronous)
