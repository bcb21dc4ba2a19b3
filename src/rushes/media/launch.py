"""Builds walls around itself, then becomes the program: `python -I -S launch.py WALLS COMMAND…`.

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

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    walls, command = json.loads(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        _die_with(walls["parent"])
        with suppress(OSError):  # if memory ends, this goes before the worker
            Path("/proc/self/oom_score_adj").write_text("800")
    _limit(walls["limits"])
    if walls["namespace"]:
        _leave_the_network()
    if walls["landlock"]:
        _see_only(**walls["landlock"])
    os.execv(command[0], command)


def _die_with(parent: int) -> None:
    """Have the kernel kill us with the thread that started us; it may be dead already."""
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)


def _limit(limits: dict[str, int]) -> None:
    os.nice(10)
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
