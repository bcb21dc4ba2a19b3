"""What somebody may say about a film that they add, or a clip that they want."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypedDict

from rushes.domain.graph import NORMAL
from rushes.errors import Invalid
from rushes.library.clips import Wish
from rushes.library.pipelines import Options
from rushes.library.upload import Upload
from rushes.media.clip import PADDING_MS, Mode

Told = Callable[[int, int], None]
"""Is told how many bytes of how many are taken in."""


class Wishes(TypedDict, total=False):
    """All of it may be left out. No `qualities` means all that the film can have."""

    title: str | None
    tags: Sequence[str]
    qualities: Sequence[str] | None
    languages: Sequence[str]
    text: bool
    priority: int
    duplicate: Literal["refuse", "allow"]
    idempotency_key: str | None


class ClipWishes(TypedDict, total=False):
    """What else may be said about a clip; `mode` is exact or fast, `expires_in` in seconds."""

    padding_ms: int
    mode: str
    title: str | None
    expires_in: int | None


def clip_of(t_start: int, t_end: int, wishes: ClipWishes) -> Wish:
    """Return a clip with what was said about it."""
    mode, lifetime_s = wishes.get("mode", "exact"), wishes.get("expires_in")
    if mode not in list(Mode):
        raise Invalid(f"{mode!r} is not a way to cut", hint=f"one of: {', '.join(Mode)}")
    return Wish(
        t_start=t_start,
        t_end=t_end,
        padding_ms=wishes.get("padding_ms", PADDING_MS),
        mode=Mode(mode),
        title=wishes.get("title") or "",
        lifetime=None if lifetime_s is None else timedelta(seconds=lifetime_s),
    )


def upload_of(path: Path, owner: str, wishes: Wishes) -> Upload:
    """Return the film with what was said about it."""
    qualities = wishes.get("qualities")
    return Upload(
        path=path,
        owner=owner,
        title=wishes.get("title"),
        tags=tuple(wishes.get("tags", ())),
        priority=wishes.get("priority", NORMAL),
        options=Options(
            qualities=None if qualities is None else tuple(qualities),
            languages=tuple(wishes.get("languages", ("en",))),
            text=wishes.get("text", True),
        ),
        idempotency_key=wishes.get("idempotency_key"),
        duplicate=wishes.get("duplicate", "refuse"),
    )
