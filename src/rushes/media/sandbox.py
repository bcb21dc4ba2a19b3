"""Everything that opens a foreign file happens here: in a child, behind walls, under limits.

`run` starts a program, `call` a Python function. The parent sees text, JSON and the files that
it asked for; the child sees one folder to write in, the files it was given, no environment and
no network. How strong the walls are depends on the machine: `level` says it.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rushes import errors
from rushes.errors import Permanent, Retryable, StageError, ToolFailed
from rushes.media.walls import isolation
from rushes.media.walls.isolation import Level
from rushes.media.walls.process import Order, Output, Stream, Watch, supervise

__all__ = ["Level", "Limits", "Output", "Watch", "call", "check", "level", "run"]

GIB = 1024**3
CHILD = """
import sys
if sys.argv[1] not in sys.path: sys.path.insert(0, sys.argv[1])
from rushes.media.child.entry import main
main()
"""
FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
LIMITS = (signal.SIGXCPU, signal.SIGXFSZ)
REPORTED = {128 + number for number in (*FAULTS, *LIMITS, signal.SIGKILL, signal.SIGSYS)}


NICE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one program may use. `isolation` names a level other than the best one."""

    wall_s: float = 3600
    cpu_s: int = 4 * 3600
    memory_bytes: int = 4 * GIB
    file_bytes: int = 64 * GIB
    open_files: int = 256
    nice: int = NICE
    isolation: Level | None = None

    def resources(self) -> dict[str, int]:
        """Return the limits that the kernel keeps."""
        return {
            "RLIMIT_CPU": self.cpu_s,
            # DATA and not AS: address space that is only reserved, as by thread stacks, is free
            "RLIMIT_DATA": self.memory_bytes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
        }


USUAL = Limits()
SILENT = Watch()


def run(
    command: Sequence[str],
    *,
    folder: Path,
    reads: Sequence[Path] = (),
    limits: Limits = USUAL,
    watch: Watch = SILENT,
    on_line: Callable[[str], None] | None = None,
) -> Output:
    """Run one program inside its walls. It may write in `folder` only; any exit code is fine."""
    job = _Job(command=command, folder=folder, reads=tuple(reads), limits=limits)
    return _run(job, watch, on_line)


def call(  # noqa: PLR0913  what to run, and where
    target: str,
    arguments: dict[str, object],
    *,
    folder: Path,
    reads: Sequence[Path] = (),
    limits: Limits = USUAL,
    watch: Watch = SILENT,
    on_message: Callable[[object], None] | None = None,
) -> object:
    """Run the function `target` ("package.module:name") in a child and return its JSON answer.

    A RushesError that it raises is raised again here. Raises Permanent or ToolFailed for a child
    that dies, and whatever `watch.tick` raises.
    """
    command = (sys.executable, "-I", "-X", "faulthandler", "-c", CHILD)
    conversation = _Conversation(on_message)
    with tempfile.TemporaryFile() as order:
        order.write(json.dumps({"target": target, "arguments": arguments}).encode())
        order.seek(0)
        job = _Job(
            command=(*command, str(isolation.IMPORTED_FROM)),
            folder=folder,
            reads=(*isolation.python_files(), *reads),
            limits=limits,
            stdin=order,
        )
        output = _run(job, watch, conversation.hear)
    return conversation.answer(output)


def level() -> Level:
    """Return which walls stand on this machine; found by trying, once."""
    return isolation.best()


def check(output: Output) -> None:
    """Raise for a program that did not end by itself: killed by the clock, a limit or a fault."""
    error = _ended_by_force(output)
    if error is not None:
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    command: Sequence[str]
    folder: Path
    reads: tuple[Path, ...]
    limits: Limits
    stdin: IO[bytes] | None = None


class _Conversation:
    """What a child says, line by line. A hostile child can say anything, so nothing is trusted."""

    def __init__(self, on_message: Callable[[object], None] | None) -> None:
        self._on_message = on_message
        self._said: dict[str, object] = {}

    def hear(self, line: str) -> None:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise ToolFailed("the child did not speak JSON", error_code="INTERNAL")
        if "told" not in said:
            self._said = said
        elif self._on_message is not None:
            self._on_message(said["told"])

    def answer(self, output: Output) -> object:
        if "error" in self._said:
            raise _again(self._said["error"])
        if "answer" in self._said and output.exit_code == 0:
            return self._said["answer"]
        check(output)
        raise ToolFailed(
            "the child ended without an answer",
            error_code="INTERNAL",
            exit_code=output.exit_code,
            stderr=output.stderr,
        )


def _run(job: _Job, watch: Watch, on_line: Callable[[str], None] | None) -> Output:
    for path in job.reads:
        if not path.exists():
            raise Permanent(f"{path.name} is not there", error_code="SOURCE_MISSING")
    limits = job.limits
    walls = isolation.Walls(
        folder=job.folder, reads=job.reads, resources=limits.resources(), nice=limits.nice
    )
    chosen = job.limits.isolation or level()
    streams = (Stream(on_line), Stream())
    order = Order(
        command=isolation.enclose(job.command, walls, chosen),
        folder=job.folder,
        environment=_environment(job.folder),
        wall_s=job.limits.wall_s,
        **({} if job.stdin is None else {"stdin": job.stdin}),
    )
    end = supervise(order, streams, watch)
    output = Output(
        command=tuple(job.command),
        exit_code=_exit_code(end.exit_code, chosen),
        duration_ms=end.duration_ms,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        stopped="wall" if end.late else None,
    )
    watch.ran(output)
    return output


def _environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder.absolute()),
        "TMPDIR": str(folder.absolute()),
        "LC_ALL": "C.UTF-8",
        # a static ffmpeg crashes on MPEG-TS when its glibc loads the character tables of another
        "GCONV_PATH": "/none",
    }


def _exit_code(code: int, chosen: Level) -> int:
    """Bubblewrap reports a signal the way a shell does."""
    return 128 - code if chosen is Level.BUBBLEWRAP and code in REPORTED else code


def _ended_by_force(output: Output) -> StageError | None:
    detail: dict[str, Any] = {"exit_code": output.exit_code, "stderr": output.stderr}
    if output.stopped == "wall":
        return Retryable(
            f"stopped after {output.duration_ms // 1000} s: it took too long",
            error_code="WORKER_TIMEOUT",
            **detail,
        )
    if -output.exit_code in FAULTS:
        return Permanent(
            f"the file crashed the program that read it ({_name(output)})",
            error_code="SOURCE_CORRUPT",
            hint="convert the file with another program; a newer ffmpeg may read it",
            **detail,
        )
    if -output.exit_code in LIMITS:
        return Permanent(
            f"the file needs more than the limits allow ({_name(output)})",
            error_code="SOURCE_TOO_LARGE",
            **detail,
        )
    if output.exit_code < 0:
        return ToolFailed(
            f"the program was killed from outside ({_name(output)})",
            error_code="WORKER_CRASHED",
            hint="the machine may be short of memory",
            **detail,
        )
    if output.exit_code == 1 and output.stderr.startswith("bwrap: "):
        return ToolFailed("the walls could not be built", error_code="INTERNAL", **detail)
    return None


def _name(output: Output) -> str:
    return signal.Signals(-output.exit_code).name


def _again(said: object) -> errors.RushesError:
    """Build the child's error anew. Only errors about the work: a child cannot end a lease."""
    if not isinstance(said, dict):
        return ToolFailed("the child failed and did not say how", error_code="INTERNAL")
    kind = getattr(errors, str(said.get("class")), None)
    message, hint = str(said.get("message")), said.get("hint")
    hint = None if hint is None else str(hint)
    if isinstance(kind, type) and issubclass(kind, StageError):
        return kind(message, hint=hint, error_code=str(said.get("error_code")))
    if kind is errors.Invalid:
        return errors.Invalid(message, hint=hint)
    return ToolFailed(message, hint=hint, error_code="INTERNAL")
