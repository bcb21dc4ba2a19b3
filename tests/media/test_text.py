"""From readings to the times at which a text is seen; no engine is needed for that."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.media import text
from rushes.media.ocr import Reading, Region
from rushes.media.text import Box, Span, clean, distance, merge, normalize, text_hash

BOX = (40, 300, 200, 30)


def region(said: str, confidence: float = 0.95, box: Box = BOX) -> Region:
    return Region(text=said, confidence=confidence, box=box)


def reading(t_ms: int, *regions: Region | str) -> Reading:
    found = (region(one) if isinstance(one, str) else one for one in regions)
    return Reading(t_ms=t_ms, regions=tuple(found))


def times(spans: list[Span]) -> list[tuple[str, int, int]]:
    return [(span.text, span.start_ms, span.end_ms) for span in spans]


def test_a_text_lasts_until_the_frame_that_does_not_show_it() -> None:
    """002-029, 002-030: equal neighbours become one range."""
    readings = [reading(0, "a"), reading(100, "a", "b"), reading(200, "b"), reading(300)]

    assert times(merge(readings, 400)) == [("a", 0, 200), ("b", 100, 300)]


def test_frames_that_were_not_kept_look_like_the_last_one() -> None:
    """C37: nothing was kept between 100 and 4,000 ms, because nothing changed."""
    readings = [reading(0, "a"), reading(100, "b"), reading(4_000, "b"), reading(4_100, "c")]

    assert times(merge(readings, 9_000)) == [("a", 0, 100), ("b", 100, 4_100), ("c", 4_100, 9_000)]


def test_a_frame_that_could_not_be_read_ends_nothing() -> None:
    lost = Reading(t_ms=100, regions=(), error="SOURCE_CORRUPT")

    assert times(merge([reading(0, "a"), lost, reading(200, "a")], 300)) == [("a", 0, 300)]


def test_a_text_that_goes_and_comes_back_is_seen_twice() -> None:
    readings = [reading(0, "a"), reading(100), reading(200, "a")]

    assert times(merge(readings, 300)) == [("a", 0, 100), ("a", 200, 300)]


def test_a_text_that_moves_is_one_span_with_the_box_of_its_first_frame() -> None:
    """C77."""
    readings = [reading(n * 100, region("post", box=(10, 400 - 50 * n, 90, 20))) for n in range(5)]

    [span] = merge(readings, 500)

    assert (span.start_ms, span.end_ms, span.box) == (0, 500, (10, 400, 90, 20))


def test_the_surest_reading_names_the_span() -> None:
    """002-025: text, normalised text and hash belong together."""
    readings = [
        reading(0, region("Counci1 meets", 0.7)),
        reading(100, region("Council meets", 0.9)),
        reading(200, region("Counci1 meets", 0.8)),
    ]

    [span] = merge(readings, 300)

    assert (span.text, span.normalized, span.confidence) == ("Council meets", "council meets", 0.9)
    assert span.hash == text_hash("council meets")


SLIPS = [
    ("Rain, expected on Thursday", "Rain expected on Thursday"),
    ("Le conseil est réuni", "Le conseil est reuni"),
    ("Post number4", "Post number 4"),
    ("The mayor opened the harbour", "The mayor opened the harbnur"),
]
CHANGES = [
    ("12:59", "13:00"),
    ("ACME 187.32 on a long line of news", "ACME 187.35 on a long line of news"),
    ("Season S1E1 begins tonight at the harbour", "Season S1E8 begins tonight at the harbour"),
    ("1,000 votes", "1.900 votes"),
    ("yes", "no"),
    ("cat", "car"),
    ("...", "!!!"),
]


@pytest.mark.parametrize("one, other", SLIPS)
def test_a_slip_of_the_engine_is_the_same_text(one: str, other: str) -> None:
    readings = [reading(0, region(one, 0.95)), reading(100, region(other, 0.8))]

    assert times(merge(readings, 200)) == [(one, 0, 200)]


@pytest.mark.parametrize("one, other", CHANGES)
def test_a_text_that_changed_is_another_text(one: str, other: str) -> None:
    """A number that moves on must never be taken for a slip."""
    readings = [reading(0, region(one, 0.8)), reading(100, region(other, 0.8))]

    assert times(merge(readings, 200)) == [(one, 0, 100), (other, 100, 200)]


def test_two_sure_readings_that_differ_are_two_texts() -> None:
    one, other = "The winner is Anna Brandt of Mannheim", "The winner is Anne Brandt of Mannheim"

    assert len(merge([reading(0, region(one, 0.99)), reading(1, region(other, 0.99))], 2)) == 2


def test_a_text_somewhere_else_is_another_text() -> None:
    readings = [reading(0, "Counci1"), reading(100, region("Council", box=(40, 60, 200, 30)))]

    assert len(merge(readings, 200)) == 2


def test_a_text_that_is_typed_does_not_swallow_its_end() -> None:
    said = "all the words that are there"
    typed = [said[:n] for n in range(20, len(said) + 1) if said[n - 1] != " "]

    spans = merge([reading(n, region(part, 0.8)) for n, part in enumerate(typed)], 99)

    assert [span.text for span in spans] == typed


def test_slips_do_not_add_up_to_another_text() -> None:
    """Each reading is compared with the best one, so a text cannot drift letter by letter."""
    start = "the harbour is closed for the winter"
    steps = ["x" * n + start[n:] for n in range(7)]

    spans = merge([reading(n, region(step, 0.8)) for n, step in enumerate(steps)], 7)

    assert len(spans) > 1


def test_equal_texts_at_one_time_are_told_apart() -> None:
    row = [region("Like", box=(10, y, 60, 20)) for y in (10, 90, 170)]
    readings = [reading(0, *row), reading(100, *row[:2]), reading(200, *row[:2])]

    spans = merge(readings, 300)

    assert sorted((span.start_ms, span.end_ms) for span in spans) == [(0, 100), (0, 300), (0, 300)]


def test_the_real_text_is_not_given_away_to_one_that_looks_alike() -> None:
    readings = [reading(0, "Council"), reading(100, "Counci1", region("Council", box=(0, 0, 9, 9)))]

    assert times(merge(readings, 200)) == [("Council", 0, 200), ("Counci1", 100, 200)]


def test_frames_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="comes after"):
        merge([reading(100, "a"), reading(100, "a")], 200)


def test_parts_of_a_film_join() -> None:
    """A part ends at 300 s; the first frame of the next one is always kept."""
    first = [reading(299_900, "a", "b")]
    second = [reading(300_000, "a"), reading(300_100, "c")]

    assert sorted(times(merge([*first, *second], 300_200))) == [
        ("a", 299_900, 300_100),
        ("b", 299_900, 300_000),
        ("c", 300_100, 300_200),
    ]


WORDS = st.sampled_from(
    ["12:59", "13:00", "Council", "Counci1", "Rain on Thursday", "Rain on", "a"]
)
REGIONS = st.builds(
    region,
    WORDS,
    st.sampled_from([0.6, 0.8, 0.95]),
    st.tuples(st.sampled_from([0, 8, 300]), st.sampled_from([0, 6]), st.just(90), st.just(20)),
)
FILMS = st.lists(st.lists(REGIONS, max_size=4), min_size=1, max_size=8).map(
    lambda frames: [reading(100 * n, *found) for n, found in enumerate(frames)]
)


@given(FILMS, st.data())
def test_where_a_batch_ends_makes_no_difference(film: list[Reading], data: st.DataObject) -> None:
    """A new batch or part begins with a frame that shows what the last one showed."""
    borders = data.draw(st.lists(st.integers(0, len(film) - 1), unique=True))
    batches = [
        again
        for n, one in enumerate(film)
        for again in ([one, replace(one, t_ms=one.t_ms + 50)] if n in borders else [one])
    ]

    assert merge(batches, 10_000) == merge(film, 10_000)


@given(FILMS)
def test_every_region_of_every_frame_is_in_one_span(film: list[Reading]) -> None:
    spans = merge(film, 10_000)

    for one in film:
        there = [span for span in spans if span.start_ms <= one.t_ms < span.end_ms]
        assert len(there) == len(one.regions)
    assert all(span.start_ms < span.end_ms for span in spans)
    assert spans == sorted(spans, key=lambda span: span.start_ms)


def test_the_work_grows_with_the_regions_of_a_frame_and_no_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0
    alike = text._alike

    def count(seen: text._Seen, one: Region) -> bool:
        nonlocal compared
        compared += 1
        return alike(seen, one)

    monkeypatch.setattr(text, "_alike", count)
    heaps = [reading(n, *(f"{n} of many {i}" for i in range(500))) for n in range(3)]

    merge(heaps, 3)

    assert 500 <= compared <= 2 * 500 * 9 * 4  # two changes of frame, nine cells, four in each


@pytest.mark.parametrize(
    "dirty, shown",
    [
        ("a\x00b\x1b[31m", "ab[31m"),
        ("\u202egpj.exe\u202c \u2066x\u2069", "gpj.exe x"),
        ("zero\u200bwidth\ufeff soft\u00adhyphen", "zerowidth softhyphen"),
        ("line one\r\nline\ttwo\u2028three", "line one line two three"),
        ("lone \ud800 half", "lone half"),
        ("e\u0301", "é"),
        ("👩\u200d🚀 می\u200cروم", "👩\u200d🚀 می\u200cروم"),
        ("<script>alert(1)</script> {{7*7}} =cmd()", "<script>alert(1)</script> {{7*7}} =cmd()"),
    ],
)
def test_text_is_cleaned_of_what_cannot_be_seen(dirty: str, shown: str) -> None:
    """B-OCR-1."""
    assert clean(dirty) == shown


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_clean_text_can_be_stored_and_is_clean(dirty: str) -> None:
    shown = clean(dirty)

    shown.encode()
    assert clean(shown) == shown
    assert len(shown) <= text.MAX_LENGTH
    assert not any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in shown)


@given(st.text())
@example("\u0390")  # folding its case takes it apart
def test_normal_text_is_normal(said: str) -> None:
    assert normalize(normalize(said)) == normalize(said)
    assert unicodedata.is_normalized("NFKC", normalize(said))


def slow_distance(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    return min(
        slow_distance(one[1:], other) + 1,
        slow_distance(one, other[1:]) + 1,
        slow_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.integers(0, 7))
def test_the_distance_is_the_number_of_edits(one: str, other: str, limit: int) -> None:
    expected = slow_distance(one, other)

    assert distance(one, other) == expected
    assert min(distance(one, other, limit), limit + 1) == min(expected, limit + 1)


def test_a_span_survives_json() -> None:
    [span] = merge([reading(0, "Straße")], 100)
    adapter = TypeAdapter(Span)

    assert adapter.validate_json(adapter.dump_json(span)) == span
