"""Text → terms: the same for whoever writes and whoever asks, in every script."""

# ruff: noqa: RUF001  (letters that look like others are what this is about)

from __future__ import annotations

import doctest
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.media import terms
from rushes.media.terms import split, words


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ""),
        ("Council VOTES 7:2", "council votes 7 2"),
        ("don't e-mail snake_case", "don t e mail snake case"),
        ("Zürich, ZU\u0308RICH", "zurich zurich"),
        ("Straße ẞ", "strasse ss"),
        ("ﬁlm Ⅻ ②", "film xii 2"),
        ("ＡＢＣ１２３", "abc123"),
        ("Łódź Øresund Þór", "lodz oresund thor"),
        ("İstanbul ISTANBUL", "istanbul istanbul"),
        ("Ελλάδα ΑΘΉΝΑΣ", "ελλαδα αθηνασ"),
        ("Ёлка й", "елка и"),
        ("東京都", "東京 京都"),
        ("東", "東"),
        ("ABC東京x", "abc 東京 x"),
        ("ｶﾞｲﾄﾞ", "ガイ イド"),
        ("서울시", "서울 울시"),
        ("हिन्दी में", "हिन्दी में"),
        ("می\u200cخواهم", "میخواهم"),
        ("مَرْحَبًا أحمد", "مرحبا احمد"),
        ("ســلام", "سلام"),
        ("שָׁלוֹם", "שלום"),
        ("ไทย ok", "ไท ทย ok"),
        ("ລາວ", "ລາ າວ"),
        ("မြန်", "မြ ြန န်"),
        ("ខ្មែរ", "ខ្ ្ម មែ ែរ"),
        ("👍🏽👍 ok", "👍 👍 ok"),
        ("👩\u200d👧 🇩🇪", "👩\u200d👧 🇩🇪"),
        ("a\u200bb\u202ec", "a b c"),
        ("a\x00b \ud800", "a b"),
        ("@Ann_B #Tag", "ann b tag"),
    ],
)
def test_text_becomes_these_terms(text: str, expected: str):
    assert " ".join(words(text)) == expected


def test_term_that_is_too_long_is_cut():
    assert words("x" * 100) == ["x" * terms.LONGEST]
    assert words("ä" * 100) == ["a" * terms.LONGEST]


@given(st.text(max_size=200))
def test_terms_stand_in_order_and_hold_nothing_that_an_index_could_read_as_more(text: str):
    """B-SR-1: no space, no quote, no operator is ever part of a term."""
    found = split(text)

    for one, other in pairwise(found):
        assert one.start <= other.start
    for term in found:
        assert 0 <= term.start < term.end <= len(text)
        assert 0 < len(term.word) <= terms.LONGEST
        assert not set(term.word) & set(" \t\n\"'\\:=&|!()<>%_-")


@given(st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=30))
def test_folding_is_the_same_however_the_text_was_composed(text: str):
    composed = words(unicodedata.normalize("NFC", text))

    assert words(unicodedata.normalize("NFD", text)) == composed
    assert words(unicodedata.normalize("NFC", text.upper().lower())) or not composed


@pytest.mark.parametrize(
    "text", ["@" * 100_000, "http://" * 15_000, "東" * 100_000, "e\u0301" * 50_000]
)
def test_any_text_is_split_in_time_that_grows_with_its_length(text: str):
    """B-OCR-2: a tenth of a megabyte within a second of the processor, whatever else it does."""
    began = time.thread_time()

    split(text)

    assert time.thread_time() - began < 1


def test_examples_hold():
    assert doctest.testmod(terms).failed == 0
