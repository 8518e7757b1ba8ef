"""The wheel and the source distribution hold what they must, and work where there is no checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DATA = {
    "py.typed",
    *(
        f"runs/reference/{world}/{name}"
        for world in ("cluster", "serverless")
        for name in ("config.json", "weights.safetensors")
    ),
}
CODE = """
import sys
from importlib import metadata
from pathlib import Path

import gymnasium
import varigym

assert varigym.__version__ == metadata.version("varigym") == sys.argv[1]
package = Path(varigym.__file__).parent
assert package.is_relative_to(sys.prefix), package
for world in ("GpuCluster", "ServerlessGpu"):
    env = gymnasium.make(f"varigym/{world}-v0")
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen), world
from varigym.agents.checkpoints.policies import load_policy
for folder in sorted((package / "runs" / "reference").iterdir()):
    print(load_policy(folder)[1].name)
"""

pytestmark = pytest.mark.slow


def run(*words: str | Path, cwd: Path) -> str:
    """What a command prints, in an environment that names no checkout."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "VIRTUAL_ENV"))
    }
    done = subprocess.run(words, cwd=cwd, env=clean, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources() -> set[str]:
    """The files of the checkout, without what is generated."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(sources: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was made from it."""
    pytest.importorskip("build")
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in sources:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, copy, cwd=out)
    return out


def file_of(built: Path, suffix: str) -> Path:
    (file,) = built.glob(f"*{suffix}")
    return file


def test_the_source_distribution_is_the_checkout(built: Path, sources: set[str]) -> None:
    with tarfile.open(file_of(built, ".tar.gz")) as archive:
        found = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
    made = {name for name in found - sources if not name.startswith("varigym.egg-info/")}
    assert made == {"PKG-INFO", "setup.cfg"}
    assert sources <= found, sources - found


def test_the_wheel_is_the_modules_and_their_data(built: Path, sources: set[str]) -> None:
    with zipfile.ZipFile(file_of(built, ".whl")) as archive:
        found = set(archive.namelist())
    outside = ("tests/", "examples/", "docs/")
    modules = {name for name in sources if name.endswith(".py") and not name.startswith(outside)}
    package = {name for name in found if not name.startswith(f"varigym-{VERSION}.dist-info/")}
    assert package == {f"varigym/{name}" for name in modules | DATA}
    assert f"varigym-{VERSION}.dist-info/licenses/LICENSE" in found


@pytest.mark.parametrize("suffix", [".whl", ".tar.gz"])
def test_it_works_without_a_checkout(built: Path, suffix: str, tmp_path: Path) -> None:
    """Installed in an environment of its own, which sees the dependencies of this one."""
    home, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home, symlinks=True)
    places = {"base": str(home), "platbase": str(home)}
    site, bin_ = (
        Path(sysconfig.get_path("purelib", "venv", places)),
        Path(sysconfig.get_path("scripts", "venv", places)),
    )
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = (sys.executable, "-m", "pip", "--python", bin_ / "python", "install", "-q", "--no-index", "--no-deps")
    run(*pip, "--ignore-installed", "--no-build-isolation", file_of(built, suffix), cwd=elsewhere)

    names = run(bin_ / "python", "-c", CODE, VERSION, cwd=elsewhere).split()
    assert [name.partition("@")[0] for name in names] == ["cluster", "serverless"]
    told = run(bin_ / "varigym", "bench", "quick", cwd=elsewhere)
    assert "fifo+packed+sticky" in told
    assert "srsf+pal+backfill" in told
    assert list(elsewhere.iterdir()) == []
