"""Named places where a test may interfere; inert unless armed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rushes.errors import Invalid, Unavailable
from rushes.observability import failpoints

PLACE = "complete.after_commit"


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    failpoints.arm("")


def test_place_that_nobody_armed_does_nothing():
    failpoints.hit(PLACE)


def test_armed_place_raises():
    failpoints.arm(f"{PLACE}=error")

    with pytest.raises(Unavailable, match=PLACE):
        failpoints.hit(PLACE)


def test_armed_place_can_wait_for_its_turn():
    failpoints.arm(f"{PLACE}=error@2")
    failpoints.hit(PLACE)

    with pytest.raises(Unavailable):
        failpoints.hit(PLACE)

    failpoints.hit(PLACE)


def test_several_places_are_armed_at_once_and_all_disarmed_together():
    failpoints.arm(f"{PLACE}=error, heartbeat.before=delay:0")
    failpoints.hit("heartbeat.before")

    failpoints.arm("")

    failpoints.hit(PLACE)


def test_action_of_a_test_runs_until_it_is_taken_away():
    seen: list[int] = []
    failpoints.call(PLACE, lambda: seen.append(1))
    failpoints.hit(PLACE)
    failpoints.call(PLACE, None)

    failpoints.hit(PLACE)

    assert seen == [1]


def test_kill_ends_the_process_without_a_word():
    program = (
        "from rushes.observability import failpoints as f;"
        f"f.arm('{PLACE}=kill'); f.hit('{PLACE}'); print('alive')"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == b""


@pytest.mark.parametrize(
    "entry",
    [
        "nowhere=error",
        f"{PLACE}=explode",
        PLACE,
        f"{PLACE}=",
        f"{PLACE}=delay:soon",
        f"{PLACE}=error@often",
        f"{PLACE}=error@",
        "=",
    ],
)
def test_entry_that_names_no_failpoint_is_refused(entry: str):
    with pytest.raises(Invalid, match="not a failpoint"):
        failpoints.arm(entry)
