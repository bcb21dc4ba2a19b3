"""Films as plain files: links and playlists that anybody can play, at every moment."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rushes.app import maintained, open_app
from rushes.library import layout
from rushes.library.retranscode import Again, retranscode
from rushes.media.rendition import MASTER
from rushes.settings import Settings
from tests.disk import other_disk
from tests.library.shelf import check_film, folder, holes, named
from tests.library.studio import Studio
from tests.world import sql


def test_finished_film_is_a_folder_that_plays(studio: Studio):
    """000-073: all that the playlists name is there, without a hole."""
    film = studio.add().asset_id
    studio.finish()

    assert layout.run_once(studio.library) == 1

    top = folder(studio.library, film)
    assert named(top / MASTER) == {
        *("v1/360p/playlist.m3u8", "v1/480p/playlist.m3u8", "v1/audio/en/playlist.m3u8"),
    }
    assert holes(top) == []
    assert sorted(path.name for path in (top / "v1").glob("*.*")) == [
        *("master.m3u8", "poster.jpg", "storyboard-0.jpg", "storyboard.vtt"),
    ]
    assert all("#EXT-X-ENDLIST" in path.read_text() for path in top.rglob("playlist.m3u8"))


def test_files_are_links_to_where_they_lie(studio: Studio):
    film = studio.add().asset_id
    studio.finish()

    layout.run_once(studio.library)

    segment = folder(studio.library, film) / "v1/360p/00000.m4s"
    [source] = (studio.storage.root / "objects" / film).glob("*/360p/00000.m4s")
    assert segment.samefile(source)


def test_film_that_grows_shows_what_is_there(studio: Studio):
    """An unfinished playlist has no end, and names no file that is not there."""
    film = studio.add().asset_id
    studio.do("probe")
    layout.run_once(studio.library)
    planned = list(folder(studio.library, film).rglob("*.m3u8"))

    studio.do("transcode", 0)
    studio.do("audio")
    layout.run_once(studio.library)

    playlist = folder(studio.library, film) / "v1/480p/playlist.m3u8"
    assert planned == []
    assert named(playlist) == {"init.mp4", "00000.m4s"}
    assert "#EXT-X-ENDLIST" not in playlist.read_text()
    assert holes(folder(studio.library, film)) == []


def test_nothing_is_laid_out_twice(studio: Studio):
    studio.add()
    studio.finish()
    layout.run_once(studio.library)

    assert layout.run_once(studio.library) == 0


def test_playlist_is_replaced_only_after_every_file_it_names_is_there(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """Looks at the folder before every link and every rename, like a reader who never rests."""
    film = studio.add().asset_id
    seen: list[list[str]] = []
    for where, name in ((Path, "replace"), (layout, "bring")):
        watch(monkeypatch, where, name, lambda: seen.append(holes(folder(studio.library, film))))

    for step, item in (("probe", 0), ("transcode", 0), ("audio", 0), ("transcode", 1)):
        studio.do(step, item)
        layout.run_once(studio.library)
    studio.finish()
    layout.run_once(studio.library)

    assert len(seen) > 20
    assert {hole for found in seen for hole in found} == set()


def test_process_that_dies_on_the_way_is_made_up_for(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """Some die among the files, some among the playlists; the last one gets through."""
    film = studio.add().asset_id
    studio.finish()
    lives: Iterator[int] = iter(())

    def step() -> None:
        if not next(lives, 1):
            raise KeyboardInterrupt

    for where, name in ((Path, "replace"), (layout, "bring")):
        watch(monkeypatch, where, name, step)
    for steps in (0, 7, 12, 3):
        lives = iter([1] * steps + [0])
        with pytest.raises(KeyboardInterrupt):
            layout.run_once(studio.library)
        assert holes(folder(studio.library, film)) == []
    lives = iter(())

    assert layout.run_once(studio.library) == 1

    check_film(studio.library, film, 1)


def test_process_that_dies_before_its_note_does_the_work_again(studio: Studio):
    film = studio.add().asset_id
    studio.finish()
    layout.run_once(studio.library)
    before = {path: path.stat().st_ino for path in folder(studio.library, film).rglob("*.m4s")}
    studio.db.transact(lambda tx: tx.run("touch_version", asset_id=film, n=1))

    assert layout.run_once(studio.library) == 1

    assert {path: path.stat().st_ino for path in before} == before
    check_film(studio.library, film, 1)


def lose_files(studio: Studio, film: str) -> None:
    shutil.rmtree(studio.storage.root / "objects" / film)


def damage_plan(studio: Studio, film: str) -> None:
    sql(studio.db, f"UPDATE versions SET grid = '{{' WHERE asset_id = '{film}'")


@pytest.mark.parametrize("harm", [lose_files, damage_plan])
def test_film_that_cannot_be_laid_out_does_not_stop_the_others(
    studio: Studio, caplog: pytest.LogCaptureFixture, harm: Callable[[Studio, str], None]
):
    """F-API-11, F-DK-5."""
    first = studio.add(b"one").asset_id
    studio.finish()
    harm(studio, first)
    second = studio.add(b"two").asset_id
    studio.finish()

    assert (layout.run_once(studio.library), layout.run_once(studio.library)) == (1, 0)

    assert caplog.text.count(f"version 1 of {first} cannot be laid out") == 1
    assert list(folder(studio.library, first).rglob("*.m3u8")) == []
    check_film(studio.library, second, 1)


def test_folder_that_cannot_be_written_does_not_end_a_process_with_a_trace(tmp_path: Path):
    """F-DK-2: the last look at what was finished is a courtesy."""
    lock = tmp_path / f".{layout.LOCK}.lock"
    lock.mkdir()

    with open_app(Settings(data=tmp_path)) as rushes, maintained(rushes, "the test"):
        pass

    assert lock.is_dir()


def test_slow_process_does_not_put_an_old_playlist_in_the_place_of_a_new_one(studio: Studio):
    studio.add()
    studio.finish()

    with studio.storage.locked(layout.LOCK):
        assert layout.run_once(studio.library) == 0

    assert layout.run_once(studio.library) == 1


def test_disk_without_links_gets_copies(studio: Studio):
    film = studio.add().asset_id
    studio.finish()

    with other_disk() as elsewhere:
        (studio.storage.root / "assets").symlink_to(elsewhere)
        layout.run_once(studio.library)

        assert (folder(studio.library, film) / "v1/360p/00000.m4s").stat().st_nlink == 1
        check_film(studio.library, film, 1)


def test_new_version_takes_over_when_it_is_published_and_not_before(studio: Studio):
    """000-076: the old version plays until the switch."""
    film = studio.add().asset_id
    studio.finish()
    layout.run_once(studio.library)
    retranscode(studio.library, film, Again(qualities=("480p",)))
    for step, item in (("probe", 0), ("transcode", 0), ("transcode", 1)):
        studio.do(step, item)
    layout.run_once(studio.library)
    before = (folder(studio.library, film) / MASTER).read_text()

    studio.finish()
    layout.run_once(studio.library)

    after = (folder(studio.library, film) / MASTER).read_text()
    assert "v1/480p" in before
    assert before.replace("v1/", "v2/") == after
    assert holes(folder(studio.library, film)) == []
    check_film(studio.library, film, 2)


def watch(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, look: Callable[[], None]
) -> None:
    """Call `look` before every call of a function."""
    real = getattr(where, name)

    def watched(*arguments: object, **options: object) -> object:
        look()
        return real(*arguments, **options)

    monkeypatch.setattr(where, name, watched)
