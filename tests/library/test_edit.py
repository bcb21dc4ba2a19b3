"""What a person does to a film: name it, delete it, take that back. On both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from rushes.domain.job import Status
from rushes.engine.engine import millis
from rushes.errors import Conflict, Invalid, NotFound
from rushes.library import clips, collect, edit, retranscode
from rushes.library.clips import Wish
from rushes.store import assets, jobs
from tests.library.studio import Studio
from tests.world import NOBODY

DAY = millis(timedelta(days=1))


def titles(studio: Studio, *, deleted: bool = False) -> list[str]:
    return [one.title for one in studio.db.read(lambda tx: assets.list_page(tx, deleted=deleted))]


def status(studio: Studio, job_id: str) -> Status:
    return studio.db.read(lambda tx: jobs.get(tx, job_id)).status


def test_title_and_tags_are_changed_apart(studio: Studio) -> None:
    film = studio.add(title="A day", tags=("one",)).asset_id

    named = edit.edit(studio.library, film, title="A night")
    tagged = edit.edit(studio.library, film, tags=("two", "two", "three"))

    assert (named.title, named.tags) == ("A night", ("one",))
    assert (tagged.title, tagged.tags) == ("A night", ("two", "three"))
    assert (named.revision, tagged.revision) == (2, 3)


def test_of_two_people_who_edit_the_same_revision_one_is_told(studio: Studio) -> None:
    film = studio.add().asset_id
    start = Barrier(2)

    def person(title: str) -> bool:
        start.wait()
        try:
            edit.edit(studio.library, film, title=title, revision=1)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(person, ("ann's", "bob's")))

    assert sorted(outcomes) == [False, True]
    assert studio.asset(film).title == ("ann's" if outcomes[0] else "bob's")


@pytest.mark.parametrize(
    "wishes", [{"title": "x\x00"}, {"title": "x" * 501}, {"tags": ("t",) * 51}, {"tags": (" ",)}]
)
def test_words_that_cannot_be_kept_are_refused(studio: Studio, wishes: dict[str, object]) -> None:
    film = studio.add(title="A day").asset_id

    with pytest.raises(Invalid):
        edit.edit(studio.library, film, **wishes)  # type: ignore[arg-type]

    assert (studio.asset(film).title, studio.asset(film).revision) == ("A day", 1)


def test_deleted_film_is_hidden_and_comes_back(studio: Studio) -> None:
    """000-050: a soft delete."""
    film = studio.add(title="A day").asset_id
    studio.finish()

    deleted = edit.delete(studio.library, film)
    hidden = (titles(studio), titles(studio, deleted=True))
    restored = edit.restore(studio.library, film)

    assert hidden == ([], ["A day"])
    assert deleted.purged_at == (deleted.asset.deleted_at or 0) + 30 * DAY
    assert (restored.status, restored.deleted_at, titles(studio)) == ("ready", None, ["A day"])


def test_job_of_a_deleted_film_is_stopped_and_can_be_retried(studio: Studio) -> None:
    """000-050: nobody works on a film that is deleted."""
    added = studio.add()
    studio.do("probe")
    held = studio.take("transcode", 0)

    deleted = edit.delete(studio.library, added.asset_id, by="ann")
    accepted = studio.end(held, studio.result(held))

    job = studio.db.read(lambda tx: jobs.get(tx, added.job_id))
    assert deleted.stopped_job == added.job_id
    assert (job.status, job.killed_by_name, accepted) == (Status.KILLED, "ann", False)
    assert job.killed_reason == "the video was deleted"


def test_clips_of_a_deleted_film_are_not_cut(studio: Studio) -> None:
    """000-050: nobody works on a film that is deleted."""
    film = studio.add().asset_id
    studio.finish()
    asked = clips.request(studio.library, studio.asset(film), Wish(t_start=5_000, t_end=8_000))

    edit.delete(studio.library, film, by="ann")

    assert status(studio, asked.clip.job_id) is Status.KILLED


def test_finished_job_of_a_deleted_film_stays_finished(studio: Studio) -> None:
    added = studio.add()
    studio.finish()

    deleted = edit.delete(studio.library, added.asset_id)

    assert deleted.stopped_job is None
    assert status(studio, added.job_id) is Status.COMPLETED


def test_deleted_film_takes_no_changes(studio: Studio) -> None:
    film = studio.add().asset_id
    edit.delete(studio.library, film)

    for change in (
        lambda: edit.edit(studio.library, film, title="x"),
        lambda: edit.delete(studio.library, film),
        lambda: retranscode.retranscode(studio.library, film, retranscode.Again()),
    ):
        with pytest.raises(Conflict):
            change()


def test_film_that_is_not_deleted_cannot_be_restored(studio: Studio) -> None:
    film = studio.add().asset_id

    with pytest.raises(Conflict):
        edit.restore(studio.library, film)


def test_film_that_does_not_exist_is_not_found(studio: Studio) -> None:
    for act in (edit.edit, edit.delete, edit.restore):
        with pytest.raises(NotFound):
            act(studio.library, NOBODY)


def test_film_can_be_restored_until_it_is_purged(studio: Studio) -> None:
    film = studio.add().asset_id
    deleted_at = edit.delete(studio.library, film).asset.deleted_at or 0

    collect.run_once(studio.library, now=deleted_at + 30 * DAY - 1)
    edit.restore(studio.library, film)
    edit.delete(studio.library, film, now=deleted_at)
    collect.run_once(studio.library, now=deleted_at + 30 * DAY)

    with pytest.raises(NotFound):
        edit.restore(studio.library, film)
    assert not (studio.storage.root / "originals" / film).exists()
