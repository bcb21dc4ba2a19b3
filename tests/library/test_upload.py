"""The door: what is let in, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rushes.domain.job import Status
from rushes.errors import DuplicateOf, Invalid, KeyReused, Permanent, StageError, Unavailable
from rushes.library import upload
from rushes.library.pipelines import Options
from rushes.library.upload import Upload
from rushes.observability import failpoints
from rushes.store import assets, jobs
from tests.library.studio import HEAD, Studio


def test_film_its_job_and_its_version_come_together(studio: Studio) -> None:
    """000-004, 000-043: one transaction makes the asset, its version and its job."""
    added = studio.add(title="A day", tags=("one", "two"))

    asset = studio.asset(added.asset_id)
    job = studio.db.read(lambda tx: jobs.get(tx, added.job_id))
    assert (asset.title, asset.tags, asset.filename) == ("A day", ("one", "two"), "film.mp4")
    assert (asset.job_id, asset.newest, asset.version) == (added.job_id, 1, 0)
    assert job.status is Status.QUEUED
    assert studio.storage.path(asset.source_key).read_bytes() == HEAD + b"a film"


def test_transaction_whose_commit_was_not_answered_adds_one_film(studio: Studio) -> None:
    """It is run again, and finds what it wrote."""
    wanted = Upload(path=studio.film())
    written = ("0198f0e0-0000-7000-8000-000000000001", "originals/x/source.mp4", "0" * 64, 7)

    first, again = (
        studio.db.transact(lambda tx: upload._add(tx, studio.library, wanted, *written))
        for _ in range(2)
    )

    assert first == again
    assert len(studio.db.read(assets.list_page)) == 1


def test_original_keeps_its_real_extension_and_never_its_name(studio: Studio) -> None:
    """B-UP-20: what a person called the file is text, never a path."""
    odd = {
        "../../etc/x.mov": ".mov",
        "-y.mp4": ".mp4",
        "x%03d.mkv": ".mkv",
        "a;rm -rf.mp4": ".mp4",
        "noextension": "",
        "x.m p4": "",
        "x.ünï": "",
        "\u202egpm.mp4": ".mp4",
    }

    for number, (name, extension) in enumerate(odd.items()):
        path = studio.film(content=f"film {number}".encode())
        added = upload.add(studio.library, Upload(path=path, filename=name))

        asset = studio.asset(added.asset_id)
        assert asset.filename == name
        assert asset.source_key == f"originals/{added.asset_id}/source{extension}"


def test_same_film_of_one_owner_is_refused_unless_allowed(studio: Studio) -> None:
    first = studio.add()

    with pytest.raises(DuplicateOf) as refused:
        studio.add()
    again = studio.add(duplicate="allow")
    other = studio.add(owner="bob")

    assert refused.value.detail["asset_id"] == first.asset_id
    assert len({first.asset_id, again.asset_id, other.asset_id}) == 3


def test_same_key_finds_the_same_film(studio: Studio) -> None:
    """003-063: repeating a request with its key is harmless."""
    first = studio.add(idempotency_key="k")

    again = studio.add(idempotency_key="k")

    assert (again.asset_id, again.job_id, again.created) == (first.asset_id, first.job_id, False)
    assert originals(studio) == [first.asset_id]


def test_key_of_another_request_is_refused(studio: Studio) -> None:
    studio.add(idempotency_key="k")

    with pytest.raises(KeyReused):
        studio.add(b"another film", idempotency_key="k")


REFUSED = {
    "SOURCE_EMPTY": b"",
    "SOURCE_UNSUPPORTED": b"\x89PNG\r\n\x1a\n and so on",
}


@pytest.mark.parametrize("code", REFUSED)
def test_bad_file_is_refused_before_anything_is_written(studio: Studio, code: str) -> None:
    """B-UP-1, B-UP-12."""
    with pytest.raises(Permanent) as refused:
        studio.add(REFUSED[code])

    assert refused.value.error_code == code
    assert_nothing(studio)


def test_film_that_does_not_fit_on_the_disk_is_refused(studio: Studio) -> None:
    studio.library = replace(studio.library, reserve_bytes=studio.storage.free_bytes() * 2)

    with pytest.raises(StageError, match="free") as refused:
        studio.add()

    assert refused.value.error_code == "DISK_FULL"
    assert_nothing(studio)


@pytest.mark.parametrize(
    "wishes",
    [{"priority": 11}, {"title": "x\x00"}, {"tags": ("t",) * 51}, {"tags": ("x" * 101,)}],
    ids=str,
)
def test_bad_wishes_are_refused(studio: Studio, wishes: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        studio.add(**wishes)

    assert_nothing(studio)


def test_original_stays_while_nobody_knows_whether_it_was_committed(studio: Studio) -> None:
    """000-157: an answer that was lost must not cost the film; the collector looks later."""
    failpoints.call("job.before_commit", _no_answer)
    try:
        with pytest.raises(Unavailable):
            studio.add()
    finally:
        failpoints.call("job.before_commit", None)

    assert len(originals(studio)) == 1


def _no_answer() -> None:
    raise Unavailable("the connection is gone")


def test_upload_that_cannot_be_read_to_its_end_leaves_nothing(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("the disk is broken")

    monkeypatch.setattr("os.fsync", fails)

    with pytest.raises(OSError, match="broken"):
        studio.add()

    assert_nothing(studio)


def test_file_that_is_not_one_is_refused(studio: Studio, tmp_path: Path) -> None:
    """B-UP-27: a folder, a missing file."""
    for path in (tmp_path, tmp_path / "missing.mp4"):
        with pytest.raises(Permanent):
            upload.add(studio.library, Upload(path=path, options=Options()))


def assert_nothing(studio: Studio) -> None:
    assert studio.db.read(assets.list_page) == []
    assert studio.db.read(jobs.list_page) == []
    assert originals(studio) == []


def originals(studio: Studio) -> list[str]:
    return [path.name for path in (studio.storage.root / "originals").glob("*")]
