"""Who may watch a video: whoever sees it, and for a while whoever holds a ticket of theirs.

A ticket stands in a URL, for players that send neither key nor cookie. It is signed with a secret
of this installation and good for one video. It never leads to more than its maker may see at that
moment: it ends with the key or the session that it was made with.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
from dataclasses import dataclass
from datetime import timedelta

from rushes.domain.asset import Asset
from rushes.domain.person import LOCAL, KeyKind, Principal, Scope
from rushes.engine.engine import millis
from rushes.errors import Forbidden, Invalid, NotFound
from rushes.library import sessions
from rushes.store import assets, people
from rushes.store.database import Transaction

SECRET = "media"
"""The name of the secret that tickets are signed with."""
LONGEST = timedelta(hours=6)
HINT = "ask for a new one: POST /api/videos/{id}/ticket"
TEXT = re.compile(r"(?P<told>[A-Za-z0-9_-]{1,400})\.(?P<signature>[A-Za-z0-9_-]{43})")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """`owner` and `credential` are its maker's: `k` and a key's id, `s` and a session's, or ''."""

    video_id: str
    owner: str
    expires_at: int
    credential: str


def visible(tx: Transaction, who: Principal, text: str) -> Asset:
    """Return a video that somebody may watch. Raises NotFound, also for a deleted one."""
    who.need(Scope.READ)
    asset_id = text if ID.fullmatch(text) else assets.find(tx, text, owner=who.sees)
    asset = assets.get(tx, asset_id)
    if asset.deleted_at is not None or who.sees not in (None, asset.owner):
        raise NotFound(f"there is no video {text}", hint=assets.HINT)
    return asset


def issue(tx: Transaction, by: Principal, text: str, lifetime: timedelta) -> Ticket:
    """Return a ticket for a video that `by` may watch."""
    if not timedelta(0) < lifetime <= LONGEST:
        raise Invalid(f"a ticket is good for at most {LONGEST.seconds} seconds")
    asset = visible(tx, by, text)
    [clock] = tx.rows("clock")
    return Ticket(
        video_id=asset.id,
        owner=by.owner,
        expires_at=clock["now"] + millis(lifetime),
        credential=_credential(by),
    )


def sign(secret: bytes, ticket: Ticket) -> str:
    """Return a ticket as it stands in a URL."""
    fields = [ticket.expires_at, ticket.owner, ticket.credential]
    told = _base64(json.dumps(fields, separators=(",", ":")).encode())
    return f"{told}.{_signature(secret, ticket.video_id, told)}"


def check(secret: bytes, text: str, video_id: str, *, now: int) -> Ticket:
    """Return the ticket of this text. Raises Forbidden if it is forged, for another video, or old.

    Nothing but the signature is asked: whether the video is there says `admit`.
    """
    given = TEXT.fullmatch(text)
    if given is None or not hmac.compare_digest(
        given["signature"].encode(), _signature(secret, video_id, given["told"]).encode()
    ):
        raise Forbidden("the ticket is not valid", hint=HINT)
    padded = given["told"] + "=" * (-len(given["told"]) % 4)
    expires_at, owner, credential = json.loads(base64.urlsafe_b64decode(padded))
    if expires_at <= now:
        raise Forbidden("the ticket has expired", hint=HINT)
    return Ticket(video_id=video_id, owner=owner, expires_at=expires_at, credential=credential)


def admit(tx: Transaction, ticket: Ticket) -> Asset:
    """Return the video of a ticket that `check` returned, if its maker may still watch it."""
    maker = _maker(tx, ticket)
    if maker is None:
        raise Forbidden("the ticket ended with the login or the key of its maker", hint=HINT)
    return visible(tx, maker, ticket.video_id)


def _credential(by: Principal) -> str:
    if by.key_id is not None:
        return f"k{by.key_id}"
    return f"s{by.session_id}" if by.session_id is not None else ""


def _maker(tx: Transaction, ticket: Ticket) -> Principal | None:
    """Return who made a ticket, as they are now; None if what they came with is over."""
    kind, id = ticket.credential[:1], ticket.credential[1:]
    if kind == "k":
        rows = tx.rows("key_to_check", id=id, every_ms=0)
        is_live = rows and rows[0]["is_live"] and rows[0]["kind"] != KeyKind.WORKER
        return people.bearer_of(rows[0]) if is_live else None
    if kind == "s":
        rows = tx.rows(
            "list_sessions", owner=ticket.owner, idle_ms=sessions.IDLE_MS, n=sessions.MOST
        )
        alive = (people.session_from(row) for row in rows)
        return next((one.principal for one in alive if one.id == id), None)
    return LOCAL


def _signature(secret: bytes, video_id: str, told: str) -> str:
    return _base64(hmac.digest(secret, f"{video_id}\n{told}".encode(), "sha256"))


def _base64(given: bytes) -> str:
    return base64.urlsafe_b64encode(given).rstrip(b"=").decode()
