"""Workers come, say that they are there, and go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rushes.domain.worker import Mode, Usage, Worker
from rushes.engine import operator
from rushes.engine.presence import Introduction, leave, present, register, register_beside
from rushes.engine.recovery import mark_offline
from rushes.errors import Conflict, Invalid, NotFound
from rushes.store import workers
from tests.world import World

ANN = Introduction(
    name="ann",
    lanes={"default": 4, "gpu": 1},
    kinds=frozenset({"noop"}),
    capabilities=frozenset({"gpu"}),
    hostname="box",
    version="1.2.3",
    metadata={"pod": "rushes-7"},
)


def test_registered_worker_is_shown_with_all_it_said(world: World):
    """000-025…028, 000-038, 000-104, 003-015…017, 003-047, 003-049."""
    owner = register(world.engine, ANN, now=world.now)

    worker = _worker(world)
    assert (worker.owner, worker.mode, worker.type) == (owner, "active", "local")
    assert (worker.hostname, worker.version, worker.slots) == ("box", "1.2.3", 5)
    assert (worker.capabilities, worker.kinds) == (["gpu"], ["noop"])
    assert worker.metadata == {"pod": "rushes-7"}
    assert worker.started_at == worker.last_heartbeat == world.now


def test_new_start_of_a_worker_keeps_its_id_and_totals_and_changes_its_owner(world: World):
    """000-025, 003-018, 003-047 (D2: a new incarnation per start)."""
    first = world.worker()
    world.submit()
    world.finish(first)
    before = _worker(world)
    world.tick(5)

    second = world.worker()

    after = _worker(world)
    assert (after.id, after.tasks_done) == (before.id, 1)
    assert (after.owner, after.started_at) == (second, world.now)
    assert first != second


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"name": ""}, "a worker's name is not empty"),
        ({"name": "a#b"}, "has no '#'"),
        ({"name": "a\x00b"}, "contains a NUL"),
        ({"name": "a" * 65}, "the limit is 64"),
        ({"lanes": {}}, "at least one slot in every lane"),
        ({"lanes": {"default": 0}}, "at least one slot in every lane"),
        ({"metadata": {"x": "y" * 10_240}}, "the metadata has"),
        ({"capabilities": frozenset({"y" * 10_240})}, "the list of capabilities has"),
        ({"metadata": {"x": "\x00"}}, "the metadata contains a NUL"),
    ],
)
def test_bad_introduction_is_refused_in_one_line(
    world: World, change: dict[str, Any], sentence: str
):
    """000-103."""
    with pytest.raises(Invalid, match=sentence):
        register(world.engine, replace(ANN, **change), now=world.now)

    assert world.db.read(workers.list_all)[0] == []


def test_heartbeat_says_that_a_worker_is_there_and_hears_what_is_asked(world: World):
    """000-026, 000-041, 003-048."""
    owner = world.worker()
    world.tick(30)
    before = present(world.engine, owner, now=world.now)
    operator.drain(world.engine, _worker(world).id)

    after = present(world.engine, owner, now=world.now)

    assert (before, after) == (Mode.ACTIVE, Mode.DRAINING)
    assert _worker(world).last_heartbeat == world.now


def test_heartbeat_tells_how_busy_the_machine_is_until_the_next_start(world: World):
    owner = world.worker()
    before = _worker(world).usage

    present(world.engine, owner, Usage(70, 40), now=world.now)
    present(world.engine, owner, now=world.now)
    told = _worker(world).usage
    world.worker()

    assert (before, told, _worker(world).usage) == (None, Usage(70, 40), None)


def test_process_whose_name_was_taken_over_hears_it(world: World):
    """000-025 (D2)."""
    old = world.worker()
    world.worker()

    with pytest.raises(Conflict, match="another process works as ann now"):
        present(world.engine, old, now=world.now)


def test_claims_of_a_process_whose_name_was_taken_over_stay_its_own_until_they_end(world: World):
    """000-113 (C3)."""
    old = world.worker()
    world.submit()
    [claim] = world.claim(old)
    world.worker()

    assert world.beat(claim) is None
    assert world.complete(claim)


def test_silent_worker_is_marked_offline_once_and_its_tasks_are_left(world: World):
    """000-039, 000-055, 000-093, 000-098, 000-108, 000-113, 003-055 (C3, C4, C45)."""
    owner = world.worker()
    world.submit()
    [claim] = world.claim(owner)
    world.tick(timedelta(minutes=5, milliseconds=1))

    marked = [mark_offline(world.engine, now=world.now), mark_offline(world.engine, now=world.now)]

    assert marked == [["ann"], []]
    assert world.task(claim.id).state == "running"
    assert [event.type for event in world.events()].count("worker.offline") == 1


def test_worker_is_not_offline_at_the_threshold(world: World):
    """000-093, 000-138."""
    world.worker()
    world.tick(timedelta(minutes=5))

    assert mark_offline(world.engine, now=world.now) == []


def test_worker_that_never_beat_is_found_by_its_registration(world: World):
    """000-093, 000-119, 000-163."""
    world.worker()
    world.tick(timedelta(minutes=6))

    assert mark_offline(world.engine, now=world.now) == ["ann"]


def test_draining_worker_that_dies_is_marked_offline(world: World):
    """003-054 (C45)."""
    world.worker()
    operator.drain(world.engine, _worker(world).id)
    world.tick(timedelta(minutes=6))

    assert mark_offline(world.engine, now=world.now) == ["ann"]


def test_worker_that_stopped_by_itself_is_not_told_offline(world: World):
    """003-051."""
    leave(world.engine, world.worker(), now=world.now)
    world.tick(timedelta(minutes=6))

    assert mark_offline(world.engine, now=world.now) == []


def test_heartbeat_brings_an_offline_worker_back_and_tells_it(world: World):
    """000-039, 000-110, 000-148 (C45)."""
    owner = world.worker()
    world.tick(timedelta(minutes=6))
    mark_offline(world.engine, now=world.now)

    present(world.engine, owner, now=world.now)
    present(world.engine, owner, now=world.now)

    types = [event.type for event in world.events()]
    assert types.count("worker.online") == 1
    assert mark_offline(world.engine, now=world.now) == []


def test_load_of_a_worker_is_what_it_holds(world: World):
    """000-026, 000-052, 000-070, 000-085, 003-017."""
    owner = world.worker()
    world.submit()
    loads = [_worker(world).load]
    [claim] = world.claim(owner)
    loads.append(_worker(world).load)
    world.complete(claim)

    assert [*loads, _worker(world).load] == [0, 1, 0]


def test_name_of_a_live_worker_is_not_given_twice(world: World):
    for name in ("box", "box-2"):
        register(world.engine, replace(ANN, name=name))
    register(world.engine, replace(ANN, name="gone"), now=world.now)

    names = [
        register_beside(world.engine, replace(ANN, name=name)).partition("#")[0]
        for name in ("box", "gone", "other")
    ]

    assert names == ["box-3", "gone", "other"]


def test_worker_is_found_by_its_name_or_the_beginning_of_its_id(world: World):
    world.worker("ann")
    world.worker("bob")
    ann = _worker(world, "ann")

    found = world.db.read(lambda tx: workers.find(tx, ann.id))

    assert found == ann


@pytest.mark.parametrize("text", ["", "eve", "#"])
def test_worker_that_nobody_knows_is_not_found(world: World, text: str):
    world.worker()

    with pytest.raises(NotFound, match="there is no worker"):
        world.db.read(lambda tx: workers.find(tx, text))


def _worker(world: World, name: str = "ann") -> Worker:
    return world.db.read(lambda tx: workers.find(tx, name))
