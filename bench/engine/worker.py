"""The start of a worker process: `python -m bench.engine.worker`, in a peer's environment."""

from __future__ import annotations

from importlib import import_module

from bench.engine.figures import Run
from bench.engine.lifeline import end_with_parent

if __name__ == "__main__":
    end_with_parent()
    run = Run.from_environment()
    import_module(f"bench.engine.peers.{run.peer}").work(run)
