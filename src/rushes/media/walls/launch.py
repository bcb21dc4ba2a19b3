"""Builds walls around itself, then becomes the program: `python -I -S launch.py WALLS COMMAND…`.

On Linux a guard stays outside. It ends the program and all that it started when the worker is
gone, and ends like the program otherwise.

A script and not a `preexec_fn`: Python code between fork and exec may deadlock in a process
that has threads. It must start fast, so it imports what every Python has and nothing of ours.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CLONE_NEWUSER, CLONE_NEWNET = 0x1000_0000, 0x4000_0000
# the three calls of Landlock have these numbers on every architecture
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
PATH_BENEATH, ABI_VERSION = 1, 1
READ = 1 | 4 | 8  # execute, read a file, list a folder
ONLY_ON_FOLDERS = ~(1 | 2 | 4 | 1 << 14 | 1 << 15)
# abi → how many rights on files, on TCP and on other processes it knows
RIGHTS = {1: (13, 0, 0), 2: (14, 0, 0), 3: (15, 0, 0), 4: (15, 2, 0), 5: (16, 2, 0)}
NEWEST = (16, 2, 2)
NO_WALLS: dict[str, Any] = {"limits": {}, "nice": 0, "namespace": False, "landlock": None}
HEARD_BY_THE_GUARD = {signal.SIGTERM, signal.SIGCHLD}

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    walls, command = {**NO_WALLS, **json.loads(sys.argv[1])}, sys.argv[2:]
    if sys.platform == "linux":
        _leave_a_guard(walls["parent"])
        with suppress(OSError):  # if memory ends, this goes before the worker
            Path("/proc/self/oom_score_adj").write_text("800")
    _be_nice(walls["nice"])
    _limit(walls["limits"])
    if walls["namespace"]:
        _leave_the_network()
    if walls["landlock"]:
        _see_only(**walls["landlock"])
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")


def _leave_a_guard(parent: int) -> None:
    """Go on in a child; what was started by the worker stays behind as the guard of its group.

    A death signal reaches one process only. The first child of Bubblewrap waits to be let in
    before it asks for one of its own: it would wait for ever for a Bubblewrap that was killed.
    """
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    heard_before = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD_BY_THE_GUARD)
    _be_told_of_the_end_of(parent, signal.SIGTERM)
    guard = os.getpid()
    program = os.fork()
    if program:
        _end_like(_guard(program))
    signal.pthread_sigmask(signal.SIG_SETMASK, heard_before)
    _be_told_of_the_end_of(guard, signal.SIGKILL)


def _be_told_of_the_end_of(parent: int, how: signal.Signals) -> None:
    """Have the kernel signal the end of the thread that started us; it may be over already."""
    _check(libc.prctl(PR_SET_PDEATHSIG, how, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def _guard(program: int) -> int:
    """Wait for the end of the program and return its status, or end the group with the worker."""
    while signal.sigwait(HEARD_BY_THE_GUARD) == signal.SIGCHLD:
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            return status
    os.killpg(0, signal.SIGKILL)
    raise AssertionError


def _end_like(status: int) -> None:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD_BY_THE_GUARD)
        with suppress(OSError):  # SIGKILL cannot be set
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _be_nice(nice: int) -> None:
    """Leave the processor to others. Linux may weigh sessions, not processes: then ours counts."""
    os.nice(nice)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice))


def _limit(limits: dict[str, int]) -> None:
    for name, value in {**limits, "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # the soft limit of the clock sends SIGXCPU, which says what happened; the hard one kills
        spare = 5 if name == "RLIMIT_CPU" and most == value else 0
        with suppress(ValueError, OSError):  # not every system has every limit
            resource.setrlimit(kind, (most, most + spare))


def _leave_the_network() -> None:
    user, group = os.getuid(), os.getgid()
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")


def _see_only(read: Iterable[str], write: Iterable[str]) -> None:
    abi = _check(libc.syscall(CREATE_RULESET, None, 0, ABI_VERSION))
    files, tcp, scopes = RIGHTS.get(abi, NEWEST)
    every = (1 << files) - 1
    asked = (ctypes.c_uint64 * 3)(every, (1 << tcp) - 1, (1 << scopes) - 1)
    ruleset = _check(libc.syscall(CREATE_RULESET, asked, ctypes.sizeof(asked), 0))
    for path in read:
        _allow(ruleset, path, READ)
    for path in write:
        _allow(ruleset, path, every)
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(libc.syscall(RESTRICT_SELF, ruleset, 0))


def _allow(ruleset: int, path: str, rights: int) -> None:
    class Beneath(ctypes.Structure):
        _pack_ = 1
        _fields_ = (("rights", ctypes.c_uint64), ("fd", ctypes.c_int32))

    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not Path(path).is_dir():
        rights &= ~ONLY_ON_FOLDERS
    rule = Beneath(rights, fd)
    _check(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))


def _check(answer: Any) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(answer)


if __name__ == "__main__":
    main()
