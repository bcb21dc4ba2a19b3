"""Names the language of a text by its BCP 47 code, or `und` rather than a guess.

Some scripts belong to one language. For the others py3langid, whose model lies in its wheel,
gives a probability; below one half nothing is claimed, so short words and names stay `und`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

UNKNOWN = "und"
SURE = 0.5
LEAST_LETTERS = 4
LEAST_OF_A_SCRIPT = 3
MOST_LETTERS = 500
# scripts, by the first word in the names of their letters, that one language uses
SCRIPTS = {
    "HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "GREEK": "el", "HEBREW": "he",
    "THAI": "th", "GEORGIAN": "ka", "ARMENIAN": "hy", "TAMIL": "ta", "TELUGU": "te",
    "KANNADA": "kn", "MALAYALAM": "ml", "GUJARATI": "gu", "GURMUKHI": "pa", "SINHALA": "si",
    "KHMER": "km", "LAO": "lo", "MYANMAR": "my",
}  # fmt: skip
# what people write on screens; among all that the model knows, rare ones steal from these
LANGUAGES = (
    "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "en", "es", "et", "eu",
    "fa", "fi", "fr", "ga", "gl", "hi", "hr", "hu", "id", "is", "it", "ja", "kk", "la", "lt",
    "lv", "mk", "mr", "ms", "mt", "ne", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sq",
    "sr", "sv", "sw", "tl", "tr", "uk", "ur", "uz", "vi", "zh", "zxx",
)  # fmt: skip
NO_LANGUAGE = "zxx"
# what files call languages by, in three letters of ISO 639-2, either way
THREE_LETTERS = {
    "ara": "ar", "bul": "bg", "ces": "cs", "cze": "cs", "chi": "zh", "zho": "zh", "dan": "da",
    "deu": "de", "ger": "de", "dut": "nl", "nld": "nl", "ell": "el", "gre": "el", "eng": "en",
    "fin": "fi", "fra": "fr", "fre": "fr", "heb": "he", "hin": "hi", "hun": "hu", "ita": "it",
    "jpn": "ja", "kor": "ko", "nor": "no", "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro",
    "rus": "ru", "spa": "es", "swe": "sv", "tha": "th", "tur": "tr", "ukr": "uk", "vie": "vi",
}  # fmt: skip


def detect(text: str) -> str:
    """Return the language of a text, or `und`.

    >>> detect("Der Rat hat den Plan genehmigt"), detect("Ελλάδα"), detect("OK 12:59")
    ('de', 'el', 'und')
    """
    words = " ".join(filter(_is_word, text[: 2 * MOST_LETTERS].split()))
    letters = [letter for letter in words if letter.isalpha()]
    by_script = _by_script(letters)
    if by_script is not None:
        return by_script
    identifier = _identifier() if len(letters) >= LEAST_LETTERS else None
    if identifier is None:
        return UNKNOWN
    language, probability = identifier.classify(words)
    return UNKNOWN if probability < SURE or language == NO_LANGUAGE else str(language)


def short(said: str | None) -> str:
    """Return the BCP 47 code of a language that a file names.

    >>> short("ger"), short("pt-BR"), short(None)
    ('de', 'pt-BR', 'und')
    """
    return THREE_LETTERS.get(said or UNKNOWN, said or UNKNOWN)


def _is_word(token: str) -> bool:
    """Names, addresses and numbers are the same in every language."""
    return not any(letter in "@#/\\_" or letter.isdigit() for letter in token)


def _by_script(letters: Iterable[str]) -> str | None:
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    if scripts["HIRAGANA"] or scripts["KATAKANA"]:
        scripts["HIRAGANA"] += scripts["CJK"]  # Japanese mixes both
    for script, count in scripts.most_common(1):
        if 2 * count > scripts.total() - scripts["CJK"] and count >= LEAST_OF_A_SCRIPT:
            return SCRIPTS.get(script)
    return None


@cache
def _identifier() -> Any:
    """Load the model, a matter of a second and of 100 MB; None where it is not installed."""
    try:
        from py3langid.langid import (  # type: ignore[import-untyped]
            MODEL_FILE,
            LanguageIdentifier,
        )
    except ImportError:
        return None
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier
