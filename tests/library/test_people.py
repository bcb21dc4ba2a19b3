"""Users: who makes them, who shuts them out, and that an admin is always left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import TypeVar

import argon2
import pytest

from rushes.domain.person import LOCAL, Origin, Principal, Role, Scope, User
from rushes.errors import Conflict, Forbidden, Invalid, NotFound, TooMany, Unauthenticated
from rushes.library import audit, keys, passwords, people, sessions
from rushes.library.keys import KeyRequest
from rushes.library.people import NewPassword, NewUser
from rushes.store.database import Database, Transaction
from tests.conftest import empty
from tests.waiting import until
from tests.world import NOON, sql

T = TypeVar("T")

PASSWORD = "correct horse battery"
OTHER = "staple of another kind"
WAITING = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def add(db: Database, name: str = "ann", role: Role = Role.USER, **more: str | None) -> User:
    wanted = NewUser(name=name, role=role, password=more.get("password", PASSWORD))
    return people.add_user(db, LOCAL, wanted, now=NOON)


def log_in(db: Database, name: str = "ann", password: str = PASSWORD) -> Principal:
    return sessions.log_in(db, name, password, now=NOON).session.principal


def deeds(db: Database) -> list[str]:
    """What was done, oldest first."""
    return [entry.action for entry in reversed(audit.page(db, limit=1000))]


class Forgetful:
    """A database whose first answer to every commit is lost, so that the work is done again."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.read = db.read

    def transact(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        self._db.transact(work, now=now)
        return self._db.transact(work, now=now)


@pytest.fixture
def rivals(postgres_database: Database) -> Database:
    """PostgreSQL, which has more than one writer at a time."""
    empty(postgres_database)
    return postgres_database


@contextmanager
def held_back(db: Database) -> Iterator[Callable[[Callable[[], object]], Future[object]]]:
    """Let deeds begin one after the other, but come no further than to the audit log."""
    release = Event()

    def hold(tx: Transaction) -> None:
        tx.rows("hold_audit_end")
        held.set()
        release.wait(30)

    with ThreadPoolExecutor(4) as pool:
        held = Event()
        begun: list[Future[object]] = [pool.submit(db.transact, hold)]
        held.wait(30)

        def start(deed: Callable[[], object]) -> Future[object]:
            waiting = len(begun)
            begun.append(pool.submit(deed))
            until(lambda: len(sql(db, WAITING)) == waiting)
            return begun[-1]

        try:
            yield start
        finally:
            release.set()


def test_user_is_added_and_can_log_in(db: Database):
    user = add(db, "Ann Müller")

    principal = log_in(db, " ANN müller")

    assert (user.name, user.role, user.has_password) == ("Ann Müller", Role.USER, True)
    assert (user.created_at, user.disabled_at) == (NOON, None)
    assert (principal.name, principal.owner) == ("Ann Müller", user.id)
    assert principal.scopes == {Scope.READ, Scope.UPLOAD, Scope.WRITE}
    assert people.list_users(db, LOCAL) == [user]


def test_admin_sees_everything_and_belongs_to_nobody_else(db: Database):
    boss = add(db, "boss", Role.ADMIN)

    principal = log_in(db, "boss")

    assert (principal.sees, principal.owner) == (None, boss.id)


@pytest.mark.parametrize(
    "wanted, why",
    [
        (NewUser(name=""), "the name is empty"),
        (NewUser(name="x" * 101), "more than 100 characters"),
        (NewUser(name="a\x00b"), "cannot be seen"),
        (NewUser(name="bob", password="short"), "the password is too short"),
        (NewUser(name="bob", password="x" * 201), "more than 200 characters"),
        (NewUser(name="bob", password="\ud800" * 10), "half a character"),
    ],
    ids=["empty", "long", "NUL", "short password", "long password", "half a character"],
)
def test_user_who_cannot_be_is_refused_and_nothing_is_written(
    db: Database, wanted: NewUser, why: str
):
    with pytest.raises(Invalid, match=why):
        people.add_user(db, LOCAL, wanted)

    assert (people.list_users(db, LOCAL), deeds(db)) == ([], [])


def test_name_that_reads_like_anothers_is_taken(db: Database):
    ann = add(db, "Straße")

    with pytest.raises(Conflict, match="there is a user 'Straße' already") as refused:
        add(db, "STRASSE")
    with pytest.raises(Conflict):
        add(db, ann.id)

    assert refused.value.detail == {"user_id": ann.id}
    assert people.list_users(db, LOCAL) == [ann]
    assert deeds(db) == ["user.create"]


def test_of_many_who_take_a_name_at_once_one_gets_it(db: Database):
    def take(_: int) -> str | None:
        try:
            return add(db, "ann", password=None).id
        except Conflict:
            return None

    with ThreadPoolExecutor(8) as pool:
        taken = [id for id in pool.map(take, range(8)) if id]

    assert [user.id for user in people.list_users(db, LOCAL)] == taken
    assert deeds(db) == ["user.create"]


def test_only_an_admin_manages_users(db: Database):
    add(db)
    bob = add(db, "bob")
    ann = log_in(db)

    for act in (
        lambda: people.add_user(db, ann, NewUser(name="eve")),
        lambda: people.list_users(db, ann),
        lambda: people.disable(db, ann, "bob"),
        lambda: people.enable(db, ann, "bob"),
    ):
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(NotFound) as other:
        people.set_password(db, ann, NewPassword(user="bob", password=OTHER))
    with pytest.raises(NotFound) as nobody:
        people.set_password(db, ann, NewPassword(user="eve", password=OTHER))

    assert other.value.message.replace("bob", "eve") == nobody.value.message
    assert bob in people.list_users(db, LOCAL)
    assert log_in(db, "bob").owner == bob.id


def test_disabled_user_is_out_at_once_and_comes_back(db: Database):
    add(db)
    login = sessions.log_in(db, "ann", PASSWORD, now=NOON)
    ann = login.session.principal
    link = sessions.make_link(db, ann, now=NOON)
    key = keys.create_key(
        db, ann, KeyRequest(name="k", scopes=frozenset({Scope.READ})), now=NOON
    ).text

    disabled = people.disable(db, LOCAL, "ANN", now=NOON + 1)
    people.disable(db, LOCAL, "ann", now=NOON + 2)

    assert disabled.disabled_at == NOON + 1
    assert sessions.check_session(db, login.token, now=NOON + 2) is None
    assert keys.check_key(db, key, now=NOON + 2) is None
    with pytest.raises(Unauthenticated):
        log_in(db)
    with pytest.raises(Unauthenticated):
        sessions.redeem(db, link, now=NOON + 2)

    assert people.enable(db, LOCAL, "ann").disabled_at is None
    assert keys.check_key(db, key, now=NOON + 2) is not None
    assert sessions.check_session(db, login.token, now=NOON + 2) is None
    assert log_in(db).name == "ann"
    assert [deed for deed in deeds(db) if "able" in deed] == ["user.disable", "user.enable"]


def test_last_admin_cannot_be_disabled(db: Database):
    add(db, "boss", Role.ADMIN)
    add(db, "chief", Role.ADMIN)
    add(db, "ann")

    people.disable(db, LOCAL, "boss")

    with pytest.raises(Conflict, match="chief is the last admin"):
        people.disable(db, LOCAL, "chief")
    people.disable(db, LOCAL, "ann")
    people.enable(db, LOCAL, "boss")
    people.disable(db, LOCAL, "chief")


def test_two_admins_who_disable_each_other_at_once_leave_one(rivals: Database):
    db = rivals
    boss, chief = (add(db, name, Role.ADMIN, password=None) for name in ("boss", "chief"))

    with held_back(db) as start:
        first = start(lambda: people.disable(db, LOCAL, boss.id))
        second = start(lambda: people.disable(db, LOCAL, chief.id))

    assert first.result()
    with pytest.raises(Conflict, match="chief is the last admin"):
        second.result()


def test_session_that_begins_while_the_password_changes_ends_with_it(rivals: Database):
    db = rivals
    add(db)

    wanted = NewPassword(user="ann", password=OTHER)

    with held_back(db) as start:
        login = start(lambda: sessions.log_in(db, "ann", PASSWORD))
        changed = start(
            lambda: people.set_password(db, LOCAL, wanted, origin=Origin(address="elsewhere"))
        )

    assert changed.result()
    assert sessions.check_session(db, login.result().token) is None  # type: ignore[attr-defined]


def test_user_that_does_not_exist_is_not_found(db: Database):
    for act in (people.disable, people.enable):
        for name in ("eve", "", "a\x00b", "\ud800", "x" * 100_000, "%", "' OR 1=1 --"):
            with pytest.raises(NotFound) as refused:
                act(db, LOCAL, name)
            assert len(refused.value.message) < 500


def test_new_password_ends_all_other_sessions(db: Database):
    user = add(db)
    mine, other = (sessions.log_in(db, "ann", PASSWORD, now=NOON) for _ in range(2))
    ann = mine.session.principal
    link = sessions.make_link(db, ann, now=NOON)

    people.set_password(
        db, ann, NewPassword(user=user.id, password=OTHER, current=PASSWORD), now=NOON
    )

    assert sessions.check_session(db, mine.token, now=NOON) is not None
    assert sessions.check_session(db, other.token, now=NOON) is None
    with pytest.raises(Unauthenticated):
        sessions.redeem(db, link, now=NOON)
    with pytest.raises(Unauthenticated):
        log_in(db)
    assert log_in(db, password=OTHER).owner == user.id


def test_password_that_an_admin_gives_ends_every_session(db: Database):
    add(db)
    mine = sessions.log_in(db, "ann", PASSWORD, now=NOON)

    people.set_password(db, LOCAL, NewPassword(user="ann", password=OTHER), now=NOON)

    assert sessions.check_session(db, mine.token, now=NOON) is None
    assert log_in(db, password=OTHER).name == "ann"


@pytest.mark.parametrize("current", [None, "", "wrong password"])
def test_own_password_is_changed_only_by_who_knows_it(db: Database, current: str | None):
    add(db, role=Role.ADMIN)
    ann = log_in(db)

    with pytest.raises(Unauthenticated, match="the current password is wrong"):
        people.set_password(db, ann, NewPassword(user="ann", password=OTHER, current=current))

    assert log_in(db).name == "ann"


def test_current_password_cannot_be_guessed_either(db: Database):
    """B-HTTP-18."""
    add(db)
    ann = log_in(db)

    def guess() -> None:
        wanted = NewPassword(user="ann", password=OTHER, current="a wrong guess")
        people.set_password(db, ann, wanted, now=NOON)

    for _ in range(passwords.TRIES):
        with pytest.raises(Unauthenticated):
            guess()

    with pytest.raises(TooMany):
        guess()


def test_own_change_does_not_undo_what_an_admin_has_set_meanwhile(
    db: Database, monkeypatch: pytest.MonkeyPatch
):
    """Somebody who stole a password cannot keep it."""
    add(db)
    ann = log_in(db)
    hashing = argon2.PasswordHasher.hash

    def reset_first(*arguments: object) -> str:
        monkeypatch.setattr(argon2.PasswordHasher, "hash", hashing)
        people.set_password(db, LOCAL, NewPassword(user="ann", password=OTHER))
        return hashing(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(argon2.PasswordHasher, "hash", reset_first)
    wanted = NewPassword(user="ann", password="what a thief wants", current=PASSWORD)

    with pytest.raises(Conflict, match="changed meanwhile"):
        people.set_password(db, ann, wanted)

    assert log_in(db, password=OTHER).name == "ann"


def test_user_without_a_password_sets_the_first_one(db: Database):
    user = add(db, password=None)
    with pytest.raises(Unauthenticated):
        log_in(db, password="")
    link = sessions.make_link(db, LOCAL, "ann", now=NOON)
    ann = sessions.redeem(db, link, now=NOON).session.principal

    changed = people.set_password(db, ann, NewPassword(user="ann", password=OTHER))

    assert (user.has_password, changed.has_password) == (False, True)
    assert log_in(db, password=OTHER).owner == user.id


def test_deed_whose_commit_was_not_answered_is_done_once(db: Database):
    """000-157: the transaction runs again and finds what it wrote."""
    forgetful: Database = Forgetful(db)  # type: ignore[assignment]

    user = add(forgetful)
    login = sessions.log_in(forgetful, "ann", PASSWORD, now=NOON)
    ann = login.session.principal
    people.set_password(
        forgetful, ann, NewPassword(user=user.id, password=OTHER, current=PASSWORD), now=NOON
    )
    link = sessions.make_link(forgetful, LOCAL, "ann", now=NOON)
    second = sessions.redeem(forgetful, link, now=NOON).session
    sessions.end_session(forgetful, ann, second.id, now=NOON)
    wanted = KeyRequest(name="k", scopes=frozenset({Scope.READ}))
    key = keys.create_key(forgetful, ann, wanted, now=NOON)
    keys.revoke_key(forgetful, ann, key.key.id, now=NOON)
    first = keys.first_admin(forgetful)
    people.disable(forgetful, LOCAL, user.id)
    people.enable(forgetful, LOCAL, user.id)

    assert deeds(db) == [
        *("user.create", "login", "user.password", "link.create", "login", "session.end"),
        *("key.create", "key.revoke", "key.create", "user.disable", "user.enable"),
    ]
    assert keys.check_key(db, first or "") is not None


def test_passwords_are_kept_as_argon2id(db: Database):
    add(db)

    [row] = sql(db, "SELECT password FROM users")

    parameters = argon2.extract_parameters(row["password"])
    assert row["password"].startswith("$argon2id$")
    assert parameters == argon2.extract_parameters(passwords.NOBODYS)
    assert (parameters.memory_cost, parameters.time_cost) == (19_456, 2)


def test_password_reads_the_same_from_every_keyboard(db: Database):
    add(db, password="de\u0301ja\u0300 vu encore")

    assert log_in(db, password="déjà vu encore").name == "ann"


def test_password_row_that_is_broken_keeps_out_and_breaks_nothing(db: Database):
    """F-API-11."""
    add(db)
    sql(db, "UPDATE users SET password = 'x'")

    with pytest.raises(Unauthenticated):
        log_in(db)


def test_nobody_is_let_in_by_what_stands_for_no_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(passwords, "NOBODYS", passwords.hash_password(PASSWORD))

    assert passwords.fits(passwords.NOBODYS, PASSWORD)
    assert not passwords.fits(None, PASSWORD)
    assert not passwords.fits("", PASSWORD)


def test_secrets_stand_in_no_text_about_a_request():
    wanted = NewPassword(user="ann", password=PASSWORD, current=OTHER)

    assert PASSWORD not in repr(wanted) + repr(NewUser(name="a", password=PASSWORD))
    assert OTHER not in repr(wanted)


def test_principal_of_another_installation_is_no_person(db: Database):
    """A key that the database does not know manages nobody."""
    with pytest.raises(Forbidden):
        people.add_user(db, replace(LOCAL, key_id="nosuchkeyx"), NewUser(name="eve"))
