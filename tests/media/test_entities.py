"""What is found in a text: from the raw text, with its case and its place (C36)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.media.entities import Entity, Kind, find

FINDS: dict[str, list[tuple[str, str, str]]] = {
    # names and tags
    "by @Reuters_Live, .@ann!": [
        ("mention", "@Reuters_Live", "@reuters_live"),
        ("mention", "@ann", "@ann"),
    ],
    "\uff20日本 \uff03東京": [
        ("mention", "\uff20日本", "@日本"),
        ("hashtag", "\uff03東京", "#東京"),
    ],
    "#Größe #हिन्दी #vote2026": [
        ("hashtag", "#Größe", "#grösse"),
        ("hashtag", "#हिन्दी", "#हिन्दी"),
        ("hashtag", "#vote2026", "#vote2026"),
    ],
    "C# &#39; ## @@x a@b @ #": [],
    "john.doe@example.com, jo.de@x": [],
    # addresses
    "see https://Example.com/Path?q=A#b.": [
        ("url", "https://Example.com/Path?q=A#b", "example.com/Path?q=A#b")
    ],
    "(http://x.org/wiki/Foo_(bar)), ok": [
        ("url", "http://x.org/wiki/Foo_(bar)", "x.org/wiki/Foo_(bar)")
    ],
    "www.Example.COM/ youtu.be/AbC, EXAMPLE.DE!": [
        ("url", "www.Example.COM/", "example.com"),
        ("url", "youtu.be/AbC", "youtu.be/AbC"),
        ("url", "EXAMPLE.DE", "example.de"),
    ],
    "bücher.de https://пример.рф/я": [
        ("url", "bücher.de", "bücher.de"),
        ("url", "https://пример.рф/я", "пример.рф/я"),
    ],
    "x.com/@user/status/1?s=20 http://127.0.0.1:80/": [
        ("url", "x.com/@user/status/1?s=20", "x.com/@user/status/1?s=20"),
        ("url", "http://127.0.0.1:80/", "127.0.0.1:80"),
    ],
    "It works.It is 10.in e.g. file.txt Mr.No http:// 3.14 1.2.3.4": [],
    # emoji
    "👍🏽👩‍👩‍👧‍👦": [("emoji", "👍🏽", "👍"), ("emoji", "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦")],
    "🇩🇪🇫🇷 5️⃣ ❤️ ☀": [
        ("emoji", "🇩🇪", "🇩🇪"),
        ("emoji", "🇫🇷", "🇫🇷"),
        ("emoji", "5️⃣", "5⃣"),
        ("emoji", "❤️", "❤"),
    ],
    "👩🏽‍🚀 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ©": [
        ("emoji", "👩🏽‍🚀", "👩‍🚀"),
        ("emoji", "🏳️‍🌈", "🏳‍🌈"),
        ("emoji", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"),
    ],
    # amounts
    "$12.50 US$5 £3.5bn": [
        ("number", "$12.50", "12.5 USD"),
        ("number", "US$5", "5 USD"),
        ("number", "£3.5bn", "3500000000 GBP"),
    ],
    "1.234,50 € 1 234,50 € 1,234.50 EUR CHF 1'200": [
        ("number", "1.234,50 €", "1234.5 EUR"),
        ("number", "1 234,50 €", "1234.5 EUR"),
        ("number", "1,234.50 EUR", "1234.5 EUR"),
        ("number", "CHF 1'200", "1200 CHF"),
    ],
    "5 Mio. € 100 kr ₹1,00,000": [
        ("number", "5 Mio. €", "5000000 EUR"),
        ("number", "100 kr", "100 kr"),
        ("number", "₹1,00,000", "100000 INR"),
    ],
    "12 % 0.5% \u22124\u00a0°C 100 km/h 5-10 kg 1.234 kg": [
        ("number", "12 %", "12 %"),
        ("number", "0.5%", "0.5 %"),
        ("number", "\u22124\u00a0°C", "-4 °C"),
        ("number", "100 km/h", "100 km/h"),
        ("number", "10 kg", "10 kg"),
        ("number", "1.234 kg", "1.234 kg"),
    ],
    "٢٥ %": [("number", "٢٥ %", "25 %")],
    "2 in 1, 12:59, 2024, 4K, B 52, v1.2": [],
    # telephones
    "+49 30 1234567, 0049 30 1234567": [
        ("phone", "+49 30 1234567", "+49301234567"),
        ("phone", "0049 30 1234567", "+49301234567"),
    ],
    "+1 (555) 123-4567 555-123-4567": [
        ("phone", "+1 (555) 123-4567", "+15551234567"),
        ("phone", "555-123-4567", "5551234567"),
    ],
    "+49 (0)30 123456 (030) 123 456 78": [
        ("phone", "+49 (0)30 123456", "+4930123456"),
        ("phone", "(030) 123 456 78", "03012345678"),
    ],
    "01 23 45 67 89 or 0171/1234567": [
        ("phone", "01 23 45 67 89", "0123456789"),
        ("phone", "0171/1234567", "01711234567"),
    ],
    "01.02.2024 2024-01-02 192.168.0.1 0.123456789 12:34:56": [],
}


@pytest.mark.parametrize("text", FINDS)
def test_finds_what_is_there_and_nothing_else(text: str) -> None:
    """002-031, 002-032, 002-033."""
    found = [(entity.kind.value, entity.value, entity.normalized) for entity in find(text)]

    assert found == FINDS[text]


SPICE = st.lists(
    st.one_of(
        st.text(max_size=3),
        st.sampled_from(
            [
                *"@#+-(0.,€$%/ ",
                "http://",
                "www.",
                ".com",
                "12",
                "000",
                "👩",
                "\u200d",
                "\ufe0f",
                "k",
            ]
        ),
    )
).map("".join)


@given(SPICE)
def test_finds_are_in_place_and_in_order(text: str) -> None:
    end = 0
    for entity in find(text):
        assert entity.start >= end
        assert text[entity.start : entity.end] == entity.value != ""
        assert entity.normalized != ""
        end = entity.end


BOMBS = (
    *(
        "@",
        "#",
        "a@",
        "@a",
        "#a#",
        "@" + "x" * 141 + " ",
        "http://",
        "http://)",
        "http://[",
        "www.",
    ),
    *("a.", "a-", "a.com/", "x.co.", "x-.com", "1", "1 ", "1 000 ", "1.", "1,000 k", "+1", "+49 "),
    *("0 ", "(0", "0-", "0123 456 ", "€", "€1", "$1 k", "👍", "👩\u200d", "❤", "\U0001f1e9", "("),
    *("1\ufe0f", "\U0001f3f4\U000e0067", "_", "é", " "),
)


def seconds(text: str) -> float:
    """The least of three, in CPU time: neighbours on the machine do not count."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        find(text)
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.parametrize("bomb", BOMBS)
def test_four_times_the_text_is_about_four_times_the_work(bomb: str) -> None:
    """B-OCR-2. Quadratic work would be sixteen times."""
    text = bomb * (4_000 // len(bomb))

    assert seconds(4 * text) < 9 * seconds(text) + 0.005


def test_a_megabyte_of_everything_is_read() -> None:
    text = "".join(bomb * (1_000_000 // len(BOMBS) // len(bomb)) for bomb in BOMBS)

    assert len(text) > 900_000
    assert len(find(text)) > 10_000


def test_an_entity_survives_json() -> None:
    [entity] = find("@Ann")
    adapter = TypeAdapter(Entity)

    assert adapter.validate_json(adapter.dump_json(entity)) == entity
    assert entity == Entity(kind=Kind.MENTION, value="@Ann", normalized="@ann", start=0, end=4)
