"""Texts as SubRip, WebVTT, JSON and lines."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re

import pytest

from rushes.library import captions

STAMP = re.compile(r"\d\d:\d\d:\d\d[,.]\d{3} --> \d\d:\d\d:\d\d[,.]\d{3}")


def text(
    words: str, start_ms: int = 2_000, end_ms: int = 5_250, **more: object
) -> dict[str, object]:
    place = {"x": 10, "y": 20, "width": 300, "height": 40}
    return {
        "id": 7,
        "start_ms": start_ms,
        "end_ms": end_ms,
        "text": words,
        "normalized": words,
        "confidence": 0.9,
        "language": "en",
        "entities": [],
        **place,
        **more,
    }


def test_subrip_numbers_its_cues_and_counts_hours():
    texts = [text("RUSHES DEMO"), text("later", 3_723_004, 3_724_000)]

    assert captions.srt(texts) == (
        "1\n00:00:02,000 --> 00:00:05,250\nRUSHES DEMO\n\n2\n01:02:03,004 --> 01:02:04,000\nlater\n"
    )


def test_webvtt_begins_with_its_name():
    assert captions.vtt([text("RUSHES")]) == (
        "WEBVTT\n\n1\n00:00:02.000 --> 00:00:05.250\nRUSHES\n"
    )


def test_no_text_is_an_empty_file_that_is_valid():
    assert (captions.srt([]), captions.vtt([]), captions.lines([])) == ("", "WEBVTT\n", [])


def test_text_cannot_become_markup_or_a_cue_of_its_own():
    hostile = text("<b>&amp; 1\n\n2\n00:00:09,000 --> 00:00:10,000\nforged")

    for written in (captions.srt([hostile, text("next")]), captions.vtt([hostile, text("next")])):
        assert len(STAMP.findall(written)) == 2
        assert len(re.findall(r"^\d+$", written, re.MULTILINE)) == 2
    assert "&lt;b&gt;&amp;amp; 1" in captions.vtt([hostile])


def test_cue_of_text_at_the_same_time_stays_a_cue():
    both = [text("left", 0, 1_000), text("right", 500, 1_500)]

    assert captions.vtt(both).count("-->") == 2


def test_records_have_language_place_and_entities():
    """002-025, 002-033: what a span and its entities keep."""
    entity = {"kind": "mention", "value": "@Ann", "normalized": "@ann", "begins": 4, "ends": 8}
    seen = text("ask @Ann", entities=[{**entity, "span_id": 7}])

    [told] = captions.records([seen])

    assert json.loads(json.dumps(told)) == {
        "start_ms": 2_000,
        "end_ms": 5_250,
        "text": "ask @Ann",
        "language": "en",
        "confidence": 0.9,
        "box": {"x": 10, "y": 20, "width": 300, "height": 40},
        "entities": [entity],
    }


def test_line_says_from_when_to_when():
    assert captions.lines([text("RUSHES  DEMO")]) == ["0:02.0-0:05.2  RUSHES DEMO"]


def test_examples_hold():
    assert doctest.testmod(captions).failed == 0


def test_title_that_answers_is_a_row_of_the_table_but_no_cue():
    """A title has no place and no time; the hits after it have, and keep theirs."""
    box = {"x": 1, "y": 2, "width": 3, "height": 4}
    title = {**hit("The vote", "title"), "start_ms": 0, "end_ms": 1, "box": None}
    hits = [title, {**hit("vote now", "screen"), "box": box}]

    rows = list(csv.DictReader(io.StringIO(captions.csv(hits))))

    assert [row["text"] for row in rows] == ["The vote", "vote now"]
    assert [row["x"] + row["height"] for row in rows] == ["", "14"]
    assert captions.srt(hits) == "1\n00:00:02,000 --> 00:00:05,250\nvote now\n"
    assert captions.vtt(hits[:1]) == "WEBVTT\n"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_is_a_formula(sign: str):
    """B-OCR-1: whatever a spreadsheet takes for the beginning of one, also in East Asia."""
    [row] = csv.DictReader(io.StringIO(captions.csv([hit(f"{sign}sum(1)", "screen")])))

    assert row["text"] == f"'{sign}sum(1)"


def hit(words: str, source: str) -> dict[str, object]:
    """Return a text as a search tells it."""
    return {"start_ms": 2_000, "end_ms": 5_250, "text": words, "source": source}
