"""What the person who starts the benchmark may choose, by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_CACHE = "~/.cache/rushes-bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    tasks: int = 100_000
    """N: how many tasks one drain starts with."""

    rounds: int = 3
    """ROUNDS: how often everything is measured; the table shows medians."""

    all_peers: bool = False
    """PEERS=all: also the peers that the targets do not name."""

    only: frozenset[str] = frozenset()
    """ONLY=name,name: these systems and no others."""

    limit_s: float = 10.0
    """LIMIT: a drain not a third done after so many seconds is cut, and rated by what it did."""

    history: int = 1_000_000
    """HISTORY: done tasks, and as many queued ones, behind the figure `claim_growth`."""

    cache: Path = Path(DEFAULT_CACHE)
    """RUSHES_BENCH_CACHE: the folder for environments and data, outside the source tree."""


def read_options(environment: Mapping[str, str] = os.environ) -> Options:
    """Return the options; raises SystemExit with one clear line on a bad value."""
    try:
        return Options(
            tasks=_positive(environment, "N", 100_000),
            rounds=_positive(environment, "ROUNDS", 3),
            all_peers=environment.get("PEERS") == "all",
            only=frozenset(environment.get("ONLY", "").replace(",", " ").split()),
            limit_s=_positive(environment, "LIMIT", 10),
            history=_positive(environment, "HISTORY", 1_000_000),
            cache=Path(environment.get("RUSHES_BENCH_CACHE") or DEFAULT_CACHE).expanduser(),
        )
    except ValueError as error:
        raise SystemExit(f"bench: {error}") from error


def _positive(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{name} must be a whole number above 0, not {text!r}")
    return int(text)
