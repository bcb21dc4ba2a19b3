"""Tickets: good for one video and a while, and never for more than their maker may see."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from rushes.domain.asset import Asset
from rushes.domain.person import LOCAL, Principal, Role, Scope
from rushes.errors import Forbidden, Invalid, NotFound
from rushes.library import edit, keys, people, sessions, tickets
from rushes.library.keys import KeyRequest
from rushes.library.people import NewUser
from rushes.library.tickets import Ticket
from rushes.store.database import Database
from tests.library.studio import Studio
from tests.world import NOON

HOUR = timedelta(hours=1)
HOUR_MS = 3_600_000
SECRET, OTHER_SECRET = b"s" * 32, b"o" * 32
READ = frozenset({Scope.READ})


def test_ticket_opens_its_video_until_it_expires(studio: Studio):
    owner = add_user(studio.db)
    film = studio.add(owner=owner).asset_id

    text = tickets.sign(SECRET, issue(studio.db, by_key(studio.db, owner), film))

    last = tickets.check(SECRET, text, film, now=NOON + HOUR_MS - 1)
    assert admit(studio.db, last).id == film
    with pytest.raises(Forbidden, match="expired"):
        tickets.check(SECRET, text, film, now=NOON + HOUR_MS)


def test_ticket_with_any_other_character_is_forged():
    """Also where the encoding has bits to spare: the text is signed, not what it says."""
    text = tickets.sign(SECRET, a_ticket())
    changed = [
        text[:at] + other + text[at + 1 :]
        for at in range(len(text))
        for other in "A1_.%"
        if other != text[at]
    ]

    for forged in [*changed, "", ".", text + "A", text + "=", text[:-1], f"{text}\n", "ü" + text]:
        with pytest.raises(Forbidden, match="not valid"):
            tickets.check(SECRET, forged, "film", now=NOON)

    assert tickets.check(SECRET, text, "film", now=NOON) == a_ticket()


def test_ticket_is_bound_to_its_video_and_to_this_installation():
    text = tickets.sign(SECRET, a_ticket())

    for secret, video in ((SECRET, "other"), (SECRET, "fil"), (OTHER_SECRET, "film")):
        with pytest.raises(Forbidden, match="not valid"):
            tickets.check(secret, text, video, now=NOON)


@pytest.mark.parametrize("seconds", [-1, 0, 21_601])
def test_ticket_is_good_for_at_most_six_hours(studio: Studio, seconds: int):
    film = studio.add().asset_id

    with pytest.raises(Invalid):
        issue(studio.db, LOCAL, film, timedelta(seconds=seconds))

    longest = issue(studio.db, LOCAL, film, timedelta(seconds=21_600))
    assert longest.expires_at == NOON + 21_600_000


def test_nobody_makes_a_ticket_for_what_they_do_not_see(studio: Studio):
    """002-061: one answer for what is not there and what is not theirs."""
    ann, bob = add_user(studio.db, "ann"), add_user(studio.db, "bob")
    film = studio.add(owner=ann).asset_id
    none = "0198f0e0-0000-7000-8000-000000000001"

    told = [refusal(studio.db, by_key(studio.db, bob), video) for video in (film, none)]

    assert [one.replace(film, "X").replace(none, "X") for one in told] == [
        "there is no video X"
    ] * 2
    with pytest.raises(Forbidden):
        issue(studio.db, by_key(studio.db, ann, frozenset({Scope.UPLOAD})), film)


def test_ticket_ends_with_the_key_that_it_was_made_with(studio: Studio):
    owner = add_user(studio.db)
    film = studio.add(owner=owner).asset_id
    first, second = by_key(studio.db, owner), by_key(studio.db, owner)
    ended, good = issue(studio.db, first, film), issue(studio.db, second, film)
    assert admit(studio.db, ended).id == film

    keys.revoke_key(studio.db, LOCAL, first.key_id or "", now=NOON)

    with pytest.raises(Forbidden, match="ended"):
        admit(studio.db, ended)
    assert admit(studio.db, good).id == film


def test_ticket_ends_with_the_session_that_it_was_made_with(studio: Studio):
    owner = add_user(studio.db)
    film = studio.add(owner=owner).asset_id
    first, second = by_session(studio.db, owner), by_session(studio.db, owner)
    ended, good = issue(studio.db, first, film), issue(studio.db, second, film)
    assert admit(studio.db, ended).id == film

    sessions.end_session(studio.db, first, first.session_id or "", now=NOON)

    with pytest.raises(Forbidden, match="ended"):
        admit(studio.db, ended)
    assert admit(studio.db, good).id == film


@pytest.mark.parametrize("door", ["key", "session"])
def test_ticket_ends_when_its_maker_is_shut_out(studio: Studio, door: str):
    owner = add_user(studio.db)
    film = studio.add(owner=owner).asset_id
    made = issue(studio.db, (by_key if door == "key" else by_session)(studio.db, owner), film)

    people.disable(studio.db, LOCAL, owner, now=NOON)

    with pytest.raises(Forbidden, match="ended"):
        admit(studio.db, made)


def test_ticket_of_a_deleted_video_finds_nothing_until_it_is_restored(studio: Studio):
    film = studio.add().asset_id
    made = issue(studio.db, LOCAL, film)

    edit.delete(studio.library, film)
    with pytest.raises(NotFound):
        admit(studio.db, made)

    edit.restore(studio.library, film)
    assert admit(studio.db, made).id == film


def test_admin_makes_tickets_for_what_belongs_to_others(studio: Studio):
    film = studio.add(owner=add_user(studio.db)).asset_id

    for admin in (LOCAL, by_key(studio.db, None), by_session(studio.db, None)):
        assert admit(studio.db, issue(studio.db, admin, film)).id == film


def test_deleted_video_is_not_visible_by_any_part_of_its_id(studio: Studio):
    film = studio.add().asset_id
    for text in (film, film[:13], film[-8:]):
        assert studio.db.read(partial(tickets.visible, who=LOCAL, text=text)).id == film

    edit.delete(studio.library, film)

    for text in (film, film[:13], film[-8:], "-" * 36, "\x00", "../x"):
        with pytest.raises(NotFound):
            studio.db.read(partial(tickets.visible, who=LOCAL, text=text))


def a_ticket() -> Ticket:
    return Ticket(video_id="film", owner="ann", expires_at=NOON + 1, credential="k0123456789")


def issue(db: Database, by: Principal, film: str, lifetime: timedelta = HOUR) -> Ticket:
    return db.read(lambda tx: tickets.issue(tx, by, film, lifetime), now=NOON)


def admit(db: Database, ticket: Ticket) -> Asset:
    return db.read(lambda tx: tickets.admit(tx, ticket), now=NOON)


def refusal(db: Database, by: Principal, film: str) -> str:
    with pytest.raises(NotFound) as refused:
        issue(db, by, film)
    return refused.value.message


def add_user(db: Database, name: str = "ann") -> str:
    return people.add_user(db, LOCAL, NewUser(name=name, role=Role.USER), now=NOON).id


def by_key(db: Database, user: str | None, scopes: frozenset[Scope] = READ) -> Principal:
    wanted = KeyRequest(name="k", scopes=frozenset(Scope) if user is None else scopes, user=user)
    text = keys.create_key(db, LOCAL, wanted, now=NOON).text
    found = keys.check_key(db, text, now=NOON)
    assert found is not None
    return found


def by_session(db: Database, user: str | None) -> Principal:
    link = sessions.make_link(db, LOCAL, user, now=NOON)
    return sessions.redeem(db, link, now=NOON).session.principal
