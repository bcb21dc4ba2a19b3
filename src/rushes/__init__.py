"""Rushes: footage in; streamable, searchable, clippable video out."""

from importlib import import_module

__version__ = "0.1.0"
__all__ = [
    "Client",
    "Conflict",
    "Invalid",
    "Job",
    "JobFailed",
    "JobKilled",
    "NotFound",
    "RushesError",
    "Unavailable",
    "WaitTimedOut",
    "__version__",
]

CLIENT = frozenset(("Client", "Job", "JobFailed", "JobKilled", "WaitTimedOut"))


def __getattr__(name: str) -> object:
    """Import a public name when somebody asks for it: `rushes --help` does not."""
    if name not in __all__:
        raise AttributeError(f"module 'rushes' has no attribute {name!r}")
    return getattr(import_module("rushes.client" if name in CLIENT else "rushes.errors"), name)
