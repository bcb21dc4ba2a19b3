"""A library whose stages do nothing: the tests say what each task brings.

The files that a result names are real, though tiny, and lie where the attempt would write them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from pydantic import BaseModel

from rushes.app import STAGES
from rushes.domain.artifact import Artifact
from rushes.domain.asset import Asset
from rushes.domain.outcome import Done
from rushes.domain.task import Claim
from rushes.engine.claim import claim
from rushes.engine.complete import report
from rushes.engine.engine import Engine
from rushes.engine.presence import Introduction, register
from rushes.library import upload
from rushes.library.library import Library
from rushes.library.pipelines import Options
from rushes.library.projections import projections
from rushes.library.upload import Added, Upload
from rushes.media import audio as sound
from rushes.media import ladder, magic
from rushes.media.clip import frame_ms, frame_range
from rushes.media.entities import find
from rushes.media.plan import Chunk, plan
from rushes.media.rendition import Rendition, Segment, init_name, segment_name
from rushes.media.sample import Part, parts
from rushes.media.source import AudioStream, Source, VideoStream
from rushes.media.text import Span, normalize, text_hash
from rushes.stages import (
    audio,
    clip,
    finalize,
    index,
    ocr,
    playlist,
    probe,
    registry,
    sample,
    storyboard,
    thumbnail,
    transcode,
)
from rushes.storage.local import LocalStorage
from rushes.store import assets
from rushes.store.database import Database
from rushes.worker.files import LocalFiles

HEAD = b"\x00"  # what is plain text is refused
CLIP = b"\x00\x00\x00\x18ftypa clip"
LANES = {"media": 50, "encode": 50, "text": 50}
VIDEO = VideoStream(
    index=0,
    codec="h264",
    width=854,
    height=480,
    display_width=854,
    display_height=480,
    fps=Fraction(25),
    variable=False,
    frames=500,
    start_ms=0,
    rotation=0,
    sar=Fraction(1),
    interlaced=False,
    pixel_format="yuv420p",
    bit_depth=8,
)
AUDIO = AudioStream(
    index=1,
    codec="aac",
    channels=2,
    layout="stereo",
    sample_rate=48_000,
    language="en",
    start_ms=0,
    duration_ms=20_000,
)
FILM = Source(container="mp4", duration_ms=20_000, size_bytes=1_000, video=VIDEO, audio=(AUDIO,))
PLAN = plan(FILM)

Make = Callable[[Claim], BaseModel]


class Studio:
    """A library and one worker whose hands are the test."""

    def __init__(self, db: Database, root: Path) -> None:
        storage = LocalStorage(root)
        kinds = registry.kinds(registry.load(STAGES))
        self.db = db
        self.storage = storage
        self.engine = Engine(db=db, kinds=kinds, projections=projections(storage))
        self.library = Library(engine=self.engine, storage=storage, reserve_bytes=0)
        self.owner = register(
            self.engine,
            Introduction(
                name="hands", lanes=LANES, kinds=frozenset(kinds), capabilities=frozenset({"ocr"})
            ),
        )
        self.held: list[Claim] = []
        self.source = FILM

    def film(self, name: str = "film.mp4", content: bytes = b"a film") -> Path:
        path = self.storage.root / "incoming" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(HEAD + content if magic.text(content) else content)
        return path

    def add(self, content: bytes = b"a film", *, text: bool = False, **wishes: object) -> Added:
        options = Options(text=text)
        return upload.add(
            self.library,
            Upload(path=self.film(content=content), options=options, **wishes),  # type: ignore[arg-type]
        )

    def asset(self, asset_id: str) -> Asset:
        return self.db.read(lambda tx: assets.get(tx, asset_id))

    def take(self, step: str, item: int | None = None) -> Claim:
        """Claim all there is, and return the claim of one task."""
        self.held += claim(self.engine, self.owner, LANES)
        [found] = [one for one in self.held if one.step == step and item in (None, one.item)]
        self.held.remove(found)
        return found

    def end(self, held: Claim, result: BaseModel) -> bool:
        """Report a result. Returns whether it was accepted."""
        done = Done(held.id, held.epoch, result.model_dump_json())
        return held.id not in report(self.engine, self.owner, [done])

    def do(self, step: str, item: int | None = None) -> Claim:
        """Do a task as its stage would."""
        held = self.take(step, item)
        assert self.end(held, self.result(held))
        return held

    def finish(self) -> None:
        """Do all that there is to do."""
        while self.step():
            pass

    def step(self) -> bool:
        """Do one task. Returns whether there was one."""
        self.held += claim(self.engine, self.owner, LANES)
        if not self.held:
            return False
        held = self.held.pop(0)
        assert self.end(held, self.result(held))
        return True

    def result(self, held: Claim) -> BaseModel:
        makers: dict[str, Make] = {
            "probe": self.probed,
            "thumbnail": lambda held: thumbnail.Result(
                t_ms=0, artifacts=self.keep(held, {"poster.jpg": b"poster"})
            ),
            "storyboard": lambda held: storyboard.Result(
                artifacts=self.keep(held, {"storyboard-0.jpg": b"board", "storyboard.vtt": b"vtt"})
            ),
            "audio": self.sounded,
            "transcode": self.encoded,
            "playlist": lambda _: playlist.Result(complete=[]),
            "finalize": lambda _: finalize.Result(complete=[]),
            "sample": self.sampled,
            "ocr": self.read,
            "index": lambda held: self.indexed(held, ["Hello @world"]),
            "clip": self.clipped,
        }
        return makers[held.kind](held)

    def keep(self, held: Claim, files: dict[str, bytes]) -> list[Artifact]:
        there = LocalFiles(self.storage, held)
        folder = there.folder(self.asset_of(held))
        paths = {}
        for name, content in files.items():
            paths[name] = folder / name
            paths[name].parent.mkdir(parents=True, exist_ok=True)
            paths[name].write_bytes(content)
        return there.keep(paths)

    def asset_of(self, held: Claim) -> str:
        if held.kind == "clip":
            return clip.Params.model_validate_json(held.params).asset
        [row] = self.db.read(lambda tx: list(tx.rows("version_of_job", job_id=held.job_id)))
        return str(row["asset_id"])

    def probed(self, held: Claim) -> probe.Result:
        params = probe.Params.model_validate_json(held.params)
        rungs, planned = ladder.rungs(self.source), plan(self.source)
        return probe.Result(
            source=self.source,
            grid=planned.grid,
            rungs=tuple(rung for rung in rungs if rung.name in (params.qualities or (rung.name,))),
            chunks=[probe.Piece(chunk=chunk) for chunk in planned.chunks],
            sounds=[
                probe.Sound(track=track, chunk=chunk)
                for chunk in planned.sounds
                for track in sound.tracks(self.source)
            ],
            parts=[probe.Stretch(part=part) for part in parts(self.source.duration_ms)],
            work_key=params.source_key,
            artifacts=[],
        )

    def encoded(self, held: Claim, *, without: tuple[str, ...] = ()) -> transcode.Result:
        chunk = transcode.Params.model_validate_json(held.params).chunk
        wanted = self._rungs(held)
        made = [self._rendition(rung, chunk) for rung in wanted if rung.name not in without]
        names = [name for one in made for name in one.files[0 if chunk.index == 0 else 1 :]]
        files = {name: name.encode() for name in names}
        return transcode.Result(
            renditions=tuple(made),
            failures=tuple(
                transcode.Failure(rung=name, error_code="FFMPEG_FAILED", message="it broke")
                for name in without
            ),
            artifacts=self.keep(held, files),
        )

    def _rungs(self, held: Claim) -> tuple[ladder.Rung, ...]:
        asset_id = self.asset_of(held)
        [version] = self.db.read(
            lambda tx: [row["n"] for row in tx.rows("version_of_job", job_id=held.job_id)]
        )
        pending = {
            row["name"]
            for row in self.db.read(
                lambda tx: list(tx.rows("renditions", asset_id=asset_id, version=version))
            )
            if row["status"] != "completed"
        }
        return tuple(rung for rung in ladder.rungs(self.source) if rung.name in pending)

    def _rendition(self, rung: ladder.Rung, chunk: Chunk) -> Rendition:
        grid = plan(self.source).grid
        return Rendition(
            name=rung.name,
            codecs="avc1.64001f",
            init_sha256=hashlib.sha256(init_name(rung.name).encode()).hexdigest(),
            width=rung.width,
            height=rung.height,
            segments=tuple(
                Segment(
                    number=number,
                    name=segment_name(rung.name, number),
                    duration=len(grid.segment(number)) / grid.fps,
                    size_bytes=len(segment_name(rung.name, number)),
                )
                for number in chunk.numbers
            ),
        )

    def sounded(self, held: Claim) -> audio.Result:
        params = audio.Params.model_validate_json(held.params)
        track = params.track
        rung = replace(ladder.rungs(self.source)[-1], name=track.name, width=0, height=0)
        made = replace(
            self._rendition(rung, params.chunk),
            codecs="mp4a.40.2",
            channels=2,
            language=track.language,
        )
        files = {name: name.encode() for name in made.files}
        return audio.Result(rendition=made, artifacts=self.keep(held, files))

    def clipped(self, held: Claim) -> clip.Result:
        params = clip.Params.model_validate_json(held.params)
        frames = frame_range(params.source, params.window)
        fps = params.source.video.fps
        made = clip.Made(
            mode=params.mode,
            start_ms=frame_ms(frames.start, fps),
            end_ms=frame_ms(frames.stop, fps),
            frames=len(frames),
            width=854,
            height=480,
            audio=True,
            command=["ffmpeg", "-i", "original.mp4", "clip.mp4"],
            tools=["ffmpeg 7", "rushes 0"],
        )
        return clip.Result(made=made, artifacts=self.keep(held, {"clip.mp4": CLIP}))

    def sampled(self, held: Claim) -> sample.Result:
        part: Part = sample.Params.model_validate_json(held.params).part
        artifacts = self.keep(held, {f"frames/{part.start_ms:09d}.jpg": b"frame"})
        batch = sample.Batch(
            folder=artifacts[0].key.rpartition("/")[0],
            times_ms=(part.start_ms,),
            width=854,
            height=480,
            until_ms=part.end_ms,
        )
        return sample.Result(batches=[batch], cuts_ms=(), looked_at=1, artifacts=artifacts)

    def read(self, held: Claim) -> ocr.Result:
        until_ms = ocr.Params.model_validate_json(held.params).until_ms
        artifacts = self.keep(held, {"text/000000000.jsonl": b"{}\n"})
        return ocr.Result(key=artifacts[0].key, until_ms=until_ms, lost=0, artifacts=artifacts)

    def indexed(
        self, held: Claim, texts: list[str], said: Sequence[index.Said] = ()
    ) -> index.Result:
        lines = [index.Found(span=_span(text), entities=tuple(find(text))) for text in texts]
        files = {"text/spans.jsonl": _lines(lines)}
        if said:
            files["text/subtitles.jsonl"] = _lines(said)
        artifacts = self.keep(held, files)
        return index.Result(
            key=artifacts[0].key,
            spans=len(texts),
            subtitles_key=artifacts[1].key if said else None,
            artifacts=artifacts,
        )


def _lines(values: Sequence[BaseModel]) -> bytes:
    return "".join(value.model_dump_json() + "\n" for value in values).encode()


def _span(text: str) -> Span:
    return Span(
        start_ms=0,
        end_ms=1_000,
        text=text,
        normalized=normalize(text),
        hash=text_hash(normalize(text)),
        confidence=0.9,
        box=(10, 20, 300, 40),
        language="en",
    )
