"""`python -m bench.engine`: measure, print one table, and one JSON object as the last line."""

from __future__ import annotations

import os
import platform
import time

from bench.engine import report
from bench.engine.options import read_options
from bench.engine.roster import chosen
from bench.engine.runner import Runner
from bench.engine.servers import running


def main() -> None:
    """Run the whole benchmark. Progress goes to stderr, results to stdout."""
    options = read_options()
    systems = chosen(options)
    options.cache.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with running({system.backend for system in systems}, options.cache) as servers:
        results = Runner(options, servers).run(systems)
    minutes = (time.monotonic() - started) / 60

    print(
        f"{options.tasks:,} no-op tasks, {options.rounds} round(s), medians; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {minutes:.1f} minutes\n"
    )
    print(report.table(systems, results), end="\n\n")
    print(report.notes(systems, results), end="\n\n")
    print(report.machine_line(systems, results))


if __name__ == "__main__":
    main()
