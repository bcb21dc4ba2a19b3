"""Clips through the client: the same here and at a server, also over a wire that is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushes import Client, Conflict, Invalid, NotFound
from tests.client.server import Served, Wire
from tests.library.studio import CLIP, Studio


@pytest.fixture
def film(studio: Studio) -> str:
    film = studio.add().asset_id
    studio.finish()
    return film


def test_clip_is_planned_made_and_brought(
    client: Client, studio: Studio, film: str, tmp_path: Path
):
    """002-044: typed, and the same through both doors."""
    planned = client.clips.plan(film, 5_000, 8_000)
    asked = client.clips.create(film, 5_000, 8_000, title="The vote", expires_in=3_600)
    with pytest.raises(Conflict, match="not ready"):
        client.clips.download(asked.clip_id, tmp_path)
    studio.finish()

    path = client.clips.download(asked.clip_id, tmp_path)
    named = client.clips.download(asked.clip_id[-8:], tmp_path / "vote.mp4")

    assert (planned.actual_start, planned.clip_id) == (asked.actual_start, None)
    assert client.job(asked.job_id).wait(10).status == "completed"
    assert path == tmp_path / f"{asked.clip_id}.mp4"
    assert path.read_bytes() == named.read_bytes() == CLIP
    assert [one.title for one in client.clips.list(video_id=film).items] == ["The vote"]
    assert client.clips.create(film, 5_000, 8_000).created is False
    assert client.clips.delete(asked.clip_id).clip_id == asked.clip_id
    with pytest.raises(NotFound):
        client.clips.show(asked.clip_id)


def test_wrong_wishes_are_refused_the_same_way(client: Client, film: str):
    """B-HTTP-7."""
    for start, end, more in ((5, 5, {}), (0, 10**9, {}), (0, 1_000, {"mode": "slow"})):
        with pytest.raises(Invalid):
            client.clips.create(film, start, end, **more)
    assert client.clips.list().items == []


def test_download_goes_on_after_a_cut(server: Served, studio: Studio, film: str, tmp_path: Path):
    with Client(server.url, key=server.key) as far:
        asked = far.clips.create(film, 5_000, 8_000)
    studio.finish()

    with Wire(server.url, [-5], only=b"/file") as wire, Client(wire.url, key=server.key) as far:
        path = far.clips.download(asked.clip_id, tmp_path / "clip.mp4")

    assert wire.cuts == []
    assert path.read_bytes() == CLIP
    assert [one.name for one in tmp_path.glob("clip*")] == ["clip.mp4"]
