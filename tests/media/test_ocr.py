"""Reading text from pictures: real engines in real children, and pictures of known text."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from PIL import Image, ImageDraw
from pydantic import TypeAdapter

from rushes.errors import Permanent, ToolFailed
from rushes.media import ocr, sandbox
from rushes.media.ocr import Options, Reading
from rushes.media.sample import Frame
from rushes.media.text import distance, merge
from rushes.media.walls import isolation
from tests.media import cards
from tests.system import missing

STEP_MS = 100
POSTS = (
    "Reply 12: see you at 12:59",
    "Reply 13: see you at 13:00",
    "Note 7: the Council approves",
    "Post 30: rain on Thursday",
    "Post 31: no rain on Friday",
    "Note 8: tickets from 12.50",
    "Post 32: the harbour is closed",
    "Post 33: the harbour is open",
)


def frames(folder: Path, pictures: Sequence[Image.Image], step_ms: int = STEP_MS) -> list[Frame]:
    return [
        Frame(
            t_ms=number * step_ms,
            path=str(cards.save(picture, folder / f"{number * step_ms:09d}.jpg")),
            width=picture.width,
            height=picture.height,
        )
        for number, picture in enumerate(pictures)
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def reader(home: Path) -> Iterator[ocr.Reader]:
    """One child for all: starting one costs two seconds."""
    with ocr.reader(folder=home) as opened:
        yield opened


def texts(reading: Reading) -> list[str]:
    return [region.text for region in reading.regions]


def error_rate(lines: Sequence[str], found: Sequence[str]) -> float:
    """The share of wrong characters, each line compared with what comes closest to it."""
    wrong = (min((distance(line, text) for text in found), default=len(line)) for line in lines)
    return sum(wrong) / sum(map(len, lines))


@pytest.mark.parametrize("language", cards.LINES)
def test_text_in_three_languages_is_read(reader: ocr.Reader, tmp_path: Path, language: str) -> None:
    """002-022, 002-023: English, German with ä ö ü ß, French with é è ç œ."""
    drawn = [cards.card(language, style, 540) for style in ("lower third", "subtitle", "night")]

    readings = reader.read(frames(tmp_path, [card.picture for card in drawn]))

    for card, reading in zip(drawn, readings, strict=True):
        assert error_rate(card.lines, texts(reading)) <= 0.01, (card.style, texts(reading))


def test_a_box_lies_where_the_line_was_drawn(reader: ocr.Reader, tmp_path: Path) -> None:
    """002-026: one reading per region and frame."""
    picture = Image.new("RGB", (640, 360), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((100, 200), "Harbour closed", "black", cards.font(32))
    left, top, right, bottom = draw.textbbox((100, 200), "Harbour closed", cards.font(32))

    [reading] = reader.read(frames(tmp_path, [picture]))

    [region] = reading.regions
    x, y, width, height = region.box
    assert (region.text, region.confidence > 0.9) == ("Harbour closed", True)
    assert abs(x - left) < 16
    assert abs(y - top) < 16
    assert abs(x + width - right) < 16
    assert abs(y + height - bottom) < 16


def test_a_line_that_changes_on_a_still_picture_is_found_at_its_time(
    reader: ocr.Reader, tmp_path: Path
) -> None:
    """002-030: shown between 0, 230, 470 and 590 ms, sampled at 10 frames a second."""
    shown = [(0, "ACME 187.32  12:59"), (230, "ACME 187.35  13:00"), (470, "ACME 187.85  13:01")]
    until, end_ms = (230, 470, 590), 600
    film = [
        next(text for start, text in reversed(shown) if start <= t_ms)
        for t_ms in range(0, end_ms, STEP_MS)
    ]

    readings = reader.read(frames(tmp_path, [cards.line_on_scenery(text) for text in film]))
    spans = merge(readings, end_ms)

    assert [span.text.replace(" ", "") for span in spans] == [t.replace(" ", "") for _, t in shown]
    for span, (start, _), end in zip(spans, shown, until, strict=True):
        assert 0 <= span.start_ms - start < STEP_MS
        assert 0 <= span.end_ms - end < STEP_MS


def test_each_post_of_a_scrolling_feed_is_one_span_at_its_time(
    reader: ocr.Reader, tmp_path: Path
) -> None:
    """A post is 60 pixels high and moves up by 20 per frame through a window of 180."""
    offsets = range(0, 300, 20)
    pictures = [cards.feed(POSTS, offset, height=180) for offset in offsets]

    spans = merge(reader.read(frames(tmp_path, pictures)), len(pictures) * STEP_MS)

    for number, post in enumerate(POSTS[:7]):
        top, bottom = 60 * number + 18, 60 * number + 50  # of the letters, in the column
        whole = [STEP_MS * n for n, y in enumerate(offsets) if y <= top and bottom <= y + 180]
        [span] = [span for span in spans if span.text == post]
        assert abs(span.start_ms - whole[0]) <= STEP_MS
        assert abs(span.end_ms - (whole[-1] + STEP_MS)) <= STEP_MS


def test_what_is_not_a_picture_costs_itself_alone(reader: ocr.Reader, tmp_path: Path) -> None:
    good = cards.line_on_scenery("still here")
    batch = frames(tmp_path, [good, good, good])
    Path(batch[1].path).write_text("<script>alert(1)</script>")

    first, broken, last = reader.read(batch)

    assert broken == Reading(t_ms=100, regions=(), error="SOURCE_CORRUPT")
    assert texts(first) == texts(last) == ["still here"]


def test_a_frame_that_is_missing_is_an_error_with_its_name(
    reader: ocr.Reader, tmp_path: Path
) -> None:
    with pytest.raises(Permanent, match=r"gone\.jpg") as caught:
        reader.read([Frame(t_ms=0, path=str(tmp_path / "gone.jpg"), width=1, height=1)])

    assert caught.value.error_code == "SOURCE_MISSING"


def test_the_engine_keeps_no_file_of_its_own(
    reader: ocr.Reader, home: Path, tmp_path: Path
) -> None:
    """Unless told not to, onnxruntime keeps a device id in its home and reports to its maker."""
    reader.read(frames(tmp_path, [cards.line_on_scenery("ready")]))

    assert {path.name for path in home.iterdir()} == {"frame", "requests"}


def test_no_network_is_needed(reader: ocr.Reader, tmp_path: Path) -> None:
    """The walls around the reader are proven to keep it from the network, and it reads."""
    if isolation.PROMISES.get(sandbox.level(), (None, None))[1] != "closed":
        pytest.skip("this machine cannot take the network away from a child")

    [reading] = reader.read(frames(tmp_path, [cards.line_on_scenery("offline")]))

    assert texts(reading) == ["offline"]


class Assault(sandbox.Watch):
    """Sends signals to the child while it has a frame: for each frame, one per try."""

    def __init__(self, folder: Path, strikes: dict[int, list[signal.Signals]]) -> None:
        self._frame = folder / "frame"
        self._strikes = strikes
        self._done = 0

    def tick(self) -> None:
        if self._frame.exists() and self._strikes.get(self._done):
            number = self._strikes[self._done].pop()
            for child in psutil.Process().children(recursive=True):
                child.send_signal(number)

    def progress(self, fraction: float) -> None:
        self._done += 1


def test_a_frame_that_ends_the_child_is_tried_again_and_then_lost_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second frame hangs once; the third crashes the child, and the next child too."""
    monkeypatch.setattr(ocr, "FRAME_S", 12.0)
    strikes = {1: [signal.SIGSTOP], 2: [signal.SIGSEGV, signal.SIGSEGV]}
    pictures = [cards.line_on_scenery(text) for text in ("one", "two", "deadly", "four")]
    before = psutil.Process().children()

    with ocr.reader(folder=folder, watch=Assault(folder, strikes)) as reader:
        readings = reader.read(frames(tmp_path, pictures))

    assert list(map(texts, readings)) == [["one"], ["two"], [], ["four"]]
    assert [reading.error for reading in readings] == [None, None, "SOURCE_CORRUPT", None]
    assert [(span.start_ms, span.end_ms) for span in merge(readings, 400)] == [
        (0, 100),
        (100, 300),  # what could not be read is passed over
        (300, 400),
    ]
    assert psutil.Process().children() == before
    assert list(folder.iterdir()) == []


def test_a_child_that_dies_of_frame_after_frame_is_a_failure_of_the_tool(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "TRIES", 1)
    monkeypatch.setattr(ocr, "LOST_IN_A_ROW", 2)
    strikes = {0: [signal.SIGKILL], 1: [signal.SIGKILL]}
    blank = Image.new("RGB", (64, 64))

    with (
        pytest.raises(ToolFailed, match="in a row") as caught,
        ocr.reader(folder=folder, watch=Assault(folder, strikes)) as reader,
    ):
        reader.read(frames(tmp_path, [blank] * 3))

    assert caught.value.error_code == "WORKER_CRASHED"


class Cancelled(Exception):
    pass


class Impatient(sandbox.Watch):
    """Gives up as soon as there is a child, or a frame for it."""

    def __init__(self, awaited: Path | None = None) -> None:
        self._awaited = awaited
        self._before = psutil.Process().children()

    def tick(self) -> None:
        if self._awaited.exists() if self._awaited else self._before != psutil.Process().children():
            raise Cancelled


def test_whoever_stops_a_reading_leaves_no_child(folder: Path) -> None:
    before = psutil.Process().children()

    with pytest.raises(Cancelled), ocr.reader(folder=folder, watch=Impatient()):
        pass

    assert psutil.Process().children() == before


def test_the_answer_to_a_reading_that_was_stopped_is_not_taken_for_the_next(
    reader: ocr.Reader, home: Path, tmp_path: Path
) -> None:
    """One reader serves task after task, each with a watch of its own."""
    stopped, wanted = frames(tmp_path, [cards.line_on_scenery(text) for text in ("old", "new")])

    with pytest.raises(Cancelled):
        reader.read([stopped], Impatient(home / "frame"))
    [reading] = reader.read([wanted], sandbox.SILENT)

    assert texts(reading) == ["new"]


def test_an_engine_that_is_not_there_says_how_to_get_it(folder: Path) -> None:
    klingon = Options(engine="tesseract", languages=("tlh",))

    with pytest.raises(Permanent) as caught, ocr.reader(klingon, folder=folder):
        pass

    assert caught.value.error_code == "OCR_UNAVAILABLE"
    assert "install" in str(caught.value.hint)


def test_tesseract_reads_with_the_data_of_the_language(folder: Path, tmp_path: Path) -> None:
    if not Path("/usr/share/tesseract-ocr/5/tessdata/deu.traineddata").exists():
        missing("tesseract-ocr-deu")
    card = cards.card("de", "paper", 720)

    with ocr.reader(Options(engine="tesseract", languages=("de",)), folder=folder) as reader:
        [reading] = reader.read(frames(tmp_path, [card.picture]))

    assert error_rate(card.lines, texts(reading)) <= 0.05


HOSTILE = {
    "nothing": [None, 7, "text", {}, {"text": "x"}, {"text": 1, "confidence": 1, "box": [0] * 4}],
    "numbers": [
        {"text": "x", "confidence": float("nan"), "box": [0, 0, 1, 1]},
        {"text": "x", "confidence": -(10**4000), "box": [0, 0, 1, 1]},
    ],
    "boxes": [{"text": "x", "confidence": 1, "box": ["0", 0, 1, 1]}],
    "silence": [{"text": "\x00\u202e\n", "confidence": 1, "box": [0, 0, 1, 1]}],
    "furniture": [{"text": "■ ─ | ▲", "confidence": 1, "box": [0, 0, 1, 1]}],
    "doubt": [{"text": "x", "confidence": 0.59, "box": [0, 0, 1, 1]}],
}


@pytest.mark.parametrize("found", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_a_child_says_is_not_believed(found: list[object]) -> None:
    """002-024, B-OCR-1: nonsense and doubt are dropped."""
    frame = Frame(t_ms=0, path="", width=64, height=36)

    assert ocr._regions(found, frame, 0.6) == ()


def test_what_a_child_says_is_bounded() -> None:
    """B-OCR-1: text, boxes and their number keep within what a frame can hold."""
    frame = Frame(t_ms=0, path="", width=64, height=36)
    said = {"text": "\u202eab\x00" + "c" * 50_000, "confidence": 7, "box": [-5, 30, 10**9, 10**9]}

    regions = ocr._regions([said] * 10_000, frame, 0.6)

    assert len(regions) == 500
    assert regions[0].box == (0, 30, 64, 6)
    assert regions[0].confidence == 1.0
    assert regions[0].text == "ab" + "c" * 998


def test_a_reading_survives_json() -> None:
    region = ocr.Region(text="née 👩‍🚀", confidence=0.75, box=(1, 2, 3, 4))
    reading = Reading(t_ms=100, regions=(region,), error=None)
    adapter = TypeAdapter(Reading)

    assert adapter.validate_json(adapter.dump_json(reading)) == reading
