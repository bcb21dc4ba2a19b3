"""One Python environment per peer, made on the first run from the files in `pins/`.

The name of an environment carries a digest of its pins, so a changed pin makes a new
one and a half-made one is never used: it gets its name only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parent / "pins"


def python_of(pins: str | None, cache: Path, folder: Path = PINS) -> Path:
    """Return the interpreter of an environment, which is created if it is not there."""
    if pins is None:
        return Path(sys.executable)
    requirements = folder / f"{pins}.txt"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:8]
    home = cache / "environments" / f"{pins}-{digest}"
    if not home.exists():
        print(f"creating the environment of {pins}", file=sys.stderr)
        _create(home, requirements)
    return home / "bin" / "python"


def _create(home: Path, requirements: Path) -> None:
    draft = home.with_name(f"{home.name}.{os.getpid()}")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        _run(sys.executable, "-m", "venv", str(draft))
        _install(draft / "bin" / "python", requirements)
        draft.rename(home)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _install(python: Path, requirements: Path) -> None:
    """Install exactly what is pinned: with uv where there is one, else with pip."""
    uv = Path(sys.executable).with_name("uv")
    found = str(uv) if uv.exists() else shutil.which("uv")
    if found:
        _run(found, "pip", "install", "-q", "--no-deps", "--python", python, "-r", requirements)
    else:
        _run(python, "-m", "pip", "install", "-q", "--no-deps", "-r", requirements)


def _run(*command: str | Path) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"bench: {command[0]} failed:\n{result.stderr[-2_000:]}")
