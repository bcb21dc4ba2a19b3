"""What the result of a stage becomes in the library, and what is refused."""

from __future__ import annotations

import json

from rushes.domain.artifact import Artifact
from rushes.domain.asset import AssetStatus, QualityStatus
from rushes.library import playback
from rushes.store import assets, tasks
from rushes.store.database import Transaction
from tests.library.studio import PLAN, Studio


def test_film_becomes_playable_with_its_first_segment_and_its_sound(studio: Studio) -> None:
    """000-033: playable long before it is ready."""
    film = studio.add().asset_id
    studio.do("probe")
    assert studio.asset(film).status is AssetStatus.PROCESSING

    studio.do("transcode", 0)
    silent = studio.asset(film)
    studio.do("audio")
    heard = studio.asset(film)

    assert silent.playable_at is None
    assert heard.playable_at is not None
    assert heard.ready_at is None
    assert heard.watchable == 1


def test_film_is_ready_when_it_is_finalized(studio: Studio) -> None:
    """000-033, 000-068: ready when all qualities are complete."""
    film = studio.add().asset_id

    studio.finish()

    asset = studio.asset(film)
    assert (asset.status, asset.version) == (AssetStatus.READY, 1)
    assert asset.duration_ms == 20_000


def test_playlists_show_one_prefix_without_a_hole(studio: Studio) -> None:
    film = studio.add().asset_id
    studio.do("probe")
    studio.do("audio")

    studio.do("transcode", 1)
    later_chunk = view(studio, film)
    studio.do("transcode", 0)
    both = view(studio, film)

    assert later_chunk.segments == 0
    assert playback.playlists(later_chunk) == {}
    assert both.segments == PLAN.grid.segments
    text = playback.playlists(both)["360p/playlist.m3u8"]
    assert "00003.m4s" in text
    assert "ENDLIST" not in text


def test_quality_counts_what_is_committed(studio: Studio) -> None:
    """000-029, 000-031, 000-062: status, segments, percent and times of a quality."""
    film = studio.add().asset_id
    studio.do("probe")
    before = qualities(studio, film)
    held = studio.take("transcode", 0)
    taken = qualities(studio, film)
    assert studio.end(held, studio.result(held))
    begun = qualities(studio, film)
    studio.finish()
    ended = qualities(studio, film)

    assert {quality.status for quality in before} == {QualityStatus.PENDING}
    assert {quality.status for quality in taken} == {QualityStatus.IN_PROGRESS}
    assert {quality.status for quality in begun} == {QualityStatus.IN_PROGRESS}
    assert [quality.progress_percent for quality in taken] == [0, 0]
    assert [quality.progress_percent for quality in begun] == [25, 25]
    assert {quality.status for quality in ended} == {QualityStatus.COMPLETED}
    assert all(quality.started_at and quality.completed_at for quality in ended)


def test_quality_that_fails_is_told_and_the_others_are_published(studio: Studio) -> None:
    """000-032, 000-120: one quality fails, the others go on."""
    film = studio.add().asset_id
    studio.do("probe")
    chunk = studio.take("transcode", 1)
    assert studio.end(chunk, studio.encoded(chunk, without=("480p",)))

    studio.finish()

    [better, lowest] = qualities(studio, film)
    assert better.status is QualityStatus.FAILED
    assert better.error == "FFMPEG_FAILED: it broke"
    assert lowest.status is QualityStatus.COMPLETED
    assert studio.asset(film).status is AssetStatus.READY
    assert list(playback.playlists(view(studio, film))) == [
        "360p/playlist.m3u8",
        "audio/en/playlist.m3u8",
        "master.m3u8",
    ]


def test_film_without_its_required_quality_is_not_published(studio: Studio) -> None:
    added = studio.add()
    studio.do("probe")
    chunk = studio.take("transcode", 1)
    assert studio.end(chunk, studio.encoded(chunk, without=("360p",)))
    studio.do("transcode", 0)
    studio.do("audio")

    held = studio.take("playlist")
    studio.end(held, studio.result(held))

    assert studio.asset(added.asset_id).version == 0
    failed = studio.db.read(lambda tx: tasks.get(tx, held.id))
    assert json.loads(failed.failure or "{}")["error_code"] == "OUTPUT_INVALID"


def test_files_of_another_attempt_are_refused(studio: Studio) -> None:
    """001-019: a result may name only what its own attempt made."""
    added = studio.add()
    studio.do("probe")
    held = studio.take("transcode", 0)
    honest = studio.encoded(held)
    own = honest.artifacts[0]
    stolen = [
        Artifact(own.name, f"objects/{added.asset_id}/1-1/x", 1, "0" * 64),
        Artifact(own.name, own.key.replace("/360p", "/../360p"), 1, "0" * 64),
        Artifact(own.name, f"originals/{added.asset_id}/source.mp4", 1, "0" * 64),
        Artifact("../../x/y", own.key, 1, "0" * 64),
    ]

    for artifact in stolen:
        studio.end(held, honest.model_copy(update={"artifacts": [artifact]}))

    assert artifacts(studio, added.asset_id) == []


def test_chunk_with_another_init_is_refused(studio: Studio) -> None:
    film = studio.add().asset_id
    studio.do("probe")
    studio.do("transcode", 0)
    held = studio.take("transcode", 1)
    honest = studio.encoded(held)
    [first, *others] = [
        made.__class__(**{**_fields(made), "init_sha256": "f" * 64}) for made in honest.renditions
    ]

    studio.end(held, honest.model_copy(update={"renditions": (first, *others)}))

    assert all(quality.segments_completed == 1 for quality in qualities(studio, film))


def test_text_is_searchable_when_its_rows_are_there(studio: Studio) -> None:
    """002-025, 002-033, 002-035: spans and entities come with the completion of `index`."""
    film = studio.add(text=True).asset_id
    studio.do("probe")
    studio.do("sample")
    studio.do("ocr")
    before = studio.asset(film)
    studio.do("index")

    [text] = studio.db.read(lambda tx: assets.texts(tx, film))
    assert before.searchable_at is None
    assert studio.asset(film).searchable_at is not None
    assert (text["text"], text["language"]) == ("Hello @world", "en")
    assert [(one["kind"], one["value"]) for one in text["entities"]] == [("mention", "@world")]


def test_older_version_never_takes_the_place_of_a_newer_one(studio: Studio) -> None:
    film = studio.add().asset_id
    studio.finish()

    def publish(tx: Transaction) -> bool:
        return bool(tx.rows("publish", id=film, n=1))

    assert not studio.db.transact(publish)


def view(studio: Studio, asset_id: str) -> playback.View:
    seen = studio.db.read(lambda tx: playback.view(tx, asset_id, 1))
    assert seen is not None
    return seen


def qualities(studio: Studio, asset_id: str) -> list[assets.Quality]:
    return studio.db.read(lambda tx: assets.qualities(tx, asset_id, 1))


def artifacts(studio: Studio, asset_id: str) -> list[object]:
    return studio.db.read(lambda tx: list(tx.rows("artifacts", asset_id=asset_id, version=1)))


def _fields(made: object) -> dict[str, object]:
    return {name: getattr(made, name) for name in made.__slots__}  # type: ignore[attr-defined]
