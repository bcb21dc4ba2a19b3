"""What a worker elsewhere says fits on the wire, whatever a stage has said."""

from __future__ import annotations

from rushes.domain.failure import MESSAGE_LIMIT, failure
from rushes.domain.outcome import Beat, Failed
from rushes.stages.process import Execution
from rushes.worker.protocol import LONGEST_TEXT, Ended, Line, Run, Sign


def test_failure_of_any_stage_can_be_sent():
    """A stage of somebody's own names its errors as it likes, and a worker here takes them."""
    odd = failure("no such code!", "it broke", error_type="E" * 500, hint="h" * 10_000)

    told = Ended.of(Failed(1, 1, odd)).failure

    assert told is not None
    assert (told.error, told.error_code) == ("it broke", "PROCESSING_ERROR")
    assert (len(told.error_type), len(told.hint or "")) == (200, MESSAGE_LIMIT)


def test_long_message_is_cut_and_does_not_stop_the_heartbeat():
    beat = Beat(id=1, epoch=1, moved=True, progress=40, message="m" * 10_000, phase="p" * 10_000)

    told = Sign.of(beat)

    assert (told.progress, len(told.message or ""), len(told.phase or "")) == (
        *(40, MESSAGE_LIMIT),
        MESSAGE_LIMIT,
    )


def test_what_a_stage_ran_and_said_is_cut_to_what_is_kept():
    ran = Execution(
        type="t" * 200,
        command=("x", "y" * 200_000),
        started_at=1,
        duration_ms=2,
        exit_code=0,
        stdout="",
        stderr="",
    )
    line = {"level": "info", "message": "hello", "metadata": "[" + "1," * 10_000 + "1]"}

    run, said = Run.of(ran), Line.of(line)

    assert (len(run.type), [len(word) for word in run.command]) == (100, [1, LONGEST_TEXT])
    assert (said.message, said.metadata) == ("hello", None)
