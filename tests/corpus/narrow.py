"""The environments in 32 bits, as learners use them; in a process of its own, since the width is chosen once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import varigym
from corpus.packing import Arrays

TESTS, PACKAGE = Path(__file__).resolve().parents[1], Path(varigym.__file__).resolve().parent


def in_32_bits() -> Arrays:
    """Steps of both tiny worlds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "steps.npz"
        paths = os.pathsep.join([str(PACKAGE.parent), str(TESTS)])
        command = [sys.executable, "-m", "corpus.narrow", str(path)]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=True)
        with np.load(path) as file:
            return {name: file[name] for name in file.files}


def main(path: str) -> None:
    """Write the steps to `path`."""
    from corpus.play import CLUSTER, SERVERLESS, single

    varigym.configure(x64=False)
    cluster = single(CLUSTER, 60, scenario="tiny", worlds=2, window=4)
    platform = single(SERVERLESS, 60, scenario="tiny-serverless", worlds=2)
    both = {f"cluster.{name}": array for name, array in cluster.items()}
    np.savez(path, **both, **{f"serverless.{name}": array for name, array in platform.items()})


if __name__ == "__main__":
    main(sys.argv[1])
