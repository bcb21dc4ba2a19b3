"""A library is copied while it is worked on; what comes back is whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from rushes.app import App, open_app, run_worker
from rushes.cli.main import run
from rushes.domain.asset import AssetStatus
from rushes.engine import doctor as engine_doctor
from rushes.engine.doctor import Finding
from rushes.errors import Conflict, Invalid, Permanent, SchemaMismatch
from rushes.library import backup, collect, doctor, layout, upload
from rushes.library.library import Library
from rushes.library.pipelines import Options
from rushes.library.retranscode import Again, retranscode
from rushes.settings import Settings
from rushes.store import assets
from rushes.store.database import open_database
from tests.disk import other_disk, small_disk
from tests.library.shelf import check_film, holes
from tests.library.studio import Studio
from tests.library.test_collect import age, later
from tests.media.clips import AAC, X264, bars, lavfi, tone
from tests.world import interrupted


@pytest.fixture
def studio(tmp_path: Path, sqlite_template: Path) -> Iterator[Studio]:
    """A library on SQLite, in one folder."""
    root = tmp_path / "data"
    root.mkdir()
    shutil.copy(sqlite_template, root / "rushes.db")
    with closing(open_database(f"sqlite:///{root / 'rushes.db'}")) as db:
        yield Studio(db, root)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight small seconds: two chunks and a sound track."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    lavfi(f"{bars('96x64', '10', 8)} {tone(8)} {X264} {AAC}", path)
    return path


def test_backups_under_load_come_back_whole(tmp_path: Path, film: Path):
    """001-021, 000-161: one at every commit of a worker; one of them is worked on to its end."""
    copies: list[Path] = []

    def copy() -> None:
        copies.append(tmp_path / f"backup-{len(copies)}")
        assert backup.create(rushes.library, copies[-1]).missing == []

    with open_app(Settings(data=tmp_path / "data")) as rushes:
        wanted = upload.Upload(path=film, options=Options(text=False))
        added = upload.add(rushes.library, wanted).asset_id
        with interrupted("complete.after_commit", copy):
            run_worker(rushes, until_idle=True)

    moments = []
    for source in copies:
        with restored(source, source.with_suffix(".restored")) as again:
            assert findings(again) == []
            assert holes(again.library.storage.root / "assets") == []
            moments.append(moment(again, added))
    assert len(set(moments)) >= 4
    assert moments[-1] == (AssetStatus.READY, 2)
    half = next(place for place, (_, segments) in enumerate(moments) if segments == 1)
    with open_app(Settings(data=copies[half].with_suffix(".restored"))) as again:
        run_worker(again, until_idle=True)
        assert moment(again, added) == (AssetStatus.READY, 2)
        assert findings(again) == []
        check_film(again.library, added, 1)


def test_files_on_the_same_disk_are_links_and_only_those_that_have_a_name(studio: Studio):
    stray = studio.storage.path("objects/a/1-1/rest")
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"rest")
    made = finished(studio)
    target = studio.storage.root.parent / "backup"

    summary = backup.create(studio.library, target)

    source = target / studio.asset(made).source_key
    assert source.samefile(studio.storage.root / studio.asset(made).source_key)
    files = {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}
    assert len(files) == summary.files + 2
    assert {name.partition("/")[0] for name in files} == {
        *("backup.json", "rushes.db", "originals", "objects"),
    }
    assert (summary.films, summary.copied_bytes, summary.missing) == (1, 0, [])
    assert "objects/a/1-1/rest" not in files


def test_files_on_another_disk_are_copies(studio: Studio):
    made = finished(studio)

    with other_disk() as elsewhere:
        summary = backup.create(studio.library, elsewhere / "backup")

        shutil.rmtree(studio.storage.root)
        with restored(elsewhere / "backup", elsewhere / "library") as again:
            assert summary.copied_bytes == summary.bytes > 0
            assert findings(again) == []
            check_film(again.library, made, 1)


def test_nothing_that_the_copy_names_is_collected_meanwhile(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """The collector comes between the database and the files."""
    made = finished(studio)
    retranscode(studio.library, made, Again())
    studio.finish()
    layout.run_once(studio.library)
    age(studio.library, timedelta(days=2))
    passes = []
    in_between(monkeypatch, lambda: passes.append(collect_later(studio.library)))

    summary = backup.create(studio.library, studio.storage.root.parent / "backup")

    assert summary.missing == []
    assert passes == [collect.Collected()] * summary.files
    assert collect_later(studio.library).versions == 1


def test_what_is_committed_meanwhile_is_not_half_in_the_copy(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """The worker comes between the database and the files."""
    made = studio.add().asset_id
    studio.do("probe")
    studio.do("transcode", 0)
    in_between(monkeypatch, studio.finish)

    backup.create(studio.library, studio.storage.root.parent / "backup")

    assert studio.asset(made).status is AssetStatus.READY
    with restored(studio.storage.root.parent / "backup", studio.storage.root / "again") as again:
        assert moment(again, made) == (AssetStatus.PROCESSING, 2)
        assert findings(again) == []


def test_task_that_ran_is_ready_in_the_restored_library(studio: Studio):
    """001-018: nobody works there, so nobody is waited for."""
    studio.add()
    held = studio.take("probe")
    backup.create(studio.library, studio.storage.root.parent / "backup")

    with restored(studio.storage.root.parent / "backup", studio.storage.root / "again") as again:
        [row] = again.db.read(lambda tx: tx.rows("states", tasks=[held.id]))

    assert (row["state"], row["attempt"]) == ("ready", 0)


def test_file_that_is_missing_is_named_and_the_others_are_copied(
    studio: Studio, capsys: pytest.CaptureFixture[str]
):
    made = finished(studio)
    studio.storage.existing(studio.asset(made).source_key).unlink()
    target = studio.storage.root.parent / "backup"

    code = run(["--data", str(studio.storage.root), "backup", "create", str(target), "--json"])

    said = json.loads(capsys.readouterr().out)
    assert (code, said["missing"]) == (10, [f"originals/{made}/source.mp4"])
    assert said["files"] == 18


@pytest.mark.parametrize("leftover", ["rushes.db", ".hidden"])
def test_folder_that_is_not_empty_is_refused(studio: Studio, tmp_path: Path, leftover: str):
    finished(studio)
    backup.create(studio.library, tmp_path / "backup")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / leftover).write_text("mine")

    for attempt in (
        lambda: backup.create(studio.library, tmp_path / "taken"),
        lambda: backup.restore(tmp_path / "backup", tmp_path / "taken"),
    ):
        with pytest.raises(Conflict, match="is not empty"):
            attempt()

    assert [path.name for path in (tmp_path / "taken").iterdir()] == [leftover]


def test_backup_that_was_not_finished_is_refused(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    finished(studio)
    in_between(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        backup.create(studio.library, tmp_path / "backup")
    monkeypatch.undo()

    with pytest.raises(Invalid, match="is not a finished backup"):
        backup.restore(tmp_path / "backup", tmp_path / "library")

    assert not (tmp_path / "library").exists()


def test_restore_that_was_not_finished_is_no_library(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    finished(studio)
    backup.create(studio.library, tmp_path / "backup")
    in_between(monkeypatch, interrupt)

    with pytest.raises(KeyboardInterrupt):
        backup.restore(tmp_path / "backup", tmp_path / "library")

    assert not (tmp_path / "library" / "rushes.db").exists()


def test_backup_of_a_newer_program_is_refused(studio: Studio, tmp_path: Path):
    backup.create(studio.library, tmp_path / "backup")
    manifest = tmp_path / "backup" / backup.MANIFEST
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**said, "schema_version": said["schema_version"] + 1}))

    with pytest.raises(SchemaMismatch, match="knows only"):
        backup.restore(tmp_path / "backup", tmp_path / "library")


def test_full_disk_is_told_in_a_sentence(studio: Studio, tmp_path: Path):
    studio.add(os.urandom(3_000_000))

    with (
        small_disk(tmp_path / "disk", "size=2m") as target,
        pytest.raises(Permanent, match="No space left") as caught,
    ):
        backup.create(studio.library, target / "backup")

    assert caught.value.error_code == "DISK_FULL"


@pytest.mark.postgres
def test_library_on_postgres_is_told_what_to_do_instead(postgres_url: str, tmp_path: Path):
    with closing(open_database(postgres_url)) as db, pytest.raises(Invalid) as caught:
        backup.create(Studio(db, tmp_path / "data").library, tmp_path / "backup")

    assert "pg_dump" in str(caught.value.hint)
    assert not (tmp_path / "backup").exists()


def test_commands_copy_and_bring_back(
    studio: Studio, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    made = finished(studio)
    data, target, library = (str(tmp_path / name) for name in ("data", "backup", "library"))

    codes = [
        run(["--data", data, "backup", "create", target]),
        run(["backup", "restore", target, "--into", library, "--json"]),
        run(["--data", library, "doctor", "--strict", "--deep"]),
    ]

    created, restored, _, checked = capsys.readouterr().out.splitlines()
    assert codes == [0, 0, 0]
    assert created == f"{target}: 1 film, 19 files, 248 B, 0 B of it copied"
    assert json.loads(restored)["films"] == 1
    assert checked.startswith("ok")
    assert (Path(library) / "assets" / made / "master.m3u8").is_file()


def finished(studio: Studio) -> str:
    made = studio.add().asset_id
    studio.finish()
    layout.run_once(studio.library)
    return made


@contextmanager
def restored(source: Path, target: Path) -> Iterator[App]:
    backup.restore(source, target)
    with open_app(Settings(data=target)) as rushes:
        backup.settle(rushes.library)
        yield rushes


def findings(rushes: App) -> list[Finding]:
    """All that the doctor has to say, but that no worker runs there."""
    report = engine_doctor.examine(rushes.engine, strict=True)
    report += doctor.examine(rushes.library, strict=True, deep=True)
    return report.violations


def moment(rushes: App, film: str) -> tuple[AssetStatus, int]:
    """How far a film is: its status, and how many segments of its picture are committed."""
    asset = rushes.db.read(lambda tx: assets.get(tx, film))
    qualities = rushes.db.read(lambda tx: assets.qualities(tx, film, 1))
    return asset.status, sum(quality.segments_completed for quality in qualities)


def in_between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something before each file is brought."""

    def bring(source: Path, target: Path) -> bool:
        act()
        return real(source, target)

    real = backup.bring
    monkeypatch.setattr(backup, "bring", bring)


def collect_later(library: Library) -> collect.Collected:
    return collect.run_once(library, now=later(timedelta(hours=1)))


def interrupt() -> None:
    raise KeyboardInterrupt
