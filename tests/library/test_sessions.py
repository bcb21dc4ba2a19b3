"""Logging in and what follows: sessions end when they should, guesses lead nowhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import argon2
import pytest

from rushes.domain.person import LOCAL, Origin, Role, Scope
from rushes.engine.engine import millis
from rushes.errors import NotFound, TooMany, Unauthenticated
from rushes.library import audit, passwords, people, sessions
from rushes.library.people import NewPassword
from rushes.library.sessions import Login
from rushes.store.database import Database
from tests.library.test_people import OTHER, PASSWORD, add, deeds
from tests.world import NOBODY, NOON, sql

MINUTE = 60_000
HOUR = millis(timedelta(hours=1))
DAY = 24 * HOUR
HOME = Origin(address="10.0.0.1", request_id="r1", agent="Firefox")
AWAY = Origin(address="10.0.0.2")


def log_in(
    db: Database, name: str = "ann", password: str = PASSWORD, *, now: int = NOON, **more: Origin
) -> Login:
    return sessions.log_in(db, name, password, now=now, **more)


def is_in(db: Database, login: Login, now: int = NOON) -> bool:
    return sessions.check_session(db, login.token, now=now) is not None


def test_login_begins_a_session(db: Database):
    user = add(db)

    login = log_in(db, origin=HOME)

    session = sessions.check_session(db, login.token, now=NOON)
    assert session == login.session
    assert (session.principal.owner, session.principal.session_id) == (user.id, session.id)
    assert (session.address, session.agent) == ("10.0.0.1", "Firefox")
    assert (session.created_at, session.expires_at) == (NOON, NOON + 7 * DAY)
    assert login.token not in repr(login)
    assert session.csrf not in repr(login)


def test_every_login_has_a_token_of_its_own(db: Database):
    """ASVS 7.2.4: a token from before the login is worth nothing after it."""
    add(db)

    first, second = log_in(db), log_in(db)

    assert len({first.token, second.token, first.session.csrf, second.session.csrf}) == 4
    assert len(first.token) == 43


def test_session_ends_12_hours_after_it_was_last_seen(db: Database):
    add(db)
    login = log_in(db)

    assert is_in(db, login, NOON + 12 * HOUR - 1)
    assert is_in(db, login, NOON + 24 * HOUR - 2)
    assert not is_in(db, login, NOON + 36 * HOUR - 2)


def test_session_ends_after_7_days_in_any_case(db: Database):
    add(db)
    login = log_in(db)

    for hours in range(0, 7 * 24, 6):
        assert is_in(db, login, NOON + hours * HOUR)

    assert is_in(db, login, NOON + 7 * DAY - 1)
    assert not is_in(db, login, NOON + 7 * DAY)


def test_last_sight_is_written_once_a_minute(db: Database):
    add(db)
    login = log_in(db)

    def seen(now: int) -> int:
        assert is_in(db, login, now)
        [session] = sessions.list_sessions(db, login.session.principal, now=now)
        return session.seen_at

    assert seen(NOON + MINUTE - 1) == NOON
    assert seen(NOON + MINUTE) == NOON + MINUTE


def test_requests_at_once_write_the_last_sight_once(db: Database):
    add(db)
    session = log_in(db).session

    for now in (NOON + MINUTE, NOON + MINUTE + 1):  # both found that it was due
        db.transact(lambda tx: tx.run("touch_session", id=session.id, every_ms=MINUTE), now=now)

    [seen] = sessions.list_sessions(db, session.principal, now=NOON + MINUTE)
    assert seen.seen_at == NOON + MINUTE


def test_session_of_somebody_who_is_disabled_is_over_even_if_nobody_ended_it(db: Database):
    add(db)
    login = log_in(db)

    sql(db, "UPDATE users SET disabled_at = 1")

    assert not is_in(db, login)
    assert sessions.list_sessions(db, login.session.principal, now=NOON) == []


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "x" * 42 + "\n", "é" * 43, "\x00" * 43])
def test_token_that_nobody_was_given_is_nobody(db: Database, token: str):
    assert sessions.check_session(db, token) is None


def test_forged_request_is_told_from_our_own(db: Database):
    """B-HTTP-16."""
    add(db)
    mine, other = log_in(db), log_in(db)

    assert sessions.is_csrf(mine.session, mine.session.csrf or "")
    for text in ("", "x", mine.token, other.session.csrf or "", "é", "\ud800"):
        assert not sessions.is_csrf(mine.session, text)
    [listed, _] = sessions.list_sessions(db, mine.session.principal, now=NOON)
    assert listed.csrf is None
    assert not sessions.is_csrf(listed, "x")


def test_session_without_a_token_accepts_no_request(db: Database):
    add(db)
    [listed] = sessions.list_sessions(db, log_in(db).session.principal, now=NOON)

    assert not sessions.is_csrf(listed, "")


def test_sessions_are_listed_and_ended(db: Database):
    add(db)
    mine, other, third = log_in(db), log_in(db), log_in(db)
    ann = mine.session.principal

    listed = [session.id for session in sessions.list_sessions(db, ann, now=NOON)]
    sessions.end_session(db, ann, other.session.id)
    sessions.end_session(db, ann, other.session.id)
    after_one = [is_in(db, login) for login in (mine, other, third)]
    ended = sessions.end_all(db, ann)

    assert listed == [third.session.id, other.session.id, mine.session.id]
    assert after_one == [True, False, True]
    assert (ended, is_in(db, mine), is_in(db, third)) == (1, True, False)
    assert deeds(db)[-2:] == ["session.end", "session.end_all"]
    sessions.end_session(db, ann, mine.session.id)
    assert not is_in(db, mine)


def test_sessions_of_others_are_not_there(db: Database):
    add(db)
    add(db, "bob")
    ann, bob = log_in(db), log_in(db, "bob")
    principal = ann.session.principal

    for session_id in (bob.session.id, NOBODY, "x", "", "a\x00b", "\ud800", "x" * 10_000):
        with pytest.raises(NotFound, match="there is no session"):
            sessions.end_session(db, principal, session_id)
    for act in (sessions.list_sessions, sessions.end_all, sessions.make_link):
        with pytest.raises(NotFound):
            act(db, principal, "bob")

    assert is_in(db, bob)
    assert [one.id for one in sessions.list_sessions(db, principal, now=NOON)] == [ann.session.id]


def test_admin_ends_the_sessions_of_others(db: Database):
    for name, role in (("ann", Role.USER), ("bob", Role.USER), ("boss", Role.ADMIN)):
        add(db, name, role)
    ann, second, bob, boss = (log_in(db, name) for name in ("ann", "ann", "bob", "boss"))
    by = boss.session.principal

    sessions.end_session(db, by, ann.session.id)
    ended = sessions.end_all(db, by, "ann")

    assert (ended, is_in(db, ann), is_in(db, second)) == (1, False, False)
    assert (is_in(db, bob), is_in(db, boss)) == (True, True)


def test_old_sessions_are_removed(db: Database):
    add(db)
    log_in(db)

    log_in(db, now=NOON + 7 * DAY)

    assert len(sql(db, "SELECT id FROM sessions")) == 1


def test_login_that_fails_says_the_same_for_every_reason(db: Database):
    """B-HTTP-18: no user is told from another."""
    add(db, "ann")
    add(db, "without", password=None)
    add(db, "gone")
    people.disable(db, LOCAL, "gone")
    wrong = [
        *(("ann", "wrong password"), ("nobody", PASSWORD), ("without", ""), ("gone", PASSWORD)),
        *(("", PASSWORD), ("a\x00nn", PASSWORD), ("\ud800", "\ud800"), ("x" * 100_000, PASSWORD)),
        *(("ann", "x" * 100_000), ("ann", PASSWORD + " "), ("ann", PASSWORD.upper())),
    ]

    told = set()
    for name, password in wrong:
        with pytest.raises(Unauthenticated) as refused:
            log_in(db, name, password)
        told.add((refused.value.message, refused.value.hint, str(refused.value.detail)))

    assert told == {("the name or the password is wrong", None, "{}")}
    assert len(sql(db, "SELECT id FROM sessions")) == 0


def test_login_that_fails_takes_the_same_work_for_every_reason(
    db: Database, monkeypatch: pytest.MonkeyPatch
):
    """B-HTTP-18: one hash with the same parameters, and as many transactions."""
    add(db, "ann")
    add(db, "without", password=None)
    verify, transact = argon2.PasswordHasher.verify, db.transact
    work: list[list[object]] = []

    def verified(hasher: argon2.PasswordHasher, hashed: str, password: bytes) -> bool:
        work[-1].append(argon2.extract_parameters(hashed))
        return verify(hasher, hashed, password)

    def transacted(*arguments: object, **options: object) -> object:
        work[-1].append("transact")
        return transact(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(argon2.PasswordHasher, "verify", verified)
    monkeypatch.setattr(db, "transact", transacted)
    for name in ("ann", "without", "nobody", "", "\x00"):
        work.append([])
        with pytest.raises(Unauthenticated):
            log_in(db, name, "wrong password")

    assert len(work[0]) == 3
    assert all(one == work[0] for one in work)


def test_failed_login_is_written_down_without_what_was_typed(db: Database):
    user = add(db)
    for name in ("ann", "my secret password"):
        with pytest.raises(Unauthenticated):
            log_in(db, name, "wrong password", origin=HOME)

    unknown, known = audit.page(db)[:2]

    assert (known.object, unknown.object) == (f"user {user.id}", "nobody")
    assert {known.result, unknown.result} == {"refused"}
    assert known.address == "10.0.0.1"
    assert "secret" not in repr(sql(db, "SELECT * FROM audit"))
    assert "secret" not in repr(sql(db, "SELECT * FROM login_attempts"))


def test_eleventh_guess_in_a_minute_is_refused_unheard(db: Database):
    """B-HTTP-18: 10 a minute for one address and one name."""
    add(db)
    add(db, "bob")

    for _ in range(10):
        with pytest.raises(Unauthenticated):
            log_in(db, "ANN", "wrong password", origin=HOME)
    with pytest.raises(TooMany) as refused:
        log_in(db, origin=HOME, now=NOON + 1_500)

    assert (refused.value.status, refused.value.code) == (429, "RATE_LIMITED")
    assert refused.value.detail == {"retry_after": 59}
    assert log_in(db, "bob", origin=HOME).token
    assert log_in(db, origin=AWAY).token
    with pytest.raises(TooMany):
        log_in(db, origin=HOME, now=NOON + MINUTE - 1)
    assert log_in(db, origin=HOME, now=NOON + MINUTE).token


def test_login_that_succeeds_is_counted_no_more(db: Database):
    add(db)

    for _ in range(12):
        log_in(db, origin=HOME)


def test_guesses_at_once_are_counted_one_by_one(db: Database):
    add(db, password=None)

    def guess(_: int) -> type[Exception]:
        with pytest.raises((Unauthenticated, TooMany)) as refused:
            log_in(db, password="wrong password", origin=HOME)
        return refused.type

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(guess, range(24)))

    assert (told.count(Unauthenticated), told.count(TooMany)) == (10, 14)


def test_one_address_cannot_try_every_name(db: Database):
    """B-HTTP-18: 100 a minute from one address, whatever the names."""
    for number in range(100):
        db.transact(lambda tx, name=f"u{number}": passwords.count_try(tx, name, HOME))

    with pytest.raises(TooMany):
        db.transact(lambda tx: passwords.count_try(tx, "another", HOME))
    db.transact(lambda tx: passwords.count_try(tx, "another", AWAY))


def test_old_tries_are_removed(db: Database):
    for name in ("a", "b", "c"):
        with pytest.raises(Unauthenticated):
            log_in(db, name)

    with pytest.raises(Unauthenticated):
        log_in(db, "d", now=NOON + MINUTE)

    assert len(sql(db, "SELECT who FROM login_attempts")) == 2  # of the name, and of the address


def test_minute_ends_also_when_there_is_more_to_remove_than_one_try_does(db: Database):
    add(db)
    for _ in range(10):
        with pytest.raises(Unauthenticated):
            log_in(db, password="wrong password")
    older = ", ".join(f"('{n}', 1, 0)" for n in range(100))
    sql(db, f"INSERT INTO login_attempts (who, n, since) VALUES {older}")

    assert log_in(db, now=NOON + MINUTE).token


def test_password_that_changes_while_it_is_checked_lets_nobody_in(
    db: Database, monkeypatch: pytest.MonkeyPatch
):
    add(db)
    verify = argon2.PasswordHasher.verify

    def change_first(*arguments: object) -> bool:
        monkeypatch.setattr(argon2.PasswordHasher, "verify", verify)
        people.set_password(db, LOCAL, NewPassword(user="ann", password=OTHER))
        return verify(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(argon2.PasswordHasher, "verify", change_first)

    with pytest.raises(Unauthenticated):
        log_in(db)

    assert sql(db, "SELECT id FROM sessions") == []


def test_user_who_is_disabled_while_the_password_is_checked_stays_out(
    db: Database, monkeypatch: pytest.MonkeyPatch
):
    add(db)
    verify = argon2.PasswordHasher.verify

    def disable_first(*arguments: object) -> bool:
        people.disable(db, LOCAL, "ann")
        return verify(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(argon2.PasswordHasher, "verify", disable_first)

    with pytest.raises(Unauthenticated, match="the name or the password is wrong"):
        log_in(db)

    assert sql(db, "SELECT id FROM sessions") == []


def test_link_logs_in_once(db: Database):
    user = add(db)
    link = sessions.make_link(db, LOCAL, "ann", now=NOON)

    login = sessions.redeem(db, link, origin=HOME, now=NOON)

    assert login.session.principal.owner == user.id
    assert login.session.address == "10.0.0.1"
    with pytest.raises(Unauthenticated, match="used before, or is too old"):
        sessions.redeem(db, link, now=NOON)
    assert is_in(db, login)


def test_link_of_many_who_redeem_it_at_once_serves_one(db: Database):
    link = sessions.make_link(db, LOCAL)

    def redeem(_: int) -> bool:
        try:
            return bool(sessions.redeem(db, link))
        except Unauthenticated:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(redeem, range(8))) == 1


def test_link_ends_after_15_minutes(db: Database):
    early, late = (sessions.make_link(db, LOCAL, now=NOON) for _ in range(2))

    assert sessions.redeem(db, early, now=NOON + 15 * MINUTE - 1)
    with pytest.raises(Unauthenticated):
        sessions.redeem(db, late, now=NOON + 15 * MINUTE)


def test_link_of_this_machine_makes_an_admin(db: Database):
    login = sessions.redeem(db, sessions.make_link(db, LOCAL))

    principal = login.session.principal
    assert (principal.name, principal.owner, principal.sees) == ("admin", "", None)
    assert principal.scopes == frozenset(Scope)


def test_link_for_somebody_else_is_made_by_an_admin_only(db: Database):
    add(db)
    add(db, "bob")
    ann = log_in(db).session.principal

    with pytest.raises(NotFound):
        sessions.make_link(db, ann, "bob")
    link = sessions.make_link(db, ann)

    assert sessions.redeem(db, link).session.principal.name == "ann"


def test_link_of_a_user_who_is_disabled_meanwhile_is_worth_nothing(db: Database):
    user = add(db)
    people.disable(db, LOCAL, "ann")
    link = sessions.make_link(db, LOCAL, user.id)

    with pytest.raises(Unauthenticated, match="used before, or is too old"):
        sessions.redeem(db, link)


@pytest.mark.parametrize("link", ["", "x", "x" * 43, "é" * 43, "\x00", "\ud800", "x" * 100_000])
def test_link_that_nobody_made_is_refused(db: Database, link: str):
    with pytest.raises(Unauthenticated):
        sessions.redeem(db, link)

    assert sql(db, "SELECT id FROM sessions") == []


def test_old_links_are_removed(db: Database):
    sessions.make_link(db, LOCAL, now=NOON)

    sessions.make_link(db, LOCAL, now=NOON + 15 * MINUTE)

    assert len(sql(db, "SELECT hash FROM login_links")) == 1


def test_address_and_agent_are_kept_as_far_as_a_database_can(db: Database):
    """B-HTTP-9."""
    add(db)
    odd = Origin(address="\x00\ud800", agent="\x00" + "x" * 1000, request_id="\x00")

    session = log_in(db, origin=odd).session

    assert len(session.agent) == sessions.MAX_AGENT
    assert passwords.TRIES == 10
