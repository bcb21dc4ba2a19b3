"""The walls: what a program behind them can see, use and leave behind.

A foreign program is played by Python code that tries to misbehave; `timeit` runs a string.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from rushes.errors import Invalid, LeaseLost, Permanent, Retryable, RushesError, ToolFailed
from rushes.media import sandbox
from rushes.media.sandbox import Level, Limits
from rushes.media.walls import isolation
from tests.system import missing

PYTHON = (sys.executable, "-I", "-S", "-c")
CLOSED_FILES = [Level.BUBBLEWRAP, Level.LANDLOCK_NAMESPACE, Level.LANDLOCK]
CLOSED_NETWORK = [Level.BUBBLEWRAP, Level.LANDLOCK_NAMESPACE, Level.NAMESPACE]
REFUSED = "try:\n {}\nexcept OSError: print('refused')\nelse: print('done')"


@pytest.fixture(params=list(Level))
def level(request: pytest.FixtureRequest) -> Level:
    """Every level in turn; one that does not work here is a failure, with what to do."""
    return standing(request.param)


@pytest.fixture(params=[Level.BUBBLEWRAP, Level.NONE])
def either(request: pytest.FixtureRequest) -> Level:
    """The most and the least: for what does not depend on the walls."""
    return standing(request.param)


@cache
def standing(level: Level) -> Level:
    if level is not Level.NONE and not isolation._holds(level):
        missing(f"bubblewrap ({level} does not work here)")
    return level


def python(code: str, folder: Path, level: Level | None = None, **limits: float) -> sandbox.Output:
    return sandbox.run(
        [*PYTHON, code],
        folder=folder,
        reads=isolation.python_files(),
        limits=Limits(isolation=level, **{"wall_s": 20, **limits}),
    )


def execute(code: str, folder: Path, **options: object) -> object:
    """Run `code` as a function in a child."""
    return sandbox.call("timeit:timeit", {"stmt": code, "number": 1}, folder=folder, **options)


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def alive(token: str) -> bool:
    """Whether a process has `token` in its command line; one that is dying counts as dead."""
    for process in psutil.process_iter(["cmdline", "status"]):
        if token in " ".join(process.info["cmdline"] or ()):
            return process.info["status"] != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.parametrize("level", CLOSED_FILES)
def test_file_that_was_not_given_cannot_be_opened(level, folder, tmp_path):
    secret, given = tmp_path / "secret", tmp_path / "given"
    secret.write_text("of somebody else")
    given.write_text("film")
    code = REFUSED.format(f"open({str(secret)!r})") + f"\nprint(open({str(given)!r}).read())"

    output = sandbox.run(
        [*PYTHON, code],
        folder=folder,
        reads=(*isolation.python_files(), given),
        limits=Limits(isolation=standing(level)),
    )

    assert output.stdout.split() == ["refused", "film"], output.stderr


@pytest.mark.parametrize("level", CLOSED_FILES)
def test_only_the_folder_can_be_written(level, folder, tmp_path):
    outside = tmp_path / "outside"
    code = "\n".join(
        REFUSED.format(f"open({str(path)!r}, 'w').write('x')")
        for path in (outside, Path(sys.prefix) / "x", "/x", folder / "inside")
    )

    output = python(code, folder, standing(level))

    assert output.stdout.split() == ["refused", "refused", "refused", "done"], output.stderr
    assert (folder / "inside").read_text() == "x"
    assert not outside.exists()


@pytest.mark.parametrize("level", CLOSED_NETWORK)
def test_listener_on_loopback_cannot_be_reached(level, folder):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}))"

        output = python(REFUSED.format(connect), folder, standing(level))

    assert output.stdout.split() == ["refused"], output.stderr


def test_without_walls_the_same_attempts_succeed(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of somebody else")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code = (
            f"import socket; socket.create_connection(('127.0.0.1', {port}));"
            f"print(open({str(secret)!r}).read())"
        )

        output = python(code, folder, Level.NONE)

    assert output.stdout == "of somebody else\n"


def test_level_without_bubblewrap_is_the_next_one_that_works():
    asked = subprocess.run(
        [sys.executable, "-c", "from rushes.media.sandbox import level; print(level())"],
        env={"PATH": "/nowhere", "PYTHONPATH": str(isolation.IMPORTED_FROM)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert asked.stdout.strip() in {*CLOSED_FILES, *CLOSED_NETWORK, Level.NONE} - {Level.BUBBLEWRAP}
    assert isolation._holds(Level(asked.stdout.strip()))


def test_level_that_does_not_keep_its_promise_is_not_taken(tmp_path, monkeypatch):
    """A `bwrap` that runs its program without any wall must not pass for bubblewrap."""
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert not isolation._holds(Level.BUBBLEWRAP)


def test_environment_is_ours_alone(either, folder, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")

    output = python("import os; print(*sorted(os.environ))", folder, either)

    assert set(output.stdout.split()) - {"PWD"} == {"GCONV_PATH", "HOME", "LC_ALL", "TMPDIR"}


def test_no_open_file_is_inherited(level, folder, tmp_path):
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        output = python(
            "import os\nfor n in range(3, 100):\n"
            " try: os.fstat(n)\n except OSError: continue\n print(n)",
            folder,
            level,
        )

    assert output.stdout == ""


def test_program_is_nice_and_dies_before_the_worker_when_memory_ends(either, folder):
    """Where the kernel weighs sessions, the niceness of the session is what counts."""
    code = "import os; print(os.nice(0), open('/proc/self/oom_score_adj').read())"
    session = "print(open('/proc/self/autogroup').read())"

    output = python(code, folder, either)

    assert output.stdout.split() == ["10", "800"], output.stderr
    if Path("/proc/self/autogroup").exists():
        assert python(session, folder, either).stdout.split()[-2:] == ["nice", "10"]


def test_memory_is_limited(either, folder):
    output = python("bytearray(600 << 20)", folder, either, memory_bytes=500 << 20)
    control = python("bytearray(300 << 20)", folder, either, memory_bytes=500 << 20)

    assert "MemoryError" in output.stderr
    assert control.exit_code == 0


def test_processor_time_is_limited(either, folder):
    output = python("while True: pass", folder, either, cpu_s=1, wall_s=100)

    assert output.exit_code == -signal.SIGXCPU
    with pytest.raises(Permanent) as caught:
        sandbox.check(output)
    assert caught.value.error_code == "SOURCE_TOO_LARGE"


def test_size_of_a_file_is_limited(folder):
    write = (
        "import signal; signal.signal(25, signal.SIG_DFL); open('x', 'wb').write(bytes(2000000))"
    )

    output = python(write, folder, file_bytes=1_000_000)

    assert output.exit_code == -signal.SIGXFSZ
    assert (folder / "x").stat().st_size == 1_000_000


def test_number_of_open_files_is_limited(folder):
    output = python("files = [open('/dev/null') for _ in range(50)]", folder, open_files=40)

    assert "Too many open files" in output.stderr


def test_wall_clock_ends_what_runs_too_long(either, folder):
    output = python("import time; time.sleep(60)", folder, either, wall_s=0.5)

    assert output.stopped == "wall"
    assert output.duration_ms < 5000
    with pytest.raises(Retryable) as caught:
        sandbox.check(output)
    assert caught.value.error_code == "WORKER_TIMEOUT"


def test_crash_is_named_by_its_signal(level, folder):
    output = python("import os; os.kill(os.getpid(), 11)", folder, level)

    assert output.exit_code == -signal.SIGSEGV
    with pytest.raises(Permanent, match="SIGSEGV"):
        sandbox.check(output)


def test_stop_by_the_watch_leaves_no_process(level, folder):
    """Also one that left its group, where a process namespace makes that impossible."""
    token = uuid4().hex
    leave = "os.setsid();" if level is Level.BUBBLEWRAP else ""
    code = (
        "import os, sys, time\n"
        f"if os.fork() == 0: {leave} os.execv(sys.executable, [sys.executable, '-I', '-S', '-c',"
        f" 'import time; print(1, flush=True); time.sleep(60) #{token}'])\n"
        "time.sleep(60)"
    )
    started: list[str] = []

    class Stop(sandbox.Watch):
        def tick(self) -> None:
            if started:
                assert alive(token)
                raise Invalid("stop")

    with pytest.raises(Invalid, match="stop"):
        sandbox.run(
            [*PYTHON, code],
            folder=folder,
            reads=isolation.python_files(),
            limits=Limits(isolation=level),
            watch=Stop(),
            on_line=started.append,
        )

    wait_until(lambda: not alive(token))


def test_what_a_program_started_does_not_outlive_it(level, folder):
    token = uuid4().hex
    code = (
        "import os, sys\n"
        "if os.fork() == 0: os.execv(sys.executable, [sys.executable, '-I', '-S', '-c',"
        f" 'import time; time.sleep(60) #{token}'])\n"
    )

    output = python(code, folder, level)

    assert output.exit_code == 0
    assert output.duration_ms < 10_000
    wait_until(lambda: not alive(token))


def test_program_dies_with_a_parent_that_was_killed(level, folder):
    token = uuid4().hex
    script = (
        "import sys; from pathlib import Path\n"
        "from rushes.media import sandbox\n"
        "from rushes.media.walls import isolation\n"
        "code = 'import time; open(chr(120), chr(119)); time.sleep(60)'\n"
        f"sandbox.run([sys.executable, '-I', '-S', '-c', code + ' #{token}'],"
        f" folder=Path({str(folder)!r}), reads=isolation.python_files(),"
        f" limits=sandbox.Limits(isolation=sandbox.Level({level.value!r})))"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        wait_until((folder / "x").exists)
        assert alive(f"time.sleep(60) #{token}")
        parent.kill()

    wait_until(lambda: not alive(token))


def test_walls_that_are_being_built_fall_with_a_parent_that_was_killed(folder):
    """Bubblewrap's child waits for its parent, and once waited for ever. strace slows both down."""
    if shutil.which("strace") is None:
        missing("strace")
    standing(Level.BUBBLEWRAP)
    slowly = ("strace", "-fqq", "-o", os.devnull, "-e", "inject=prctl:delay_exit=100000")
    script = (
        "import subprocess; from pathlib import Path; from rushes.media.walls import isolation\n"
        f"walls = isolation.Walls(folder=Path({str(folder)!r}), reads=(), resources={{}})\n"
        "subprocess.run(isolation.enclose(('/bin/true',), walls, isolation.Level.BUBBLEWRAP))"
    )

    with subprocess.Popen([*slowly, sys.executable, "-c", script]) as tracer:
        traced = psutil.Process(tracer.pid)
        wait_until(lambda: len(bubblewraps(traced)) == 2)
        started = bubblewraps(traced)
        traced.children()[0].kill()
        try:
            tracer.wait(15)  # it waits for all that it follows
        except subprocess.TimeoutExpired:
            for process in filter(psutil.Process.is_running, started):
                process.kill()
            pytest.fail("bubblewrap was left behind")


def bubblewraps(tracer: psutil.Process) -> list[psutil.Process]:
    return [child for child in tracer.children(recursive=True) if child.name() == "bwrap"]


@pytest.mark.parametrize("command", ["exit 7", "kill -TERM $$", "kill -KILL $$"])
def test_guard_ends_like_the_program(command, folder):
    ended = subprocess.run(isolation.dying_with_us(["sh", "-c", command]), check=False)

    assert ended.returncode == subprocess.run(["sh", "-c", command], check=False).returncode


def test_program_whose_parent_died_before_it_began_does_not_begin(folder):
    started = subprocess.run(
        [sys.executable, "-I", "-S", isolation.LAUNCHER, '{"parent": 1}', "touch", folder / "x"],
        check=False,
    )

    assert started.returncode == 128 + signal.SIGKILL
    assert list(folder.iterdir()) == []


def test_every_line_arrives_and_the_tail_is_kept(folder):
    lines: list[str] = []

    output = sandbox.run(
        [*PYTHON, "for n in range(200000): print(n)\nprint('last', end='')"],
        folder=folder,
        reads=isolation.python_files(),
        on_line=lines.append,
    )

    assert lines == [str(n) for n in range(200_000)]
    assert len(output.stdout) == 65_536
    assert output.stdout.endswith("199999\nlast")


def test_output_without_an_end_is_stopped(folder):
    code = "import sys\nwhile True: sys.stdout.write('x' * 100000)"

    with pytest.raises(ToolFailed) as caught:
        sandbox.run([*PYTHON, code], folder=folder, reads=isolation.python_files(), on_line=len)

    assert caught.value.error_code == "OUTPUT_INVALID"


def test_watch_hears_ticks_and_what_ran(folder, watch):
    output = sandbox.run(
        [*PYTHON, "import time; time.sleep(0.7)"],
        folder=folder,
        reads=isolation.python_files(),
        watch=watch,
    )

    assert watch.ticks >= 3
    assert watch.outputs == [output]


def test_missing_input_is_said_before_anything_runs(folder, watch):
    with pytest.raises(Permanent) as caught:
        sandbox.run(["/bin/true"], folder=folder, reads=[folder / "gone"], watch=watch)

    assert caught.value.error_code == "SOURCE_MISSING"
    assert watch.outputs == []


def test_call_returns_the_answer_of_a_function(level, folder):
    answer = sandbox.call(
        "copy:copy", {"x": ["é", {"a": None}]}, folder=folder, limits=Limits(isolation=level)
    )

    assert answer == ["é", {"a": None}]


def test_messages_arrive_while_the_child_runs(folder):
    heard: list[object] = []

    execute(
        "import os, time; from rushes.media.child.entry import tell\n"
        "print('noise'); os.system('echo noise'); tell({'n': 1}); tell({'n': 2})",
        folder,
        on_message=heard.append,
    )

    assert heard == [{"n": 1}, {"n": 2}]


def test_error_of_the_child_is_raised_again(folder):
    code = (
        "from rushes.errors import Retryable\n"
        "raise Retryable('no room', error_code='DISK_FULL', hint='make some')"
    )

    with pytest.raises(Retryable) as caught:
        execute(code, folder)

    error = caught.value
    assert (error.message, error.error_code, error.hint) == ("no room", "DISK_FULL", "make some")


def test_child_cannot_raise_an_error_about_leases(folder):
    with pytest.raises(RushesError) as caught:
        execute("from rushes.errors import LeaseLost\nraise LeaseLost('gone')", folder)

    assert not isinstance(caught.value, LeaseLost)


@pytest.mark.parametrize(
    "code, kind, error_code",
    [
        ("import ctypes; ctypes.string_at(0)", Permanent, "SOURCE_CORRUPT"),
        ("import os; os.abort()", Permanent, "SOURCE_CORRUPT"),
        ("import os; os.kill(os.getpid(), 9)", ToolFailed, "WORKER_CRASHED"),
        ("bytearray(3 << 30)", Permanent, "SOURCE_TOO_LARGE"),
        ("import time; time.sleep(60)", Retryable, "WORKER_TIMEOUT"),
        ("import os; os._exit(0)", ToolFailed, "INTERNAL"),
        ("1 / 0", ToolFailed, "INTERNAL"),
        (
            "from rushes.media.child import entry; entry._channel.write('no JSON\\n')",
            ToolFailed,
            "INTERNAL",
        ),
        (
            "from rushes.media.child import entry; entry._channel.write('['*100000)",
            ToolFailed,
            "INTERNAL",
        ),
        (
            "from rushes.media.child.entry import tell; tell('x' * 6_000_000)",
            ToolFailed,
            "OUTPUT_INVALID",
        ),
    ],
)
def test_child_that_dies_or_lies_is_an_error(code, kind, error_code, folder):
    wall_s = 2 if kind is Retryable else 60

    with pytest.raises(kind) as caught:
        execute(code, folder, limits=Limits(wall_s=wall_s, memory_bytes=1 << 30))

    assert type(caught.value) is kind
    assert caught.value.error_code == error_code
