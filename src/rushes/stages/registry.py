"""Stages are registered by decorator; whoever imports a module has its stages.

    @stage("probe", needs={"ffmpeg"}, params=Params)
    def probe(task: TaskContext) -> Result: ...

Other packages bring stages by the entry point group `rushes.stages`, or are named in the
setting `stages`. One that cannot be imported is reported and never stops the others.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import entry_points

from pydantic import BaseModel, ValidationError

from rushes.domain.failure import Phase
from rushes.domain.kind import DEFAULT_LANE, Kind, accept_anything
from rushes.domain.retry import LIGHT, Backoff
from rushes.errors import Invalid
from rushes.stages.context import TaskContext

log = logging.getLogger(__name__)

GROUP = "rushes.stages"
Run = Callable[[TaskContext], object]


@dataclass(frozen=True, slots=True)
class Stage:
    """The code of one kind of task."""

    kind: Kind
    run: Run


STAGES: dict[str, Stage] = {}


def stage(  # noqa: PLR0913  (a declaration: every word is a keyword)
    name: str,
    *,
    params: type[BaseModel] | None = None,
    version: int = 1,
    lane: str = DEFAULT_LANE,
    needs: Collection[str] = (),
    prefers: Collection[str] = (),
    short: bool = False,
    backoff: Backoff = LIGHT,
    max_attempts: int = 3,
    phase: Phase = Phase.PROCESSING,
    stall: timedelta = timedelta(minutes=10),
    hard_limit: timedelta = timedelta(hours=4),
) -> Callable[[Run], Run]:
    """Register the decorated function as the stage of kind `name`."""
    kind = Kind(
        name=name,
        version=version,
        lane=lane,
        needs=frozenset(needs),
        prefers=frozenset(prefers),
        short=short,
        backoff=backoff,
        max_attempts=max_attempts,
        phase=phase,
        stall=stall,
        hard_limit=hard_limit,
        check=accept_anything if params is None else _checker(params),
    )

    def register(run: Run) -> Run:
        if name in STAGES and STAGES[name].run is not run:
            raise ValueError(f"two stages are called {name}")
        STAGES[name] = Stage(kind, run)
        return run

    return register


def load(modules: Iterable[str]) -> dict[str, Stage]:
    """Import the stages of installed packages and of `modules`; return all that are known."""
    for entry in entry_points(group=GROUP):
        _import(entry.name, entry.load)
    for module in modules:
        _import(module, partial(importlib.import_module, module))
    return STAGES


def kinds(stages: Mapping[str, Stage]) -> dict[str, Kind]:
    return {name: stage.kind for name, stage in stages.items()}


def _import(name: str, load: Callable[[], object]) -> None:
    try:
        load()
    except Exception:  # somebody else's code must not stop the program
        log.exception("the stages of %s cannot be loaded", name)


def _checker(params: type[BaseModel]) -> Callable[[Mapping[str, object]], None]:
    def check(values: Mapping[str, object]) -> None:
        try:
            params.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "params"
            raise Invalid(f"{where}: {first['msg'].lower()}") from error

    return check
