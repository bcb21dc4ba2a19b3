"""`rushes search`: find the moment; and `rushes reindex`, when the index is to be made anew."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect, reach, server_of
from rushes.cli.output import note, plural, printable, say, say_json, shortened, styled, table
from rushes.errors import Invalid

if TYPE_CHECKING:
    from rushes.api.findings import Found, Hit

AGO = re.compile(r"(\d{1,6})([mhdw])")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
WIDEST = 70
PAGE, ALL = 50, 1000


def search(
    ctx: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(
            metavar="QUERY",
            help='Words; "a phrase" in quotes; vot*; @name; #tag; url:example.org; number:12.5. '
            "What must not be there: -- QUERY -word.",
        ),
    ],
    exact: Annotated[bool, typer.Option("--exact", help="All words as one phrase.")] = False,
    substring: Annotated[bool, typer.Option("--substring", help="Also within words.")] = False,
    fuzzy: Annotated[
        bool, typer.Option("--fuzzy", help="Also as a bad reading has it: Counci1.")
    ] = False,
    video: Annotated[
        str | None, typer.Option(metavar="ID", help="Only in this video; @last is the newest.")
    ] = None,
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Only texts in this language.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="screen, subtitle, embedded, chapter, title, tag or file."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Videos added since: 2026-11-01, or 7d, 12h, 2w ago."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Videos added before: as --since.")
    ] = None,
    min_conf: Annotated[
        float, typer.Option(min=0, max=1, metavar="X", help="How sure the reading must be.")
    ] = 0.0,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=ALL, metavar="N", help="How many; else 50, in a file all."),
    ] = None,
    cursor: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Go on where the page before ended.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print a table for a spreadsheet.")] = False,
    srt: Annotated[bool, typer.Option("--srt", help="Print SubRip; of one --video.")] = False,
    vtt: Annotated[bool, typer.Option("--vtt", help="Print WebVTT; of one --video.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find moments by the text in them: on the screen, in subtitles, chapters, titles, tags."""
    if exact + substring + fuzzy > 1 or as_csv + srt + vtt + as_json > 1:
        raise Invalid("choose one way to compare, and one format")
    if (srt or vtt) and video is None:
        raise Invalid("subtitles are of one video", hint="name it with --video")
    format = "csv" if as_csv else "srt" if srt else "vtt" if vtt else None
    mode = "exact" if exact else "substring" if substring else "fuzzy" if fuzzy else "words"
    with reach(ctx) as rushes:
        found = rushes.search(
            " ".join(query),
            mode=mode,
            video=video,
            language=lang,
            source=source,
            since=_moment(since),
            until=_moment(until),
            min_confidence=min_conf,
            limit=limit or (ALL if format else PAGE),
            cursor=cursor,
        )
    if as_json:
        say_json(found)
    elif format:
        _export(found, format)
    else:
        server = server_of(ctx)
        _tell(found, server.server if server else "")


def reindex(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Make the index of the search anew. Nothing needs it by itself: a server keeps it up."""
    from rushes.library import indexing

    with connect(ctx) as app:
        indexing.start_anew(app.library)
        texts = 0
        while done := indexing.run_once(app.library):
            texts += done
    if as_json:
        say_json({"indexed": texts})
    else:
        say(f"{plural(texts, 'text')} indexed")


def _export(found: Found, format: str) -> None:
    from rushes.library import captions

    hits = sorted(found.items, key=lambda hit: (hit.asset_id, hit.start_ms, hit.span_id))
    rows = [hit.model_dump(mode="json") for hit in hits]
    typer.echo(captions.FORMATS[format](rows), nl=False)
    if found.cut or found.next_cursor:
        note(f"these are {plural(len(rows), 'moment')}; there are more")


def _tell(found: Found, server: str) -> None:
    if not found.items:
        _tell_nothing(found, server)
        return
    say(*_table(found.items, server))
    more = "more than " if found.cut else ""
    note(f"{more}{plural(found.moments, 'moment')} in {plural(found.video_count, 'video')}")
    if found.next_cursor:
        note(f"go on with: --cursor {found.next_cursor}")


def _tell_nothing(found: Found, server: str) -> None:
    note("nothing found" + (", but the reading may be wrong here:" if found.near else ""))
    if found.near:
        say(*_table(found.near, server))
    for video in found.unread[:5]:
        note(f"not searchable yet: {shortened(video.title, 60)} ({video.status})")
    if len(found.unread) > 5:
        note("… and more videos that are not searchable yet")


def _table(hits: list[Hit], server: str) -> list[str]:
    from rushes.library.captions import moment

    rows = [
        (
            f"{moment(hit.start_ms)}-{moment(hit.end_ms)}",
            shortened(hit.title, 30),
            _marked(hit),
            hit.source,
            f"{hit.confidence:.2f}",
            f"{server}{hit.url}",
        )
        for hit in hits
    ]
    return table(("time", "video", "text", "source", "sure", "link"), rows)


def _marked(hit: Hit) -> str:
    """Return the text around what answers, which is marked on a terminal."""
    first = hit.offsets[0][0] if hit.offsets else 0
    start = 0 if len(hit.text) <= WIDEST else max(0, min(first - 20, len(hit.text) - WIDEST))
    end = start + WIDEST
    shown, at = "…" if start else "", start
    for begin, stop in hit.offsets:
        if begin >= at and stop <= end:
            shown += printable(hit.text[at:begin]) + styled(
                printable(hit.text[begin:stop]), "yellow"
            )
            at = stop
    return shown + printable(hit.text[at:end]) + ("…" if end < len(hit.text) else "")


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    ago = AGO.fullmatch(text)
    try:
        if ago:
            return datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise Invalid(f"{text!r} is no date", hint="such as 2026-11-01, or 7d") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
