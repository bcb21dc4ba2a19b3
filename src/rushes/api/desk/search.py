"""Searching: the moments that answer, how a word goes on, where in a video there is text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypedDict, TypeVar, Unpack

from rushes.api import views
from rushes.api.findings import Box, Found, FoundVideo, Heatmap, Hit, Suggestions
from rushes.domain.person import Principal, Scope
from rushes.errors import Invalid
from rushes.library import search
from rushes.library.indexing import Source
from rushes.library.library import Library
from rushes.library.query import Mode
from rushes.library.search import Question
from rushes.library.subtitles import language_of
from rushes.media.sample import frame_name
from rushes.store import assets
from rushes.store.database import Transaction

BINS = 1_000
SAME = ("asset_id", "title", "start_ms", "end_ms", "text", "confidence", "language")

T = TypeVar("T", Mode, Source)


class Where(TypedDict, total=False):
    """What may narrow a search. Dates are of the videos; `until` is not part of it any more."""

    mode: str
    video: str | None
    language: str | None
    source: str | None
    min_confidence: float
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Search:
    library: Library
    who: Principal

    def __call__(
        self, text: str, *, limit: int = 50, cursor: str | None = None, **where: Unpack[Where]
    ) -> Found:
        """Return the moments that answer; without any, what may be meant."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Found:
            question = self._question(tx, text, where)
            answer = search.search(tx, question, limit=limit, cursor=cursor)
            hits = [_hit(hit) for hit in answer.hits]
            is_empty = answer.moments == 0 and cursor is None
            unread = search.unread(tx, question) if is_empty else []
            return Found(
                items=hits,
                next_cursor=answer.next_cursor,
                moments=answer.moments,
                video_count=len(answer.videos),
                videos=_videos(hits, answer.videos),
                cut=answer.cut,
                near=[_hit(hit) for hit in search.near(tx, question)] if is_empty else [],
                unread=[views.video(asset) for asset in unread],
            )

        return self.library.db.read(work)

    def suggest(self, text: str, *, limit: int = 10) -> Suggestions:
        """Return how the last word of what was typed may go on."""
        self.who.need(Scope.READ)
        owner = self.who.sees
        found = self.library.db.read(lambda tx: search.suggest(tx, text, owner=owner, limit=limit))
        return Suggestions(items=found)

    def heatmap(self, video_id: str, *, text: str | None = None, bins: int = 100) -> Heatmap:
        """Return where in a video there is text and, with a question, where it answers."""
        self.who.need(Scope.READ)
        if not 1 <= bins <= BINS:
            raise Invalid(f"{bins} bins; between 1 and {BINS:,} can be had")

        def work(tx: Transaction) -> Heatmap:
            asset = assets.get(tx, assets.find(tx, video_id, owner=self.who.sees))
            question = None if text is None else self._question(tx, text, {"video": asset.id})
            texts, hits = search.heatmap(tx, asset, bins=bins, question=question)
            return Heatmap(
                asset_id=asset.id,
                duration_ms=asset.duration_ms,
                texts=texts,
                hits=None if question is None else hits,
            )

        return self.library.db.read(work)

    def _question(self, tx: Transaction, text: str, where: Where) -> Question:
        video, owner = where.get("video"), self.who.sees
        language = where.get("language")
        return Question(
            text=text,
            mode=_one_of(Mode, where.get("mode") or Mode.WORDS, "mode"),
            owner=owner,
            asset_id=None if video is None else assets.find(tx, video, owner=owner),
            language=None if language is None else language_of(language),
            kind=_one_of(Source, word, "source") if (word := where.get("source")) else None,
            min_confidence=_share(where.get("min_confidence", 0.0)),
            since=_millis(where.get("since")),
            until=_millis(where.get("until")),
        )


def _one_of(words: type[T], word: str, what: str) -> T:
    try:
        return words(word)
    except ValueError:
        raise Invalid(
            f"{word[:40]!r} is not a {what}", hint=f"one of: {', '.join(words)}"
        ) from None


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise Invalid("a confidence is between 0 and 1")
    return value


def _millis(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int((aware - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000)


def _hit(hit: search.Hit) -> Hit:
    row = hit.row
    version, start_ms = row["frame_version"], row["start_ms"]
    frame = f"/api/videos/{row['asset_id']}/v{version}/frames/{frame_name(start_ms)}"
    is_seen = row["kind"] == Source.SCREEN
    return Hit(
        span_id=row["id"],
        source=row["kind"],
        offsets=hit.offsets,
        box=Box(**{side: row[side] for side in Box.model_fields}) if is_seen else None,
        frame_url=None if version is None else frame,
        url=f"/v/{row['asset_id']}?t={_seconds(start_ms)}",
        **{name: row[name] for name in SAME},
    )


def _seconds(milliseconds: int) -> str:
    """Return a time as links have it: to the millisecond, without zeros at the end."""
    return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".")


def _videos(hits: Iterable[Hit], moments: dict[str, int]) -> list[FoundVideo]:
    titles = {hit.asset_id: hit.title for hit in hits}
    return [
        FoundVideo(asset_id=id, title=title, moments=moments[id]) for id, title in titles.items()
    ]
