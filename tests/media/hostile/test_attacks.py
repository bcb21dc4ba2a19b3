"""A film that names other files or addresses gets neither.

Each attack is shown three times: it works on a program that trusts it; the whitelists alone stop
it before anything is tried; and the walls alone make the attempt fail.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rushes.media import ffmpeg
from rushes.media.ffmpeg import Ffmpeg, source
from rushes.media.sandbox import Level
from tests.media.hostile import corpus
from tests.media.hostile.corpus import ATTACKS, CALL, LISTEN, OPEN, RENAMED
from tests.media.hostile.tracer import Trace, listening, trace, trace_python
from tests.system import missing

# what our code does with a film, and how it ends; run at a level and with options of choice
OURS = """
from pathlib import Path
from rushes.errors import StageError
from rushes.media import ffmpeg, sandbox
film, folder = Path(values["film"]), Path(values["folder"])
limits = sandbox.Limits(isolation=sandbox.Level(values["level"]), wall_s=8)
binaries = [ffmpeg.Ffmpeg(path=path, version="", source="system") for path in values["binaries"]]
common = {"folder": folder, "reads": [film], "limits": limits}
def probe():
    sandbox.call("rushes.media.child.demux:read", {"path": str(film), "caps": {}}, **common)
def encode(binary):
    arguments = [*ffmpeg.input_options(), "-i", ffmpeg.source(film), "-f", "null", "-"]
    ffmpeg.run(arguments, **common, ffmpeg=binary)
ends = []
for attempt in [probe, *(lambda binary=binary: encode(binary) for binary in binaries)]:
    try:
        attempt()
    except StageError as error:
        ends.append(error.error_code)
    else:
        ends.append("done")
print(json.dumps(ends))
"""
UNGUARDED = """
from pathlib import Path
from rushes.media import ffmpeg, sandbox
film, folder = Path(values["film"]), Path(values["folder"])
output = sandbox.run(
    [values["binary"], "-v", "error", "-nostdin", *values["options"], "-i", ffmpeg.source(film)]
    + ["-f", "null", "-"],
    folder=folder, reads=[film], limits=sandbox.Limits(wall_s=8),
)
print(json.dumps([output.exit_code, sandbox.level()]))
"""


@pytest.fixture(params=["wheel", "system"])
def binary(request: pytest.FixtureRequest) -> Ffmpeg:
    found = ffmpeg.wheel() if request.param == "wheel" else ffmpeg.system()
    if found is None:
        missing("ffmpeg")
    return found


def harmed(attack: str, found: Trace, film: Path, port: int) -> bool:
    harm = ATTACKS[attack][2]
    canaries = [film.parent / "canary.mp4", *film.parents[1].glob("canary.*")]
    return {
        OPEN: any(found.opened(canary) for canary in canaries),
        CALL: found.called(port),
        LISTEN: found.listened(),
    }[harm]


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_works_where_nobody_guards(attack, binary, tmp_path):
    options = ATTACKS[attack][3]
    with listening() as listener:
        film = corpus.write(attack, tmp_path / "upload", listener.port)
        if binary.source == "system" and attack in RENAMED:
            film = film.rename(film.with_name(RENAMED[attack]))
        if binary.source == "system" and attack == "dash http":
            options = corpus.NETWORK

        command = [binary.path, "-v", "error", *options, "-i", source(film), "-f", "null", "-"]
        found = trace(command, tmp_path / "log", seconds=6)

    assert harmed(attack, found, film, listener.port), found.stderr
    assert bool(listener.visits) is (ATTACKS[attack][2] == CALL)


@pytest.mark.parametrize("attack", ["hls file", "concat neighbour"])
def test_attack_works_on_pyav_without_options(attack, tmp_path):
    film = corpus.write(attack, tmp_path / "upload", port=1)
    code = "import av; print(json.dumps(len(av.open(values['film']).streams)))"

    found, streams = trace_python(code, tmp_path / "log", film=film)

    assert streams
    assert harmed(attack, found, film, port=1)


@pytest.mark.parametrize("attack", ATTACKS)
def test_whitelists_alone_stop_it_before_anything_is_tried(attack, folder, tmp_path, wheel):
    system = ffmpeg.system()
    with listening() as listener:
        film = corpus.write(attack, tmp_path / "upload", listener.port)

        found, ends = trace_python(
            OURS,
            tmp_path / "log",
            film=film,
            folder=folder,
            level=Level.NONE,
            binaries=[wheel.path, *([system.path] if system else [])],
        )

    assert set(ends) <= {"SOURCE_UNSUPPORTED", "SOURCE_CORRUPT"}, ends
    assert not any(found.opened(path, attempts=True) for path in tmp_path.rglob("canary.*"))
    assert not found.called(listener.port)
    assert not found.listened()
    assert listener.visits == []


@pytest.mark.parametrize("attack", ["hls file", "concat neighbour", "dash file", "dash http"])
def test_walls_alone_make_the_attempt_fail(attack, folder, tmp_path, wheel):
    with listening() as listener:
        film = corpus.write(attack, tmp_path / "upload", listener.port)

        found, (_, level) = trace_python(
            UNGUARDED,
            tmp_path / "log",
            film=film,
            folder=folder,
            binary=wheel.path,
            options=ATTACKS[attack][3],
        )

    if level not in {Level.BUBBLEWRAP, Level.LANDLOCK_NAMESPACE}:
        missing(f"bubblewrap (the walls here are only {level})")
    attempted = any(found.opened(path, attempts=True) for path in tmp_path.rglob("canary.*"))
    assert attempted or found.called(listener.port)
    assert not any(found.opened(path) for path in tmp_path.rglob("canary.*"))
    assert listener.visits == []


def test_frames_that_lie_in_another_file_are_not_fetched(folder, tmp_path, wheel):
    """QuickTime can refer to another file; the control has to ask for it."""
    canary = tmp_path / "canary.mp4"
    film = corpus.foreign_reference(tmp_path / "film.mov", canary)
    canary.write_bytes(b"frames of somebody else")
    asking = ("-enable_drefs", "1", "-use_absolute_path", "1")

    control = trace([wheel.path, *asking, "-i", source(film), "-f", "null", "-"], tmp_path / "1")
    found, _ = trace_python(
        OURS, tmp_path / "2", film=film, folder=folder, level=Level.NONE, binaries=[wheel.path]
    )

    assert control.opened(canary), control.stderr
    assert not found.opened(canary, attempts=True)
