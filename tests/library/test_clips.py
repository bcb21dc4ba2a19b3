"""Clips: one per request, whatever happens at once, and gone when their time is over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from rushes.domain.clip import Clip
from rushes.domain.failure import failure
from rushes.domain.job import Status
from rushes.domain.outcome import Failed
from rushes.engine import operator, recovery
from rushes.engine.complete import report
from rushes.errors import Conflict, Gone, Invalid, NotFound
from rushes.library import clips, collect, edit, layout
from rushes.library.clips import Requested, Wish
from rushes.library.doctor import examine
from rushes.library.retranscode import Again, retranscode
from rushes.store import clips as rows
from rushes.store import jobs
from tests.library.studio import CLIP, Studio
from tests.world import sql

WISH = Wish(t_start=5_000, t_end=8_000)
WRONG = [
    *((-1, 1_000, 0), (2_000, 1_000, 0), (1_000, 1_000, 0), (0, 20_001, 0), (0, 2**63, 0)),
    *((0, 1_000, -1), (0, 1_000, 10**9), (19_961, 20_000, 0), (1, 39, 0)),
]
DAY_MS = 86_400_000


@pytest.fixture
def film(studio: Studio) -> str:
    film = studio.add(b"a film with clips").asset_id
    studio.finish()
    return film


def ask(studio: Studio, film: str, wish: Wish = WISH, now: int | None = None) -> Requested:
    return clips.request(studio.library, studio.asset(film), wish, by="ann", now=now)


def get(studio: Studio, clip_id: str, now: int | None = None) -> Clip:
    return studio.db.read(lambda tx: rows.get(tx, clip_id), now=now)


def count(studio: Studio, table: str) -> int:
    return int(sql(studio.db, f"SELECT count(*) AS n FROM {table}")[0]["n"])


def clock(studio: Studio) -> int:
    [row] = studio.db.read(lambda tx: tx.rows("clock"))
    return int(row["now"])


def test_clip_is_asked_for_made_and_committed_by_one_row(studio: Studio, film: str):
    """002-004, 002-037, 002-038, 002-041, 002-043: outside the chain; its file has a fixed name."""
    asked = ask(studio, film)

    assert asked.created
    assert (asked.clip.status, asked.clip.file) == (Status.QUEUED, None)
    assert (asked.clip.start_ms, asked.clip.end_ms) == (3_000, 10_000)
    assert (asked.clip.actual_start, asked.clip.actual_end) == (3_000, 10_000)
    assert studio.db.read(lambda tx: jobs.get(tx, asked.clip.job_id)).kind == "clip"
    with pytest.raises(Conflict, match="not ready"):
        clips.file_of(asked.clip)

    held = studio.do("clip")

    made = get(studio, asked.clip.id)
    assert (made.status, made.percent, made.made_by) == (Status.COMPLETED, 100, "ann")
    assert studio.storage.existing(clips.file_of(made)).read_bytes() == CLIP
    name = f"clips/{film}/{made.id}.mp4"
    [row] = studio.db.read(lambda tx: list(tx.rows("artifact", name=name)))
    assert (row["key"], row["version"]) == (made.file, 0)
    assert f"/{held.id}-{held.epoch}/" in row["key"]
    assert examine(studio.library, strict=True, deep=True).findings == []


def test_the_same_request_is_the_same_clip(studio: Studio, film: str):
    """002-054, C31: also when it is ready; with anything else it is another one (002-053)."""
    first = ask(studio, film)
    studio.finish()
    others = [
        Wish(t_start=5_000, t_end=8_001),
        Wish(t_start=5_001, t_end=8_000),
        Wish(t_start=5_000, t_end=8_000, padding_ms=0),
    ]

    again = ask(studio, film)
    different = [ask(studio, film, other) for other in others]

    assert (again.clip.id, again.created) == (first.clip.id, False)
    assert all(one.created for one in different)
    assert len({first.clip.id, *(one.clip.id for one in different)}) == 4
    assert count(studio, "clips") == 4


def test_hundred_equal_requests_at_once_are_one_clip_and_one_job(studio: Studio, film: str):
    """B-HTTP-14, 002-052, 002-054."""
    start = Barrier(20)

    def ask_five_times(_: int) -> list[Requested]:
        start.wait()
        return [ask(studio, film) for _ in range(5)]

    with ThreadPoolExecutor(20) as pool:
        made = [one for some in pool.map(ask_five_times, range(20)) for one in some]

    assert len({one.clip.id for one in made}) == 1
    assert sum(one.created for one in made) == 1
    assert count(studio, "clips") == 1
    assert len(studio.db.read(lambda tx: jobs.list_page(tx, jobs.Which(kind="clip")))) == 1


def test_result_counts_only_with_a_file_of_its_own_attempt(studio: Studio, film: str):
    """A stale or a lying worker: nothing is committed."""
    asked = ask(studio, film)
    held = studio.take("clip")
    result = studio.clipped(held)
    [file] = result.artifacts
    foreign = file._replace(key=f"objects/{film}/{held.id}-{held.epoch + 1}/clip.mp4")

    studio.end(held, result.model_copy(update={"artifacts": [foreign]}))

    assert get(studio, asked.clip.id).file is None
    assert get(studio, asked.clip.id).ready_at is None


def test_lost_worker_leaves_one_right_clip(studio: Studio, film: str):
    """F-WRK-4: what the first attempt brings after its lease is refused."""
    asked = ask(studio, film)
    held = studio.take("clip")
    late = studio.clipped(held)
    [row] = sql(studio.db, "SELECT max(lease_expires_at) AS until FROM tasks")
    recovery.run_once(studio.engine, now=row["until"] + 1)
    recovery.run_once(studio.engine, now=row["until"] + 10 * DAY_MS)
    again = studio.take("clip")

    assert not studio.end(held, late)
    assert studio.end(again, studio.clipped(again))
    made = get(studio, asked.clip.id)
    assert f"/{again.id}-{again.epoch}/" in clips.file_of(made)
    assert count(studio, "clips") == 1


def test_clip_that_failed_is_tried_again_by_whoever_asks_again(studio: Studio, film: str):
    """002-059."""
    asked = ask(studio, film)
    held = studio.take("clip")
    record = failure("SOURCE_CORRUPT", "broken", error_type="Permanent", retryable=False)
    report(studio.engine, studio.owner, [Failed(held.id, held.epoch, record)])
    assert get(studio, asked.clip.id).status is Status.FAILED

    again = ask(studio, film)

    assert (again.clip.id, again.created) == (asked.clip.id, False)
    assert again.clip.status is not Status.FAILED
    studio.finish()
    assert get(studio, asked.clip.id).status is Status.COMPLETED


def test_wrong_times_are_refused_and_nothing_is_written(studio: Studio, film: str):
    """B-HTTP-7, C32: before 0, behind the end, nothing left between two frames."""
    for t_start, t_end, padding_ms in WRONG:
        with pytest.raises(Invalid):
            ask(studio, film, Wish(t_start=t_start, t_end=t_end, padding_ms=padding_ms))

    assert count(studio, "clips") == 0
    assert len(studio.db.read(lambda tx: jobs.list_page(tx, jobs.Which(kind="clip")))) == 0


def test_film_that_was_not_looked_at_has_no_clips_yet(studio: Studio):
    film = studio.add().asset_id

    with pytest.raises(Conflict, match="not looked at yet"):
        ask(studio, film)

    studio.do("probe")
    assert ask(studio, film).created


def test_clip_expires_says_so_for_a_while_and_can_be_made_again(studio: Studio, film: str):
    """002-042: 30 days, then 410; its file is collected."""
    now = clock(studio)
    asked = ask(studio, film, now=now)
    studio.finish()
    key = clips.file_of(get(studio, asked.clip.id))
    assert asked.clip.expires_at == now + 30 * DAY_MS
    collect.run_once(studio.library, now=now + 30 * DAY_MS - 1)
    assert not get(studio, asked.clip.id, now=now + 30 * DAY_MS - 1).is_over

    over = now + 30 * DAY_MS
    library = studio.library
    with pytest.raises(Gone):
        clips.check_there(get(studio, asked.clip.id, now=over))
    assert studio.db.read(rows.list_page, now=over) == []
    swept = collect.run_once(replace(library, keep_abandoned=timedelta(0)), now=over)

    assert swept.clips == 1
    assert not studio.storage.path(key).exists()
    assert get(studio, asked.clip.id, now=over).is_over
    assert ask(studio, film, now=over).clip.id != asked.clip.id
    collect.run_once(library, now=over + 30 * DAY_MS + 1)
    with pytest.raises(NotFound):
        get(studio, asked.clip.id)


def test_whoever_asks_again_keeps_a_clip_longer(studio: Studio, film: str):
    now = clock(studio)
    short = Wish(t_start=0, t_end=1_000, lifetime=timedelta(minutes=1))
    first = ask(studio, film, short, now=now)
    studio.finish()

    again = ask(studio, film, Wish(t_start=0, t_end=1_000), now=now + 61_000)

    assert first.clip.expires_at == now + 60_000
    assert (again.clip.id, again.created) == (first.clip.id, False)
    assert again.clip.expires_at == now + 61_000 + 30 * DAY_MS
    for lifetime in (timedelta(seconds=59), timedelta(days=366), timedelta(0)):
        with pytest.raises(Invalid, match="a clip is kept"):
            ask(studio, film, Wish(t_start=0, t_end=2_000, lifetime=lifetime))


def test_clips_go_and_come_back_with_their_video(studio: Studio, film: str):
    asked = ask(studio, film)
    studio.finish()

    edit.delete(studio.library, film)

    with pytest.raises(NotFound):
        get(studio, asked.clip.id)
    with pytest.raises(NotFound):
        ask(studio, film)
    assert studio.db.read(rows.list_page) == []
    edit.restore(studio.library, film)
    assert clips.file_of(get(studio, asked.clip.id))
    edit.delete(studio.library, film)
    collect.run_once(studio.library, now=clock(studio) + 31 * DAY_MS)
    assert count(studio, "clips") == count(studio, "artifacts") == 0


def test_clip_is_deleted_at_once_and_its_job_stopped(studio: Studio, film: str):
    asked = ask(studio, film)
    held = studio.take("clip")
    late = studio.clipped(held)

    clips.delete(studio.library, get(studio, asked.clip.id), by="ann")

    with pytest.raises(NotFound):
        get(studio, asked.clip.id)
    assert not studio.end(held, late)
    assert studio.db.read(lambda tx: jobs.get(tx, asked.clip.job_id)).status is Status.KILLED
    again = ask(studio, film)
    assert (again.created, again.clip.id != asked.clip.id) == (True, True)


def test_clip_stays_when_its_film_is_made_anew(studio: Studio, film: str):
    asked = ask(studio, film)
    studio.finish()
    retranscode(studio.library, film, Again())
    studio.finish()
    layout.run_once(studio.library)
    collect.run_once(studio.library, now=clock(studio) + DAY_MS)

    assert studio.storage.existing(clips.file_of(get(studio, asked.clip.id)))
    assert examine(studio.library, strict=True).findings == []


def test_deleted_while_running_the_late_result_is_left_to_the_collector(studio: Studio, film: str):
    """The row goes between the claim and the completion: no file is named, nothing fails."""
    asked = ask(studio, film)
    held = studio.take("clip")
    studio.db.transact(lambda tx: tx.run("drop_clip", id=asked.clip.id))

    assert studio.end(held, studio.clipped(held))
    assert len(sql(studio.db, "SELECT name FROM artifacts WHERE version = 0")) == 0


def test_file_of_a_clip_that_is_not_there_is_found_by_the_doctor(studio: Studio, film: str):
    """I9: every file that has a name belongs to something."""
    asked = ask(studio, film)
    studio.finish()
    studio.db.transact(lambda tx: tx.run("drop_clip", id=asked.clip.id))

    [finding] = examine(studio.library, strict=True).findings

    assert (finding.invariant, finding.ids) == ("I9", (f"{film} (file of a clip)",))


def test_killed_clip_is_started_again_by_a_new_request(studio: Studio, film: str):
    asked = ask(studio, film)
    operator.kill(studio.engine, asked.clip.job_id, name="bob")

    assert ask(studio, film).clip.status is not Status.KILLED
    studio.finish()
    assert get(studio, asked.clip.id).file
