"""Files in one folder: where they may lie, how they are known again, how they go."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rushes.errors import Invalid, NotFound
from rushes.storage.local import LocalStorage, bring
from tests.disk import other_disk, small_disk

KEY = "objects/a/7-1/720p/00001.m4s"
ODD = (
    *("", "x", "/etc/passwd", "a/../b", "../a/b", "a/..", "./a/b", "a//b", "a/b/", "a/.hidden"),
    *(".hidden/a", "a/b c", "a/b\n", "a/\x00", "a\\b/c", "a/ü", "a/b:c", "~/a", "a/" + "b" * 500),
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path / "data")


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    with other_disk() as folder:
        yield folder


@pytest.mark.parametrize("key", ODD, ids=repr)
def test_key_that_could_lead_elsewhere_is_refused(storage: LocalStorage, key: str):
    with pytest.raises(Invalid, match="not the key of a file"):
        storage.path(key)


def test_key_and_path_of_a_file_are_two_names_of_one_thing(storage: LocalStorage):
    """001-019."""
    path = storage.path(KEY)

    assert path == storage.root / "objects" / "a" / "7-1" / "720p" / "00001.m4s"
    assert storage.key(path) == KEY


def test_file_that_is_not_there_is_not_found(storage: LocalStorage):
    storage.path(KEY).mkdir(parents=True)

    with pytest.raises(NotFound, match=KEY):
        storage.existing(KEY)


@pytest.mark.parametrize("size", [1, (1 << 20) + 1, 3 << 20])
def test_sealed_file_is_known_by_its_size_and_its_hash(storage: LocalStorage, size: int):
    """001-022: the hash is that of what lies on the disk."""
    content = os.urandom(size)
    path = write(storage, KEY, content)

    [sealed] = storage.seal([path])

    assert (sealed.bytes, sealed.sha256) == (size, hashlib.sha256(content).hexdigest())
    assert storage.sha256(KEY) == sealed.sha256


def test_sealing_brings_the_file_and_every_folder_above_it_to_the_disk(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
):
    """001-021: all of it reaches the disk before a row can name it."""
    path = write(storage, KEY)
    synced: list[Path] = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append(Path(f"/proc/self/fd/{fd}").resolve())
    )

    storage.seal([path])

    assert synced[0] == path
    assert set(synced[1:]) == {*path.parents} - {*storage.root.parents}


def test_file_outside_the_folder_cannot_be_sealed(storage: LocalStorage, tmp_path: Path):
    (tmp_path / "stray").write_bytes(b"x")

    with pytest.raises(ValueError, match="not in the subpath"):
        storage.seal([tmp_path / "stray"])


def test_deleted_file_takes_the_folders_along_that_it_leaves_empty(storage: LocalStorage):
    write(storage, KEY)
    neighbour = write(storage, "objects/a/8-1/720p/00001.m4s")

    storage.delete(KEY)

    assert neighbour.exists()
    assert [folder.name for folder in (storage.root / "objects/a").iterdir()] == ["8-1"]


def test_folder_itself_is_never_deleted(storage: LocalStorage):
    write(storage, KEY)

    storage.delete(KEY)

    assert list(storage.root.iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
def test_file_that_is_gone_can_be_deleted_again(storage: LocalStorage, there: bool):
    if there:
        write(storage, KEY)

    storage.delete(KEY)
    storage.delete(KEY)

    assert not (storage.root / "objects").exists()


def test_folder_vanishes_in_one_step(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch):
    """Whoever dies while deleting leaves nothing that looks whole and is not."""
    folder = write(storage, KEY).parents[1]
    monkeypatch.setattr("shutil.rmtree", lambda path, **_: None)
    storage.remove(folder)
    monkeypatch.undo()
    half_done = list(storage.root.iterdir())

    storage.empty_trash()

    assert [path.name for path in half_done] == ["trash"]
    assert list(storage.root.iterdir()) == []


def test_folder_that_is_gone_can_be_removed_again(storage: LocalStorage):
    storage.remove(storage.root / "objects" / "a")


def test_folder_on_another_disk_is_removed_as_well(storage: LocalStorage, elsewhere: Path):
    storage.root.mkdir()
    (storage.root / "objects").symlink_to(elsewhere)
    folder = write(storage, KEY).parents[1]

    storage.remove(folder)

    assert not folder.exists()


def test_free_room_is_that_of_the_disk(storage: LocalStorage, elsewhere: Path):
    disk = os.statvfs(elsewhere)

    free = LocalStorage(elsewhere).free_bytes()

    assert 0 < free <= disk.f_blocks * disk.f_frsize
    assert storage.free_bytes() > 0


def test_place_where_nobody_can_write_has_no_room(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x")

    assert LocalStorage(tmp_path / "file").free_bytes() == 0
    assert LocalStorage(Path("/proc/nothing")).free_bytes() == 0


def test_read_only_disk_has_no_room(tmp_path: Path):
    with small_disk(tmp_path / "disk", "size=1m,ro") as folder:
        assert LocalStorage(folder).free_bytes() == 0


def test_lock_is_held_by_one_process_at_a_time(storage: LocalStorage):
    ask = (
        "import sys, pathlib; from rushes.storage.local import LocalStorage\n"
        "with LocalStorage(pathlib.Path(sys.argv[1])).locked('files') as mine: print(mine)"
    )

    with storage.locked("files") as mine, storage.locked("layout") as other:
        asked = subprocess.run(
            [sys.executable, "-c", ask, storage.root], capture_output=True, text=True, check=True
        )
        with storage.locked("files") as again:
            pass

    with storage.locked("files", wait=True) as free:
        pass
    assert (mine, other, asked.stdout.strip(), again, free) == (True, True, "False", False, True)


def test_second_place_of_a_file_is_a_link(storage: LocalStorage):
    source, target = write(storage, KEY), storage.path("assets/a/v1/720p/00001.m4s")

    linked = [bring(source, target), bring(source, target)]

    assert linked == [True, True]
    assert target.samefile(source)


def test_second_place_on_another_disk_is_a_whole_copy(storage: LocalStorage, elsewhere: Path):
    source, target = write(storage, KEY, b"film"), elsewhere / "v1" / "00001.m4s"

    linked = bring(source, target)

    assert not linked
    assert [path.read_bytes() for path in target.parent.iterdir()] == [b"film"]


def test_copy_that_fails_leaves_nothing(storage: LocalStorage, elsewhere: Path):
    with pytest.raises(FileNotFoundError):
        bring(storage.path(KEY), elsewhere / "v1" / "00001.m4s")

    assert list((elsewhere / "v1").iterdir()) == []


def write(storage: LocalStorage, key: str, content: bytes = b"x") -> Path:
    path = storage.path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
