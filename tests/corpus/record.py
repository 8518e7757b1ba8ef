"""Record every case: `python tests/corpus/record.py [FILE]` writes `corpus.npz` beside this file, or FILE."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import jax
import varigym

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


def main(path: Path) -> None:
    """Make all cases with the settings of the tests and write what is kept of them."""
    varigym.configure(x64=True)
    jax.config.update("jax_numpy_rank_promotion", "raise")
    from corpus.cases import CASES
    from corpus.packing import digest_all, save

    kept = {}
    for name, case in CASES.items():
        start = time.perf_counter()
        kept[name] = digest_all(case.make())
        print(f"{time.perf_counter() - start:6.1f} s  {len(kept[name]):5} parts  {name}", flush=True)
        if Path("/proc/self/maps").read_text().count("\n") > 15_000:
            jax.clear_caches()
            gc.collect()
    save(path, kept)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus.npz")
