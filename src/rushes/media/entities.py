"""Finds what can be searched or clicked in a text: names, tags, addresses, amounts, emoji.

The raw text is searched, not the normalised one: `value` keeps its case, `start` and `end` point
into it. One pass from left to right, so nothing is found inside something else. Every repetition
has an end and no pattern starts inside a run that it would scan, so the work grows with the
length of the text, whatever it says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rushes.media import amounts
from rushes.media.text import normalize


class Kind(StrEnum):
    """What was found."""

    MENTION = "mention"
    HASHTAG = "hashtag"
    URL = "url"
    EMOJI = "emoji"
    NUMBER = "number"
    PHONE = "phone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One find, as it stands in the text and in the form in which equal ones are equal."""

    kind: Kind
    value: str
    normalized: str
    start: int
    end: int


LONGEST_NAME = 140
# domains that people write without a scheme; others need one
DOMAINS = (
    "com|org|net|edu|gov|info|biz|io|ai|app|dev|tv|fm|me|co|cc|ly|gg|xyz|online|site|shop|store|"
    "blog|news|live|video|film|media|music|art|tech|cloud|page|link|world|today|club|studio|eu|uk|"
    "us|ca|au|nz|ie|de|at|ch|li|lu|fr|be|nl|es|pt|it|se|no|dk|fi|is|pl|cz|sk|hu|ro|bg|hr|si|rs|gr|"
    "tr|ru|ua|by|lt|lv|ee|il|ae|sa|ir|in|pk|bd|lk|cn|hk|tw|jp|kr|sg|my|th|vn|id|ph|br|ar|cl|pe|mx|"
    "za|ng|ke|eg|ma"
)
URL = rf"""
    (?i:https?|ftp)://[^\s<>"]{{1,2000}}
  | (?<![\w@.\-/]) (?:[^\W_][\w\-]{{0,62}}\.){{1,6}} (?P<domain>(?i:{DOMAINS})) (?![\w@\-]|\.\w)
    (?::\d{{1,5}})? (?:[/?\#][^\s<>"]{{0,2000}})?
"""
PHONE = r"""
    (?<![\w+.,\-/(]) (?:
        \+1 [\ .\-]? \(?\d{3}\)? [\ .\-]? \d{3} [\ .\-]? \d{4}
      | (?:\+|00)[1-9]\d{0,2} [\ .\-]? (?:\(\d{1,4}\)[\ .\-]?)? \d (?:[\ ./\-]?\d){5,11}
      | (?=(?:[\ /()\-]{0,2}\d){9}) \(?0\d{1,5}\)? [\ /\-]? \d{3,8} (?:[\ \-]\d{1,5}){0,4}
      | 0\d (?:[\ .]\d\d){4}
      | \(?[2-9]\d\d\)? [\ .\-] \d{3} [\ .\-] \d{4}
    ) (?!\w|[.,:]\d)
"""
# emoji by themselves, and signs that are emoji only when a selector or a skin colour follows
EMOJI = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705"
    "\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50"
    "\u2b55\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f236\U0001f238-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f"
    "\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f9ff"
    "\U0001fa70-\U0001faff"
)
SIGNS = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u2328-\u27a1\u2934\u2935"
    "\u2b05-\u2b07\u3030\u303d\u3297\u3299\U0001f170-\U0001f251"
)
SELECTOR, JOINER, SKIN = "\ufe0f", "\u200d", "[\U0001f3fb-\U0001f3ff]"
PICTURE = rf"""
    [\U0001f1e6-\U0001f1ff]{{2}}
  | \U0001f3f4[\U000e0030-\U000e007a]{{2,8}}\U000e007f
  | [0-9\#*]{SELECTOR}?\u20e3
  | (?:[{EMOJI}]{SELECTOR}? | [{SIGNS}](?:{SELECTOR}|(?={SKIN}))) {SKIN}?
    (?:{JOINER}[{EMOJI}{SIGNS}]{SELECTOR}?{SKIN}?){{0,9}}
"""
AT, HASH = "@\uff20", "#\uff03"  # as in ASCII, and wide as in East Asia
NAME = rf"(?<![\w{AT}{HASH}&/])[{AT}{HASH}](?=\w)"

_FIND = re.compile(
    rf"(?x:(?P<emoji>{PICTURE})|(?P<url>{URL})|(?P<phone>{PHONE}))"
    rf"|(?P<number>{amounts.AMOUNT.pattern})|(?P<name>{NAME})"
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def find(text: str) -> list[Entity]:
    """Return what is in the text, in order and without overlaps.

    >>> [entity.normalized for entity in find("@Ann pays 12,50 € at Example.com/Menu. 👍🏽")]
    ['@ann', '12.5 EUR', 'example.com/Menu', '👍']
    """
    return list(_find(text))


def _find(text: str) -> Iterator[Entity]:
    position = 0
    while found := _FIND.search(text, position):
        start = found.start()
        position = start + 1
        reading = _read(text, found)
        if reading is not None:
            kind, position, normalized = reading
            value = text[start:position]
            yield Entity(kind=kind, value=value, normalized=normalized, start=start, end=position)


def _read(text: str, found: re.Match[str]) -> tuple[Kind, int, str] | None:
    """Return what was found, where it ends and its normal form; None for a false friend."""
    value, end = found[0], found.end()
    if found["name"]:
        return _name(text, found)
    if found["url"]:
        return _url(found)
    if found["phone"]:
        return Kind.PHONE, end, _dialled(value)
    if found["number"]:
        return Kind.NUMBER, end, amounts.normalized(value)
    return Kind.EMOJI, end, re.sub(f"{SELECTOR}|(?<!^){SKIN}", "", value)


def _name(text: str, found: re.Match[str]) -> tuple[Kind, int, str] | None:
    end = _end_of_name(text, found.end())
    kind = Kind.MENTION if found["name"] in AT else Kind.HASHTAG
    return (kind, end, normalize(text[found.start() : end])) if end else None


def _url(found: re.Match[str]) -> tuple[Kind, int, str] | None:
    value = _without_tail(found[0])
    if not _is_address(value, found["domain"]):
        return None
    return Kind.URL, found.start() + len(value), _address(value)


def _end_of_name(text: str, start: int) -> int | None:
    """Return where a name ends; `\\w` knows no vowel signs, without which Hindi falls apart."""
    for end in range(start, min(len(text), start + LONGEST_NAME + 1)):
        if text[end] != "_" and unicodedata.category(text[end])[0] not in "LMN":
            return end
    return len(text) if len(text) - start <= LONGEST_NAME else None


def _without_tail(url: str) -> str:
    """Return the address without the punctuation of the sentence around it."""
    surplus = {close: url.count(close) - url.count(open) for close, open in _PAIRS.items()}
    end = len(url)
    while end and (url[end - 1] in ".,;:!?'\u2019\u201d»…*" or surplus.get(url[end - 1], 0) > 0):
        end -= 1
        if url[end] in surplus:
            surplus[url[end]] -= 1
    return url[:end]


def _is_address(url: str, domain: str | None) -> bool:
    """Without a scheme `works.It` and `10.in` are the ends of sentences and of sizes."""
    if domain is None:
        return url.partition("://")[2] != ""
    host = re.split("[/?#:]", url, maxsplit=1)[0]
    named = any(map(str.isalpha, host.rpartition(".")[0]))
    return named and (domain.islower() or domain.isupper())


def _address(url: str) -> str:
    """Return the address without what does not change where it leads."""
    bare = re.sub(r"(?i)^(?:(?:https?|ftp)://)?(?:www\.)?", "", url)
    host, *path = re.split("(?=[/?#])", bare, maxsplit=1)
    return normalize(host) + "".join(path).rstrip("/")


def _dialled(phone: str) -> str:
    digits = re.sub(r"[^\d+]", "", phone.replace("(0)", ""))
    return re.sub(r"^00", "+", digits)
