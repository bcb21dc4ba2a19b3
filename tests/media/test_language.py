"""The language of a text, or the admission that nobody can tell."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.media import language
from rushes.media.language import detect

SENTENCES = {
    "en": "The council approved the plan for the new bridge",
    "de": "Der Rat hat den Plan für die neue Brücke genehmigt",
    "fr": "Le conseil a approuvé le projet du nouveau pont",
    "es": "El consejo aprobó el plan para el nuevo puente",
    "it": "Il consiglio ha approvato il progetto del nuovo ponte",
    "pt": "O conselho aprovou o plano para a nova ponte",
    "nl": "De raad heeft het plan voor de nieuwe brug goedgekeurd",
    "sv": "Rådet har godkänt planen för den nya bron och vägen",
    "da": "Rådet har godkendt planen for den nye bro og vejen",
    "pl": "Rada zatwierdziła plan budowy nowego mostu",
    "ru": "Совет одобрил план строительства нового моста",
    "uk": "Рада схвалила план будівництва нового мосту",
    "el": "Το συμβούλιο ενέκρινε το σχέδιο",  # noqa: RUF001
    "ja": "議会は新しい橋の計画を承認した",
    "ko": "의회가 새 다리 계획을 승인했다",
    "zh": "议会批准了新桥的计划",
    "ar": "وافق المجلس على خطة الجسر الجديد",
    "he": "המועצה אישרה את התוכנית",
    "th": "สภาอนุมัติแผนสะพานใหม่",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_gives_its_language_away(code: str) -> None:
    """002-023, C81: as BCP 47."""
    assert detect(SENTENCES[code]) == code


SHORT = (
    *("", "   ", "OK", "Hello", "Live", "Menu", "Berlin", "Joe Biden", "Angela Merkel", "Level 3"),
    *("New York", "12:59", "ACME 187.32", "$12.50", "@the_council #plan", "xkcd qrst", "...", "Ω"),
    *("https://example.com/the/council/approved/the/plan", "東京", "👍🏽 👍🏽 👍🏽", "Los Angeles"),
)


@pytest.mark.parametrize("text", SHORT)
def test_what_could_be_any_language_is_not_guessed(text: str) -> None:
    assert detect(text) == "und"


def test_names_and_numbers_do_not_hide_the_language() -> None:
    assert detect("@bob_22 https://x.de/y Die Straße ist gesperrt 12:59 #A7") == "de"


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    assert detect(text) in {*language.LANGUAGES, *language.SCRIPTS.values(), "und"} - {"zxx"}


@pytest.fixture
def _without_the_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    language._identifier.cache_clear()
    yield
    language._identifier.cache_clear()


@pytest.mark.usefixtures("_without_the_library")
def test_without_the_library_only_scripts_tell() -> None:
    assert (detect(SENTENCES["en"]), detect(SENTENCES["ko"])) == ("und", "ko")
