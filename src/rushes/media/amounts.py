"""Numbers that mean something: with a currency or a unit. The pattern, and what it amounts to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

CURRENCIES = {
    "$": "USD", "US$": "USD", "C$": "CAD", "A$": "AUD", "HK$": "HKD", "R$": "BRL", "€": "EUR",
    "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₺": "TRY", "₴": "UAH", "₪": "ILS",
    "₫": "VND", "₦": "NGN", "฿": "THB", "₿": "BTC",
    "zł": "PLN", "kr": "kr", "euro": "EUR", "euros": "EUR", "Euro": "EUR", "dollar": "USD",
    "dollars": "USD", "Dollar": "USD",
    **{code: code for code in (
        "USD", "EUR", "GBP", "JPY", "CNY", "INR", "RUB", "KRW", "TRY", "UAH", "CHF", "SEK", "NOK",
        "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "BRL", "MXN", "ZAR", "SGD", "HKD", "BTC",
    )},
}  # fmt: skip
SCALES = {
    "k": 3, "K": 3, "m": 6, "M": 6, "mn": 6, "Mio": 6, "Mio.": 6, "million": 6, "millions": 6,
    "Million": 6, "Millionen": 6, "bn": 9, "B": 9, "billion": 9, "milliard": 9, "milliards": 9,
    "Mrd": 9, "Mrd.": 9, "Milliarde": 9, "Milliarden": 9, "trillion": 12,
}  # fmt: skip
# without in, A, B, K, t and x: they are words, names and signs more often than units
UNITS = (
    "%", "‰", "°C", "°F", "°", "mm", "cm", "m", "km", "ft", "yd", "mi", "cm²", "m²", "km²", "ha",
    "m³", "ml", "cl", "l", "gal", "mg", "g", "kg", "lb", "lbs", "oz", "ms", "s", "sec", "min",
    "h", "hrs", "km/h", "kmh", "mph", "m/s", "Hz", "kHz", "MHz", "GHz", "fps", "kB", "KB", "MB",
    "GB", "TB", "PB", "kbps", "kbit/s", "Mbps", "Mbit/s", "Gbps", "W", "kW", "MW", "GW", "Wh",
    "kWh", "MWh", "V", "mV", "kV", "mA", "mAh", "Pa", "hPa", "kPa", "bar", "psi", "kJ", "kcal",
    "dB", "px", "MP", "dpi",
)  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of the words, the longest first."""
    return "(?:" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")"


SPACE = r"[ \u00a0\u2009\u202f]"
# a word ends where the next begins; a sign before a digit belongs to that
END = r"(?:(?<=\w)(?!\w)|(?<!\w)(?!\d))"
SCALE, UNIT = _any_of(SCALES) + END, _any_of(UNITS) + END
CURRENCY = _any_of(CURRENCIES) + END
LEADING = _any_of(word for word in CURRENCIES if not word.isalpha() or word.isupper())
DIGITS = rf"\d{{1,15}}(?:[.,'\u2019]\d{{1,15}}|{SPACE}\d{{3}}(?!\d)){{0,6}}(?!\d)"
AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<sign>[-\u2212+]?)(?:"
    rf"(?P<before>{LEADING}){SPACE}?(?P<paid>{DIGITS})(?:{SPACE}?(?P<paid_scale>{SCALE}))?"
    rf"|(?P<digits>{DIGITS})(?:{SPACE}?(?P<scale>{SCALE}))?{SPACE}?(?P<after>{CURRENCY})"
    rf"|(?P<measured>{DIGITS}){SPACE}?(?P<unit>{UNIT}))"
)


def normalized(text: str) -> str:
    """Return an amount in one form, whoever wrote it.

    >>> normalized("$3.5M"), normalized("1.234,50 €"), normalized("12 %"), normalized("-4°C")
    ('3500000 USD', '1234.5 EUR', '12 %', '-4 °C')
    """
    found = AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an amount")
    unit = found["unit"] or CURRENCIES[found["before"] or found["after"]]
    digits = found["paid"] or found["digits"] or found["measured"]
    scale = SCALES.get(found["paid_scale"] or found["scale"], 0)
    value = _value(digits, money=found["unit"] is None).scaleb(scale)
    if found["sign"] not in {"", "+"}:
        value = -value
    return f"{value.normalize():f} {unit}"


def _value(digits: str, *, money: bool) -> Decimal:
    plain = re.sub(rf"{SPACE}|['\u2019]", "", digits)
    marks = re.findall(r"[.,]", plain)
    if not marks:
        return Decimal(plain)
    mark = marks[-1]
    whole, _, rest = plain.rpartition(mark)
    if marks.count(mark) > 1 or (len(marks) == 1 and _is_thousands(whole, mark, rest, money)):
        return Decimal(re.sub(r"[.,]", "", plain))
    return Decimal(f"{re.sub(r'[.,]', '', whole)}.{rest}")


def _is_thousands(whole: str, mark: str, rest: str, money: bool) -> bool:
    """Nobody counts money in thousandths; a full stop in a measure is a decimal point."""
    return len(rest) == 3 and whole != "0" and len(whole) <= 3 and (money or mark == ",")
