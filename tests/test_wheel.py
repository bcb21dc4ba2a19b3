"""The wheel: it builds, installs into a clean environment and runs there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "src" / "rushes" / "web" / "static"
UV = Path(sys.executable).parent / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, ROOT)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def clean_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python, the wheel and what the wheel asks for, at the locked versions; nothing else."""
    environment = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    install = [UV, "pip", "install", "--quiet", "--python", environment / "bin" / "python"]
    run(*install, "--constraint", locked_versions(environment), wheel)
    return environment


def test_command_of_the_wheel_tells_its_version(clean_environment: Path):
    answer = run(clean_environment / "bin" / "rushes", "--version", cwd=clean_environment)

    assert answer.strip() == "rushes 0.1.0"


def test_wheel_holds_the_sql_the_page_and_the_licence(wheel: Path):
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "rushes").rglob("*")
        if path.suffix in {".py", ".sql", ".typed"} or (PAGE in path.parents and path.is_file())
    }

    names = set(zipfile.ZipFile(wheel).namelist())

    assert sources <= names
    assert "rushes-0.1.0.dist-info/licenses/LICENSE" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/", "docs/"))]


def locked_versions(folder: Path) -> Path:
    """Write the lock without its hashes, which a wheel of our own cannot have."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    versions = [line.removesuffix("\\").strip() for line in lines if not line.startswith(" ")]
    path = folder / "constraints.txt"
    path.write_text("\n".join(versions))
    return path


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command that must succeed, out of reach of this environment's own packages."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
