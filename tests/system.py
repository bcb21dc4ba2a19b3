"""Tests that need Debian packages (tests/apt.txt), namespaces or mounts.

As root on Debian `make test` installs the packages, so what is missing there is a failure.
Elsewhere such a test does not run, and the last line of the run says how many did not.
"""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

REASON = "needs root on Debian"
PACKAGES = "tests/apt.txt"


def missing(what: str) -> NoReturn:
    """End a test that cannot run without `what`."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        pytest.fail(f"{what}: `make test` installs what {PACKAGES} lists", pytrace=False)
    pytest.skip(f"{REASON}: {what}")


def last_line(reporter: object) -> str | None:
    """Return what the run has to say of tests that did not run."""
    skipped = getattr(reporter, "stats", {}).get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if _is_ours(report)}
    count = sum(_is_ours(report) for report in skipped)
    whats = ", ".join(sorted(reason.partition(f"{REASON}: ")[2] for reason in reasons))
    return f"NOT RUN: {count} tests need root on Debian ({whats})" if count else None


def _is_ours(report: object) -> bool:
    found = getattr(report, "longrepr", None)
    return isinstance(found, tuple) and REASON in str(found[2])
