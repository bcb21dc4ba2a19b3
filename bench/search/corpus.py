"""A library that never was: words as often as in real text, read from pictures, slips and all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import NamedTuple

from rushes.library.indexing import Line, Source

SPANS_PER_VIDEO = 100
WORDS = 200_000  # different ones that people wrote; readers make more of them
SLIP = 0.03  # of the words are misread
SLIPS = {"l": "1", "o": "0", "i": "l", "s": "5", "b": "8", "e": "c", "m": "rn", "n": "h"}
SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]


class Question(NamedTuple):
    """What is asked, and what a plain scan would look for."""

    text: str
    like: str


class Corpus:
    """Everything follows from the seed: both databases and every peer get the same."""

    def __init__(self, seed: int = 1) -> None:
        random = Random(seed)
        self.words = list(
            dict.fromkeys("".join(random.choices(SYLLABLES, k=1 + n % 4)) for n in range(WORDS))
        )
        random.shuffle(self.words)
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def video(self, number: int) -> list[Line]:
        """Return the texts of one video."""
        random = Random(number)
        return [
            Line(
                Source.SCREEN,
                1_000 * n,
                1_000 * n + 2_500,
                self._text(random),
                "en",
                round(random.uniform(0.6, 1), 3),
                (40, 900, 800, 60),
            )
            for n in range(SPANS_PER_VIDEO)
        ]

    def words_asked(self, n: int) -> Iterator[Question]:
        """Yield words from the commonest to the rarest, in pairs, and as phrases that occur."""
        random = Random(2)
        for number in range(n):
            if number % 4 == 0:
                text = self.words[random.randrange(30)]
            elif number % 4 == 1:
                text = self.words[random.randrange(30, 20_000)]
            elif number % 4 == 2:
                text = " ".join(
                    (self.words[random.randrange(300)], self.words[random.randrange(30)])
                )
            else:
                line = self.video(random.randrange(100))[0].text.split()
                text = f'"{" ".join(line[:2])}"'
            yield Question(text, text.strip('"'))

    def parts_asked(self, n: int) -> Iterator[Question]:
        """Yield parts of words, of three letters and more, from common and from rare ones."""
        random = Random(3)
        for _ in range(n):
            word = random.choice(
                [word for word in self.words[: 10 ** random.randint(2, 5)][-99:] if len(word) > 3]
            )
            size = random.randint(3, min(7, len(word)))
            start = random.randrange(len(word) - size + 1)
            part = word[start : start + size]
            yield Question(part, part)

    def slips_asked(self, n: int) -> Iterator[Question]:
        """Yield words as somebody mistypes them, or as a reader saw them."""
        random = Random(4)
        for _ in range(n):
            word = random.choice(
                [word for word in self.words[: 10 ** random.randint(2, 5)][-99:] if len(word) > 3]
            )
            text = _misread(word, random)
            yield Question(text, text)

    def _text(self, random: Random) -> str:
        chosen = random.choices(self.words, cum_weights=self._weights, k=random.randint(2, 9))
        read = [_misread(word, random) if random.random() < SLIP else word for word in chosen]
        if random.random() < 0.1:
            read.append(f"{random.randrange(24)}:{random.randrange(60):02}")
        return " ".join(read).capitalize()


def _misread(word: str, random: Random) -> str:
    place = random.randrange(len(word))
    return word[:place] + SLIPS.get(word[place], "x") + word[place + 1 :]
