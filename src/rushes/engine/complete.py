"""Takes back what workers finished: done, failed, handed back, still running.

Every write carries (task, owner, epoch) and changes nothing if it is stale. Repeating a
report is harmless: a completion that was accepted before is answered as it was then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from rushes.domain.failure import MESSAGE_LIMIT, Failure, clean, failure
from rushes.domain.kind import Kind
from rushes.domain.outcome import Beat, Done, Exchange, Failed, HandedBack, Outcome
from rushes.domain.retry import LIGHT, jittered, may_retry
from rushes.domain.task import Claim, Move, State
from rushes.engine.advance import Rejected, Tallies, close, feed, follow
from rushes.engine.claim import start, take
from rushes.engine.engine import Engine, Finished, millis
from rushes.engine.journal import Journal, record_attempts
from rushes.errors import Invalid, NotFound
from rushes.observability import failpoints
from rushes.store.database import Row, Transaction

Claims = list[dict[str, object]]
ENDS = {
    Move.COMPLETE: ("complete", "done"),
    Move.FAIL: ("fail", "failed"),
    Move.RETRY: ("retry", "retried"),
    Move.HAND_BACK: ("hand_back", "handed_back"),
}
"""The moves by which a worker ends an attempt: the statement, and the word for the outcome."""

DEMOTED = "OutputInvalid"
"""The type of the error that a completion becomes whose result cannot be accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What the outcomes of one exchange came to."""

    refused: frozenset[int]
    tallies: Tallies
    done: int
    failed: int


def exchange(
    engine: Engine,
    owner: str,
    outcomes: Sequence[Outcome],
    want: Mapping[str, int],
    *,
    now: int | None = None,
) -> Exchange:
    """Report finished work and claim more, in one transaction.

    A task in `refused` belongs to somebody else now, or was killed. A result that cannot be
    accepted (its fan-out or its projection fails) becomes a failure of that task alone.
    """

    def work(tx: Transaction) -> Exchange:
        return _exchange(tx, engine, owner, outcomes, want)

    try:
        answer = engine.db.transact(work, now=now)
    except Rejected as rejected:
        without = [_demoted(outcome, rejected) for outcome in outcomes]
        return exchange(engine, owner, without, want, now=now)
    if outcomes or answer.claims:
        failpoints.hit("complete.after_commit" if outcomes else "claim.after_commit")
    return answer


def report(
    engine: Engine, owner: str, outcomes: Sequence[Outcome], *, now: int | None = None
) -> frozenset[int]:
    """Report finished work. Returns the ids of the tasks whose outcome was refused."""
    return exchange(engine, owner, outcomes, {}, now=now).refused


def extend(
    engine: Engine, owner: str, beats: Sequence[Beat], *, now: int | None = None
) -> dict[int, str]:
    """Renew leases, with progress and checkpoints. Returns {id: why} for claims that are gone.

    Why is `killed` for a task that somebody stopped, `lost` for one that was taken away.
    """
    ordered = sorted(beats, key=lambda beat: beat.id)

    def work(tx: Transaction) -> dict[int, str]:
        kept = {
            row["id"]
            for row in tx.rows("extend", owner=owner, claims=[_news(beat) for beat in ordered])
        }
        gone = [beat.id for beat in ordered if beat.id not in kept]
        return _why_gone(tx, gone) if gone else {}

    failpoints.hit("heartbeat.before")
    gone = engine.db.transact(work, now=now) if beats else {}
    failpoints.hit("heartbeat.after_commit")
    return gone


def hand_back_strays(
    engine: Engine, owner: str, held: Iterable[int], *, now: int | None = None
) -> int:
    """Give back claims that `owner` was given but never heard of. Returns how many."""

    def work(tx: Transaction) -> int:
        strays = tx.rows("strays", owner=owner, held=list(held))
        journal = Journal()
        _hand_back(tx, owner, [HandedBack(row["id"], row["epoch"]) for row in strays], journal)
        journal.write(tx)
        return len(strays)

    return engine.db.transact(work, now=now)


def parent_results(engine: Engine, claim: Claim) -> list[dict[str, object]]:
    """Return what the parents of a claimed task produced; empty for a stale claim."""

    def work(tx: Transaction) -> list[dict[str, object]]:
        rows = tx.rows("parent_results", id=claim.id, owner=claim.owner, epoch=claim.epoch)
        return [{**dict(row), "result": json.loads(row["result"] or "null")} for row in rows]

    return engine.db.read(work)


def _exchange(
    tx: Transaction,
    engine: Engine,
    owner: str,
    outcomes: Sequence[Outcome],
    want: Mapping[str, int],
) -> Exchange:
    """Rows that other exchanges write too, of jobs and of the worker, come last: whoever wants
    one that is taken waits for a commit, and for little else.
    """
    journal = Journal()
    ended = _end(tx, engine, owner, outcomes, journal)
    claims = take(tx, engine, owner, want, journal)
    close(tx, ended.tallies, journal)
    start(tx, claims, journal)
    journal.write(tx)
    if ended.done or ended.failed:
        tx.run("count_work", owner=owner, done=ended.done, failed=ended.failed)
    if outcomes:
        failpoints.hit("complete.before_commit")
    return Exchange(refused=ended.refused, claims=claims)


def _end(
    tx: Transaction, engine: Engine, owner: str, outcomes: Sequence[Outcome], journal: Journal
) -> Ended:
    """End the attempts of `outcomes`."""
    outcomes = sorted(outcomes, key=lambda outcome: outcome.id)
    done = [outcome for outcome in outcomes if isinstance(outcome, Done)]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]

    finished = _complete(tx, engine, owner, done, journal) if done else []
    broken, retried = _fail(tx, engine, owner, failed, journal) if failed else ([], [])
    back = _hand_back(tx, owner, [o for o in outcomes if isinstance(o, HandedBack)], journal)

    tallies = follow(tx, engine, [*finished, *broken], journal)
    accepted = {row["id"] for rows in (finished, broken, retried, back) for row in rows}
    unknown = [outcome for outcome in outcomes if outcome.id not in accepted]
    return Ended(
        refused=_refused(tx, owner, unknown) if unknown else frozenset(),
        tallies=tallies,
        done=len(finished),
        failed=len(broken),
    )


def _complete(
    tx: Transaction, engine: Engine, owner: str, done: Sequence[Done], journal: Journal
) -> Sequence[Row]:
    claims: Claims = [
        {"id": outcome.id, "epoch": outcome.epoch, "result": outcome.result} for outcome in done
    ]
    finished = _move(tx, Move.COMPLETE, owner, claims, journal)
    told = {(outcome.id, outcome.epoch): outcome.result for outcome in done}
    results = {row["id"]: told[row["id"], row["epoch"]] for row in finished}
    feeding = [row for row in finished if row["feeds"] is not None]
    if feeding:
        feed(tx, engine, feeding, results)
    for row in finished:
        if row["kind"] in engine.projections:
            _project(tx, engine, row, results[row["id"]])
    return finished


def _project(tx: Transaction, engine: Engine, row: Row, result: str) -> None:
    task = Finished(
        id=row["id"],
        job_id=row["job_id"],
        epoch=row["epoch"],
        kind=row["kind"],
        step=row["step"],
        item=row["item"],
        result=result,
    )
    try:
        engine.projections[task.kind](tx, task)
    except (ValueError, TypeError, KeyError, Invalid) as error:
        raise Rejected(task.id, f"the result cannot be stored: {error!r}") from error
    except (OSError, NotFound) as error:  # a file of it is gone: another run makes it anew
        raise Rejected(task.id, f"the result cannot be read: {error}", retryable=True) from error


def _fail(
    tx: Transaction, engine: Engine, owner: str, failed: Sequence[Failed], journal: Journal
) -> tuple[Sequence[Row], Sequence[Row]]:
    """Retry what may be retried, end the rest. Returns (ended, retried)."""
    facts = {row["id"]: row for row in tx.rows("states", tasks=[outcome.id for outcome in failed])}
    [clock] = tx.rows("clock")
    again, over = [], []
    for outcome in failed:
        row = facts.get(outcome.id)
        if row is None:
            continue
        kind = engine.kinds.get(row["kind"])
        record = _complete_record(tx, outcome.failure, row, kind, clock["now"])
        entry = {"id": outcome.id, "epoch": outcome.epoch, "failure": record.to_json()}
        if may_retry(
            attempt=row["attempt"], max_attempts=row["max_attempts"], retryable=record.retryable
        ):
            delay = jittered(kind.backoff if kind else LIGHT, max(1, row["attempt"]), engine.random)
            again.append({**entry, "delay_ms": millis(delay)})
        else:
            over.append(entry)
    ended = _move(tx, Move.FAIL, owner, over, journal)
    return ended, _move(tx, Move.RETRY, owner, again, journal)


def _complete_record(
    tx: Transaction, record: Failure, row: Row, kind: Kind | None, now: int
) -> Failure:
    [progress] = tx.rows("done_of_job", job_id=row["job_id"])
    return replace(
        record,
        failed_at=now,
        failed_phase=kind.phase if kind else record.failed_phase,
        failed_batch=row["item"],
        progress_at_failure=dict(progress),
    )


def _hand_back(
    tx: Transaction, owner: str, outcomes: Sequence[HandedBack], journal: Journal
) -> Sequence[Row]:
    claims: Claims = [{"id": outcome.id, "epoch": outcome.epoch} for outcome in outcomes]
    back = _move(tx, Move.HAND_BACK, owner, claims, journal)
    tx.woken.update(row["lane"] for row in back)
    return back


def _move(
    tx: Transaction, move: Move, owner: str, claims: Claims, journal: Journal
) -> Sequence[Row]:
    """End the attempts of `claims` by one move; those that are stale do not come back."""
    if not claims:
        return []
    statement, outcome = ENDS[move]
    ended = tx.rows(statement, owner=owner, claims=claims)
    record_attempts(tx, ended, outcome)
    journal.moved(move, ended, worker=owner)
    return ended


def _refused(tx: Transaction, owner: str, outcomes: Sequence[Outcome]) -> frozenset[int]:
    """Return those that were never accepted; the answer to the others was lost before."""
    claims = [{"id": outcome.id, "epoch": outcome.epoch} for outcome in outcomes]
    ended = {
        (row["id"], row["epoch"]): row for row in tx.rows("replayed", owner=owner, claims=claims)
    }
    accepted = {
        outcome.id
        for outcome in outcomes
        if _was_accepted(outcome, ended.get((outcome.id, outcome.epoch)))
    }
    return frozenset(outcome.id for outcome in outcomes if outcome.id not in accepted)


def _was_accepted(outcome: Outcome, attempt: Row | None) -> bool:
    """Whether an attempt ended with this very report."""
    if attempt is None:
        return False
    match outcome:
        case Done():
            return attempt["outcome"] == "done" or _was_demoted(attempt)
        case Failed():
            return attempt["outcome"] in ("failed", "retried")
        case HandedBack():
            return bool(attempt["outcome"] == "handed_back")


def _was_demoted(attempt: Row) -> bool:
    record = json.loads(attempt["failure"] or "{}")
    return bool(record.get("error_type") == DEMOTED)


def _news(beat: Beat) -> dict[str, object]:
    """Return what a beat says as it can be stored: one bad text must not end all leases."""
    percent = None if beat.progress is None else max(0, min(100, beat.progress))
    texts = {name: getattr(beat, name) for name in ("phase", "message")}
    cleaned = {name: text and clean(text, MESSAGE_LIMIT) for name, text in texts.items()}
    return {**asdict(beat), **cleaned, "progress": percent}


def _why_gone(tx: Transaction, ids: Iterable[int]) -> dict[int, str]:
    states = {row["id"]: row["state"] for row in tx.rows("states", tasks=list(ids))}
    return {id: "killed" if states.get(id) == State.KILLED else "lost" for id in ids}


def _demoted(outcome: Outcome, rejected: Rejected) -> Outcome:
    """Turn the completion that was rejected into a failure; leave the others."""
    if outcome.id != rejected.task_id or not isinstance(outcome, Done):
        return outcome
    return Failed(
        outcome.id,
        outcome.epoch,
        failure(
            "OUTPUT_INVALID", rejected.reason, error_type=DEMOTED, retryable=rejected.retryable
        ),
    )
