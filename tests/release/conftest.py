"""The sdist and the wheel, built once, and fresh virtual environments to install them in."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: object, cwd: Path | None = None, timeout: float = 300) -> str:
    """Run a command; what it says is in the failure."""
    # Nothing of this repository, and nothing of the environment that runs the tests.
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=timeout,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pythons() -> dict[str, str]:
    """The interpreters at hand, by version: on the PATH, or where pyenv keeps them."""
    found = {}
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in ("3.10", "3.11", "3.12", "3.13"):
        places = [*sorted(root.glob(f"versions/{version}.*/bin/python")), f"python{version}"]
        for place in places:
            path = shutil.which(str(place))
            if path is not None and _works(path, version):
                found[version] = path
                break
    return found


def _works(path: str, version: str) -> bool:
    # A shim of pyenv is on the PATH whether or not there is anything behind it.
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of a release, each built in isolation, the wheel from the sdist; their source."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source") / "tree"
    # What git ignores must not be in a release, whatever lies about here.
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--outdir", folder, source)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel, "source": source}


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Path]:
    """Make a virtual environment with packages in it and return its Python."""

    def make(python: str, *packages: object) -> Path:
        run(python, "-m", "venv", tmp_path / "venv")
        path = tmp_path / "venv" / "bin" / "python"
        run(path, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages)
        return path

    return make
