"""A new version beside the old one; the old one plays until the switch."""

from __future__ import annotations

import json

import pytest

from rushes.domain.asset import AssetStatus, QualityStatus
from rushes.domain.outcome import Failed
from rushes.domain.task import Claim
from rushes.engine.operator import kill
from rushes.errors import ActiveJobExists, Conflict, Invalid, NotFound
from rushes.library import playback
from rushes.library.retranscode import Again, retranscode
from rushes.stages import index as _index  # noqa: F401  (registers the stage)
from rushes.stages.context import TaskContext
from rushes.stages.registry import STAGES
from rushes.store import assets
from rushes.worker.executor import execute
from tests.library.studio import Studio
from tests.world import NOBODY


def published(studio: Studio) -> str:
    added = studio.add()
    studio.finish()
    return added.asset_id


def without_480p(studio: Studio) -> str:
    added = studio.add()
    studio.do("probe")
    held = studio.take("transcode", 0)
    assert studio.end(held, studio.encoded(held, without=("480p",)))
    studio.finish()
    return added.asset_id


def keys(studio: Studio, asset_id: str, version: int) -> dict[str, str]:
    rows = studio.db.read(lambda tx: list(tx.rows("artifacts", asset_id=asset_id, version=version)))
    return {row["name"].partition(f"/v{version}/")[2]: row["key"] for row in rows}


def test_old_version_plays_until_the_new_one_is_published(studio: Studio) -> None:
    """000-049, 000-074, 000-076, 000-079, 000-163: nothing goes before the new version is there."""
    film = published(studio)

    retranscode(studio.library, film, Again())
    studio.do("probe")
    studio.do("transcode", 0)
    meanwhile = studio.asset(film)
    studio.finish()
    afterwards = studio.asset(film)

    assert (meanwhile.status, meanwhile.version, meanwhile.watchable) == (AssetStatus.READY, 1, 1)
    assert (afterwards.status, afterwards.version) == (AssetStatus.READY, 2)
    assert set(keys(studio, film, 1).values()).isdisjoint(keys(studio, film, 2).values())


def test_version_that_is_killed_leaves_the_old_one_playing(studio: Studio) -> None:
    """000-076, 000-079."""
    film = published(studio)

    again = retranscode(studio.library, film, Again())
    studio.do("probe")
    kill(studio.engine, again.job_id)

    asset = studio.asset(film)
    assert (asset.status, asset.watchable) == (AssetStatus.READY, 1)
    seen = studio.db.read(lambda tx: playback.view(tx, film, 1))
    assert seen is not None
    assert "ENDLIST" in playback.playlists(seen)["360p/playlist.m3u8"]


def test_missing_quality_is_made_and_the_rest_taken_over(studio: Studio) -> None:
    """000-075, 000-089, 001-020: the same files under a new name, not one of them made again."""
    film = without_480p(studio)
    old = keys(studio, film, 1)

    retranscode(studio.library, film, Again(missing_only=True))
    studio.finish()

    new = keys(studio, film, 2)
    asset = studio.asset(film)
    assert asset.version == 2
    kept = [name for name in old if name.startswith(("360p/", "audio/", "poster", "storyboard"))]
    assert all(new[name] == old[name] for name in kept)
    statuses = studio.db.read(lambda tx: assets.qualities(tx, film, 2))
    assert {quality.status for quality in statuses} == {QualityStatus.COMPLETED}
    seen = studio.db.read(lambda tx: playback.view(tx, film, 2))
    assert seen is not None
    assert {made.name for made in seen.renditions} == {"480p", "360p", "audio/en"}


def test_nothing_missing_is_said_so(studio: Studio) -> None:
    film = published(studio)

    with pytest.raises(Conflict, match="missing"):
        retranscode(studio.library, film, Again(missing_only=True))


def test_quality_above_the_source_is_refused(studio: Studio) -> None:
    film = published(studio)

    with pytest.raises(Invalid, match="possible: 480p, 360p"):
        retranscode(studio.library, film, Again(qualities=("1080p",)))


def test_one_active_job_per_film(studio: Studio) -> None:
    """000-004, 002-052: a film and its re-transcode share the asset's key."""
    film = studio.add().asset_id

    with pytest.raises(ActiveJobExists):
        retranscode(studio.library, film, Again())

    assert studio.asset(film).newest == 1


def test_unknown_film_is_not_found(studio: Studio) -> None:
    with pytest.raises(NotFound):
        retranscode(studio.library, "01a1e28c-d256-7000-af5f-ef2d529eb1f4", Again())


def test_film_of_which_nothing_could_be_read_says_how_to_have_it_read_again():
    """To retry its job is not enough: the batches of a part that failed are not dealt out again."""
    params = json.dumps({"asset": NOBODY})
    claim = Claim(1, 1, "hands#1", NOBODY, "index", "index", 0, 1, 3, 60_000, params)

    outcome = execute(TaskContext(claim, results=lambda _claim: []), {"index": STAGES["index"]})

    assert isinstance(outcome, Failed)
    assert outcome.failure.error_code == "DEPENDENCY_FAILED"
    assert f"rushes retranscode {NOBODY[-8:]} --text" in str(outcome.failure.hint)
