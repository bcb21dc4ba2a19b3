"""What follows when a task becomes final: its children, fan-outs, and the end of its job.

Runs inside the transaction that ended the task, so there is no moment at which a parent is
done and its child does not know. A counter of open parents, changed under the row's lock,
decides who was last: two parents that finish at the same moment cannot both miss it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rushes.domain.event import EventType
from rushes.domain.graph import MAX_TASKS, Boost, check_params
from rushes.domain.task import Move, SkipReason, State
from rushes.engine.engine import Engine
from rushes.engine.journal import Journal
from rushes.errors import Invalid
from rushes.store.database import Row, Transaction

PATTERN = 3
"""Failures within a day that make a pattern, worth one alert."""

Feed = tuple[str, str, bool]
"""What a fan-out reads from a parent: its step, the name of the list, whether it must be there."""


class Rejected(Exception):
    """A result that cannot be accepted: the task that brought it fails instead."""

    def __init__(self, task_id: int, reason: str, *, retryable: bool = False) -> None:
        super().__init__(reason)
        self.task_id = task_id
        self.reason = reason
        self.retryable = retryable


@dataclass(slots=True)
class Tally:
    """What became final in one job."""

    closed: int = 0
    failed: int = 0
    warned: int = 0
    failure: str | None = None

    def count(self, row: Row) -> None:
        self.closed += 1
        if row["state"] == State.ERROR:
            if row["optional"]:
                self.warned += 1
            else:
                self.failed += 1
                self.failure = self.failure or job_failure(row)


Tallies = dict[str, Tally]
"""What became final, by job."""


def settle(tx: Transaction, engine: Engine, ended: Sequence[Row], journal: Journal) -> None:
    """Follow tasks that became final down the graph, then count them off their jobs."""
    close(tx, follow(tx, engine, ended, journal), journal)


def follow(tx: Transaction, engine: Engine, ended: Sequence[Row], journal: Journal) -> Tallies:
    """Release or skip what depends on tasks that became final; return what is to be counted off.

    A row has id, job_id, epoch, state, optional and has_children, and step and item if it failed.
    """
    tallies: Tallies = {}
    while ended:
        for row in ended:
            tallies.setdefault(row["job_id"], Tally()).count(row)
        parents = [row for row in ended if row["has_children"]]
        out_of_the_way = [row for row in parents if _is_satisfied(row)]
        broken = [row for row in parents if not _is_satisfied(row)]
        ended = [
            *_release(tx, engine, out_of_the_way, journal),
            *skip_children(tx, broken, journal),
        ]
    return tallies


def close(tx: Transaction, tallies: Tallies, journal: Journal) -> None:
    """Count final tasks off their jobs; the last one ends the job.

    Among the last things that a transaction does: until it commits, every worker that ends a
    task of the same job waits for it.
    """
    if not tallies:
        return
    closed = tx.rows(
        "close_jobs",
        closed=[
            {
                "id": job_id,
                "closed": tally.closed,
                "failed": tally.failed,
                "warned": tally.warned,
                "failure": tally.failure,
            }
            for job_id, tally in sorted(tallies.items())
        ],
    )
    for row in closed:
        if row["status"] == "completed":
            journal.add(EventType.JOB_COMPLETED, row["id"])
        elif row["status"] == "failed":
            journal.add(EventType.JOB_FAILED, row["id"])
    failed = [{"id": row["id"]} for row in closed if row["status"] == "failed"]
    for row in tx.rows("failed_patterns", jobs=failed, most=PATTERN - 1) if failed else ():
        journal.add(EventType.JOB_FAILED_PATTERN, row["id"], failures=row["before"] + 1)


def make_ready(tx: Transaction, engine: Engine, due: Sequence[Row], journal: Journal) -> list[Row]:
    """Advance tasks with nothing in their way. Returns those that became SKIPPED instead."""
    skipped: list[Row] = []
    ids = [row["id"] for row in due if row["each"] is None]
    for row in due:
        if row["each"] is not None:
            entries = fan_out(tx, engine, row["id"], journal)
            ids += entries
            skipped += [] if entries else _skip(tx, row["id"], journal)
    if ids:
        ready = tx.rows("advance", tasks=sorted(ids))
        journal.moved(Move.ADVANCE, ready)
        tx.woken.update(row["lane"] for row in ready)
    return skipped


def skip_children(tx: Transaction, broken: Iterable[Row], journal: Journal) -> Sequence[Row]:
    """Skip what depends on tasks that failed for good."""
    parents = [row["id"] for row in broken]
    if not parents:
        return []
    skipped = tx.rows("skip_children", parents=parents)
    journal.moved(Move.SKIP, skipped, reason=SkipReason.UPSTREAM_FAILED)
    return skipped


def fan_out(tx: Transaction, engine: Engine, id: int, journal: Journal) -> list[int]:
    """Turn the task that stands for a fan-out into one task per value, all NEW.

    The values come from results that were checked, and counted, when they were accepted.
    """
    sources = tx.rows("fan_out_sources", id=id)
    if not sources:
        return []
    template = sources[0]
    values = [value for source in sources for value in listed(source["result"], template["each"])]
    if not values:
        return []

    static = json.loads(template["params"])
    params = [json.dumps({**static, **value}, separators=(",", ":")) for value in values]
    tx.run("become_first", id=id, params=params[0])
    return [id, *_add_siblings(tx, engine, template, params[1:], journal)]


def feed(
    tx: Transaction, engine: Engine, finished: Sequence[Row], results: Mapping[int, str]
) -> None:
    """Count and check what finished tasks bring to fan-outs, before it is too late to refuse it.

    Raises Rejected for the task whose lists are not as the fan-out wants them, or one too many.
    """
    brought = [
        (row, step, _values(row["id"], results[row["id"]], field, required))
        for row in finished
        for step, field, required in json.loads(row["feeds"])
    ]
    counts = [
        {"job_id": row["job_id"], "step": step, "n": len(values)} for row, step, values in brought
    ]
    templates = {
        (row["job_id"], row["step"]): row for row in tx.rows("count_values", values=counts)
    }
    for row, step, values in brought:
        template = templates.get((row["job_id"], step))
        if template is not None:
            _check_values(engine, row["id"], values, template)


def job_failure(row: Row) -> str:
    """Return the failure of a task as that of its job."""
    record = json.loads(row["failure"])
    return json.dumps({**record, "step": row["step"], "item": row["item"], "task_id": row["id"]})


def listed(result: str | None, field: str, *, required: bool = False) -> list[dict[str, object]]:
    """Return the list called `field` of a result; a parent that failed has none."""
    value = json.loads(result or "null")
    values = value.get(field) if isinstance(value, dict) else None
    if values is None and not required:
        return []
    if not isinstance(values, list) or not all(isinstance(entry, dict) for entry in values):
        raise Invalid(f"the result has no list of objects called {field!r}")
    return values


def _values(task_id: int, result: str, field: str, required: bool) -> list[dict[str, object]]:
    try:
        return listed(result, field, required=required)
    except Invalid as error:
        raise Rejected(task_id, error.message) from error
    except ValueError as error:
        raise Rejected(task_id, f"the result is not JSON: {error}") from error


def _check_values(
    engine: Engine, task_id: int, values: list[dict[str, object]], template: Row
) -> None:
    kind, static = engine.kinds.get(template["kind"]), json.loads(template["params"])
    try:
        if template["fed"] > MAX_TASKS and values:
            raise Invalid(
                f"{template['fed']} values for step {template['step']}; the limit is {MAX_TASKS}"
            )
        for value in values:
            if kind is not None:
                check_params({**static, **value}, kind, f"a value for step {template['step']!r}")
    except Invalid as error:
        raise Rejected(task_id, error.message) from error


def _release(
    tx: Transaction, engine: Engine, parents: Sequence[Row], journal: Journal
) -> Sequence[Row]:
    if not parents:
        return []
    children = tx.rows("release_children", parents=[row["id"] for row in parents])
    if not children:
        return []
    ready = [row for row in children if row["state"] == State.READY]
    journal.moved(Move.ADVANCE, ready)
    tx.woken.update(row["lane"] for row in ready)
    fans = [row for row in children if row["open_parents"] == 0 and row["each"] is not None]
    return make_ready(tx, engine, fans, journal) if fans else []


def _add_siblings(
    tx: Transaction, engine: Engine, template: Row, params: list[str], journal: Journal
) -> list[int]:
    if not params:
        return []
    [job] = tx.rows("job", id=template["job_id"])
    boost = Boost(json.loads(job["plan"])[template["step"]]["boost"])
    added = tx.rows(
        "add_siblings",
        id=template["child_id"],
        siblings=[{"item": item, "params": text} for item, text in enumerate(params, start=1)],
        wait_ms=engine.wait_ms(template["priority"], boost, item=1),
    )
    siblings = [row["id"] for row in added]
    tx.run("add_sibling_edges", id=template["child_id"], siblings=siblings)
    tx.run("add_open_parents", id=template["child_id"], n=len(siblings))
    tx.run("add_open_tasks", id=template["job_id"], n=len(siblings))
    told = [[id, 0] for id in siblings]  # as moves tell theirs: with the epoch
    journal.add(EventType.TASK_ADDED, template["job_id"], step=template["step"], tasks=told)
    return siblings


def _skip(tx: Transaction, id: int, journal: Journal) -> Sequence[Row]:
    skipped = tx.rows("skip", tasks=[id])
    journal.moved(Move.SKIP, skipped, reason=SkipReason.NOT_APPLICABLE)
    return skipped


def _is_satisfied(row: Row) -> bool:
    """Whether children go on after this task."""
    if row["state"] == State.ERROR:
        return bool(row["optional"])
    return bool(row["state"] == State.DONE or row["skip_reason"] == SkipReason.NOT_APPLICABLE)
