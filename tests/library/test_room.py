"""Room on the disk: it is looked at before work begins, and a disk that fills up breaks nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rushes.app import App, open_app, run_worker
from rushes.cli.main import run
from rushes.domain.asset import AssetStatus
from rushes.domain.outcome import Failed, HandedBack
from rushes.domain.task import Claim, Task
from rushes.domain.waiting import Reason
from rushes.engine import waiting
from rushes.errors import Unavailable
from rushes.library import upload
from rushes.library.pipelines import Options
from rushes.settings import Settings
from rushes.stages.context import TaskContext
from rushes.stages.registry import Stage
from rushes.storage.local import LocalStorage
from rushes.store import assets, tasks
from rushes.store.database import Database, open_database
from rushes.worker.executor import execute
from rushes.worker.local import LocalSession
from tests.disk import small_disk
from tests.kinds import KINDS
from tests.library.shelf import check_film
from tests.library.studio import HEAD, LANES, Studio
from tests.media.clips import X264, lavfi
from tests.world import NOBODY, sql

MB = 1_000_000
NOISE = "-f lavfi -i color=size=320x180:rate=10:duration=2,noise=alls=80:allf=t"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    with small_disk(tmp_path / "disk", "size=8m") as folder:
        yield folder


def test_worker_without_room_takes_nothing_that_writes(studio: Studio):
    """002-051: a reserve larger than the disk; what writes nothing goes on."""
    film = studio.add().asset_id
    for step, item in (("probe", 0), ("transcode", 0), ("transcode", 1), ("audio", 0)):
        studio.do(step, item)
    others = [HandedBack(claim.id, claim.epoch) for claim in studio.held]
    session = LocalSession(studio.engine, studio.owner, studio.storage, reserve_bytes=1 << 62)

    claims = session.exchange(others, LANES).claims

    assert [claim.kind for claim in claims] == ["playlist"]
    assert studio.asset(film).status is AssetStatus.PROCESSING


def test_work_goes_on_by_itself_when_there_is_room_again(studio: Studio, folder: Path):
    """002-051: looked at before every claim, in both directions."""
    job_id = studio.add().job_id
    session = LocalSession(studio.engine, studio.owner, LocalStorage(folder), 4 * MB)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(5 * MB))
    low = session.exchange([], LANES).claims
    [(_, why)] = why_ready(studio, job_id)

    ballast.unlink()

    [claim] = session.exchange([], LANES).claims
    assert (low, claim.kind) == ([], "probe")
    assert why.reason is Reason.STORAGE_LOW
    assert why.text == "the disk is nearly full: 3.4 MB free, needs 4.0 MB"
    assert why.workers == ("hands: 3.4 MB free, needs 4.0 MB",)


def test_figures_are_renewed_by_the_heartbeat(studio: Studio, folder: Path):
    job_id = studio.add().job_id
    session = LocalSession(studio.engine, studio.owner, LocalStorage(folder), 4 * MB)
    (folder / "ballast").write_bytes(bytes(5 * MB))
    session.beat([])
    (folder / "more").write_bytes(bytes(1 * MB))

    session.beat([])

    [(_, why)] = why_ready(studio, job_id)
    assert why.text == "the disk is nearly full: 2.4 MB free, needs 4.0 MB"


def test_answer_that_was_lost_leaves_no_worker_idle(studio: Studio, folder: Path):
    """The engine heard that there is no room, the worker did not hear that it was heard."""
    studio.add()
    engine = replace(studio.engine, db=Lossy(studio.db))
    session = LocalSession(engine, studio.owner, LocalStorage(folder), 4 * MB)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(5 * MB))
    with pytest.raises(Unavailable):
        session.exchange([], LANES)

    ballast.unlink()

    assert [claim.kind for claim in session.exchange([], LANES).claims] == ["probe"]


def test_worker_keeps_the_reserve_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """`rushes jobs why` says why nothing happens, and the doctor that work waits."""
    data = ["--data", str(tmp_path / "data")]
    film = tmp_path / "film.mp4"
    film.write_bytes(HEAD + b"a film")
    with open_app(Settings(data=tmp_path / "data", storage_reserve_gb=0)) as rushes:
        job_id = upload.add(rushes.library, upload.Upload(path=film)).job_id

    def is_told() -> bool:
        told = waiting.why_job(rushes.engine, job_id)
        if not told or told[0][1].reason is not Reason.STORAGE_LOW:
            return False
        codes.append((run([*data, "jobs", "why", job_id]), run([*data, "doctor"])))
        return True

    codes: list[tuple[int, int]] = []
    with open_app(Settings(data=tmp_path / "data", storage_reserve_gb=10**9)) as rushes:
        run_worker(rushes, until=is_told)

    said = capsys.readouterr().out
    assert codes == [(0, 0)]
    assert "the disk is nearly full" in said
    assert "needs 1000000.0 TB" in said
    assert "warning I1: probe cannot start: STORAGE_LOW" in said


def test_disk_that_fills_up_in_the_middle_publishes_nothing_and_work_goes_on_later(
    tmp_path: Path, folder: Path
):
    """002-051, 000-143: DISK_FULL, to be tried again; what was half made is gone."""
    film = tmp_path / "noise.mp4"
    lavfi(f"{NOISE} {X264} -b:v 2M", film)
    settings = Settings(
        data=folder, database_url=f"sqlite:///{tmp_path / 'rushes.db'}", storage_reserve_gb=0
    )
    with open_app(settings) as rushes:
        wanted = upload.Upload(path=film, options=Options(text=False))
        added = upload.add(rushes.library, wanted)
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(rushes.library.storage.free_bytes() - 60_000))
        run_worker(rushes, until=lambda: has_failed(rushes, added.job_id, "transcode"))

        [failed] = [task for task in of_job(rushes, added.job_id) if task.kind == "transcode"]
        asset = rushes.db.read(lambda tx: assets.get(tx, added.asset_id))
        codes = {
            json.loads(task.failure)["error_code"]
            for task in of_job(rushes, added.job_id)
            if task.failure
        }
        assert (failed.state, json.loads(failed.failure or "")["retryable"]) == ("new", True)
        assert codes == {"DISK_FULL"}
        assert (asset.status, asset.playable_at) == (AssetStatus.PROCESSING, None)
        assert list((folder / "objects").rglob("*.m4s")) == []

        ballast.unlink()
        sql(rushes.db, "UPDATE tasks SET run_at = 0 WHERE state = 'new' AND failure IS NOT NULL")
        run_worker(rushes, until_idle=True)
        check_film(rushes.library, added.asset_id, 1)


def test_database_on_a_full_disk_is_out_of_reach_until_there_is_room(
    folder: Path, sqlite_template: Path
):
    """The worker hears what it hears when nobody answers: it keeps its results and tries again."""
    shutil.copy(sqlite_template, folder / "rushes.db")
    with closing(open_database(f"sqlite:///{folder / 'rushes.db'}")) as db:
        studio = Studio(db, folder / "data")
        studio.add()
        session = LocalSession(studio.engine, studio.owner, studio.storage)
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(studio.storage.free_bytes()))
        with pytest.raises(Unavailable, match="cannot be written"):
            deque(session.beat([]) for _ in range(100))

        ballast.unlink()

        assert [claim.kind for claim in session.exchange([], LANES).claims] == ["probe"]


@pytest.mark.parametrize("number, code", [(errno.ENOSPC, "DISK_FULL"), (errno.EIO, None)])
def test_stage_that_finds_the_disk_full_says_so(number: int, code: str | None):
    def write(_task: TaskContext) -> None:
        raise OSError(number, os.strerror(number))

    claim = Claim(1, 1, "hands#1", NOBODY, "write", "write", 0, 1, 3, 60_000, "{}")
    outcome = execute(TaskContext(claim), {"write": Stage(KINDS["write"], write)})

    assert isinstance(outcome, Failed)
    assert outcome.failure.error_code == (code or "STAGE_EXCEPTION")
    assert outcome.failure.retryable


class Lossy:
    """A database whose first answer to a write is lost, though the write is not."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lost = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def transact(self, work: Callable[..., Any], **options: Any) -> Any:
        answer = self._db.transact(work, **options)
        if not self._lost:
            self._lost = True
            raise Unavailable("the answer was lost")
        return answer


def why_ready(studio: Studio, job_id: str) -> list[tuple[Task, waiting.Waiting]]:
    told = waiting.why_job(studio.engine, job_id)
    return [(task, why) for task, why in told if task.state == "ready"]


def of_job(rushes: App, job_id: str) -> list[Task]:
    return rushes.db.read(lambda tx: tasks.of_job(tx, job_id))


def has_failed(rushes: App, job_id: str, kind: str) -> bool:
    return any(task.kind == kind and task.failure for task in of_job(rushes, job_id))
