"""Keys: shown once, ended at once, and never the way to more than they may do themselves."""

from __future__ import annotations

import hmac
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest

from rushes.domain.person import LOCAL, KeyKind, Principal, Role, Scope
from rushes.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from rushes.library import audit, keys, people, sessions
from rushes.library.keys import KeyRequest, NewKey
from rushes.library.people import NewPassword, NewUser
from rushes.store.database import Database, open_database
from tests.library.test_people import OTHER, PASSWORD, add, deeds, log_in
from tests.world import NOBODY, NOON, sql

MINUTE = 60_000
READ = frozenset({Scope.READ})


def make(db: Database, by: Principal = LOCAL, **wishes: object) -> NewKey:
    wanted = KeyRequest(**{"name": "script", "scopes": READ, **wishes})  # type: ignore[arg-type]
    return keys.create_key(db, by, wanted, now=NOON)


def check(db: Database, text: str, *, now: int = NOON) -> Principal | None:
    return keys.check_key(db, text, now=now)


def together(n: int, url: str, act: object) -> list[object]:
    """Call `act` with n databases of their own, all at the same moment, as n processes would."""
    start = Barrier(n)

    def one(_: int) -> object:
        with closing(open_database(url, pool_size=1)) as database:
            start.wait(60)
            return act(database)  # type: ignore[operator]

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))


def test_key_has_its_form_and_says_who_comes(db: Database):
    """000-101, 000-106: 256 random bits, shown once."""
    user = add(db, password=None)

    made = make(db, user="ann", scopes=frozenset({Scope.READ, Scope.UPLOAD}))

    assert re.fullmatch(r"rsh_user_[a-z0-9]{10}_[A-Za-z0-9_-]{43}", made.text)
    assert made.text.split("_")[2] == made.key.id
    assert check(db, made.text) == Principal(
        name="ann",
        owner=user.id,
        scopes=frozenset({Scope.READ, Scope.UPLOAD}),
        key_id=made.key.id,
    )
    assert made.text not in repr(made)


def test_key_of_this_machine_belongs_to_no_user(db: Database):
    principal = check(db, make(db).text)

    assert principal is not None
    assert (principal.owner, principal.sees, principal.scopes) == ("", "", READ)


@pytest.mark.parametrize(
    "wishes, error, why",
    [
        ({"name": ""}, Invalid, "the name of the key is empty"),
        ({"name": "a\x00b"}, Invalid, "cannot be seen"),
        ({"scopes": frozenset()}, Invalid, "a key needs a scope"),
        ({"lifetime": timedelta(0)}, Invalid, "between 1 and 3650 days"),
        ({"lifetime": timedelta(days=3651)}, Invalid, "between 1 and 3650 days"),
        ({"user": "eve"}, NotFound, "there is no user 'eve'"),
        ({"user": "ann", "scopes": frozenset(Scope)}, Forbidden, "more than its owner: admin"),
        ({"user": "bob"}, Conflict, "bob is disabled"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_key_that_cannot_be_is_refused_and_nothing_is_written(
    db: Database, wishes: dict[str, object], error: type[Exception], why: str
):
    add(db, "ann", password=None)
    add(db, "bob", password=None)
    people.disable(db, LOCAL, "bob")

    with pytest.raises(error, match=why):
        make(db, **wishes)

    assert keys.list_keys(db, LOCAL) == []
    assert "key.create" not in deeds(db)


def test_keys_of_one_owner_are_limited(db: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keys, "MAX_KEYS", 2)
    first = make(db)
    make(db)

    with pytest.raises(Conflict, match="there are 2 keys already"):
        make(db)
    keys.revoke_key(db, LOCAL, first.key.id)

    assert make(db).key.owner == ""


def test_everybody_sees_their_own_keys_and_an_admin_all(db: Database):
    add(db, "ann")
    add(db, "bob")
    ann, bob = log_in(db, "ann"), log_in(db, "bob")
    hers, his, its = make(db, ann), make(db, bob), make(db)

    assert [key.id for key in keys.list_keys(db, ann)] == [hers.key.id]
    assert {key.id for key in keys.list_keys(db, LOCAL)} == {hers.key.id, his.key.id, its.key.id}
    for key_id in (his.key.id, its.key.id, "nosuchkeyx"):
        with pytest.raises(NotFound, match=f"there is no key '{key_id}'"):
            keys.revoke_key(db, ann, key_id)
    assert check(db, his.text) is not None


def test_revoked_key_is_dead_at_once(db: Database):
    """000-107."""
    made = make(db)

    revoked = keys.revoke_key(db, LOCAL, made.key.id, now=NOON + 1)
    keys.revoke_key(db, LOCAL, made.key.id, now=NOON + 2)

    assert revoked.revoked_at == NOON + 1
    assert check(db, made.text) is None
    assert keys.list_keys(db, LOCAL) == []
    assert deeds(db) == ["key.create", "key.revoke"]


def test_key_can_revoke_itself_and_no_other(db: Database):
    mine, other = make(db, scopes=frozenset(Scope)), make(db)
    bearer = check(db, mine.text)
    assert bearer is not None

    with pytest.raises(Forbidden):
        keys.revoke_key(db, bearer, other.key.id)
    keys.revoke_key(db, bearer, mine.key.id)

    assert (check(db, mine.text), check(db, other.text) is None) == (None, False)


def test_whole_key_in_the_place_of_its_id_is_not_repeated_in_the_answer(db: Database):
    made = make(db)

    with pytest.raises(NotFound) as refused:
        keys.revoke_key(db, LOCAL, made.text)

    assert made.text[20:] not in str(refused.value) + repr(refused.value.detail)


def test_key_ends_when_its_time_is_over(db: Database):
    made = make(db, lifetime=timedelta(days=1))
    end = NOON + 86_400_000

    assert made.key.expires_at == end
    assert check(db, made.text, now=end - 1) is not None
    assert check(db, made.text, now=end) is None


def test_last_use_is_written_once_a_minute(db: Database):
    made = make(db)

    def used(now: int) -> int | None:
        assert check(db, made.text, now=now) is not None
        return keys.list_keys(db, LOCAL)[0].used_at

    assert made.key.used_at is None
    assert used(NOON) == NOON
    assert used(NOON + MINUTE - 1) == NOON
    assert used(NOON + MINUTE) == NOON + MINUTE


def test_requests_at_once_write_the_last_use_once(db: Database):
    made = make(db)

    for now in (NOON, NOON + 1):  # both found that it was due
        db.transact(lambda tx: tx.run("touch_key", id=made.key.id, every_ms=MINUTE), now=now)

    assert keys.list_keys(db, LOCAL)[0].used_at == NOON


class ReadOnly:
    """A database whose disk is full."""

    def __init__(self, db: Database) -> None:
        self.read = db.read

    def transact(self, *_: object, **__: object) -> None:
        raise Unavailable("the database cannot be written: database or disk is full")


def test_full_disk_keeps_nobody_out(db: Database):
    """F-DK-1."""
    add(db)
    made, login = make(db), sessions.log_in(db, "ann", PASSWORD, now=NOON)
    full: Database = ReadOnly(db)  # type: ignore[assignment]

    assert check(full, made.text) is not None
    assert sessions.check_session(full, login.token, now=NOON + MINUTE) is not None


MALFORMED = (
    *("", "rsh", "rsh_user_abcdefghij_", "Bearer x", "\x00", "\ud800", "x" * 1_000_000),
    *("rsh_user_abcdefghij_" + "x" * 42, "rsh_user_abcdefghij_" + "x" * 44),
    *("rsh_user_abcdefghi_" + "x" * 43, "rsh_user_ABCDEFGHIJ_" + "x" * 43),
    *("rsh_user_abcdefghij_" + "é" * 43, "rsh_root_abcdefghij_" + "x" * 43),
    "rsh_user_abcdefghij_" + "x" * 43 + "\n",
)


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: ascii(text)[:30])
def test_text_that_is_no_key_is_nobody(db: Database, text: str):
    assert check(db, text) is None


def test_every_character_of_a_key_counts(db: Database):
    text = make(db, scopes=frozenset(Scope)).text

    for place, character in enumerate(text):
        other = "b" if character != "b" else "c"
        assert check(db, text[:place] + other + text[place + 1 :]) is None
    assert check(db, text) is not None


def test_key_does_not_become_an_admins_by_its_word(db: Database):
    text = make(db).text

    for kind in ("admin", "worker"):
        assert check(db, text.replace("rsh_user_", f"rsh_{kind}_")) is None


def test_key_of_a_worker_is_no_person(db: Database):
    secret = "s" * 43
    db.transact(
        lambda tx: tx.run(
            "add_key",
            id="abcdefghij",
            kind=KeyKind.WORKER,
            user_id=None,
            name="pi4",
            scopes="read admin",
            hash=keys.digest(secret),
            lifetime_ms=None,
        )
    )

    assert check(db, f"rsh_worker_abcdefghij_{secret}") is None
    assert check(db, f"rsh_user_abcdefghij_{secret}") is None
    assert keys.list_keys(db, LOCAL) == []
    assert not keys.has_credentials(db)
    with pytest.raises(NotFound):
        keys.revoke_key(db, LOCAL, "abcdefghij")


def test_guess_at_an_id_takes_the_way_of_a_guess_at_a_secret(
    db: Database, monkeypatch: pytest.MonkeyPatch
):
    """B-HTTP-18: one look, one comparison of equal length, whatever is wrong."""
    made = make(db)
    revoked = make(db)
    keys.revoke_key(db, LOCAL, revoked.key.id)
    ways: list[list[object]] = []
    compare, read = hmac.compare_digest, db.read

    def compared(one: str, other: str) -> bool:
        ways[-1].append(("compare", len(one), len(other)))
        return compare(one, other)

    def looked(*arguments: object, **options: object) -> object:
        ways[-1].append("read")
        return read(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(hmac, "compare_digest", compared)
    monkeypatch.setattr(db, "read", looked)
    for key_id in ("nosuchkeyx", made.key.id, revoked.key.id):
        ways.append([])
        assert check(db, f"rsh_user_{key_id}_{'x' * 43}") is None

    assert ways == [["read", ("compare", 64, 64)]] * 3


@pytest.fixture
def bearers(db: Database) -> dict[str, Principal]:
    """People who came with a personal key: a reader, a writer, an admin, and this machine's."""
    add(db, "ann")
    add(db, "boss", Role.ADMIN)
    made = {
        "reader": make(db, user="ann"),
        "writer": make(db, user="ann", scopes=frozenset({Scope.WRITE, Scope.UPLOAD})),
        "admin": make(db, user="boss", scopes=frozenset(Scope)),
        "machine": make(db, scopes=frozenset(Scope)),
    }
    found = {name: check(db, one.text) for name, one in made.items()}
    assert None not in found.values()
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("who", ["reader", "writer", "admin", "machine"])
def test_key_can_never_widen_itself(db: Database, bearers: dict[str, Principal], who: str):
    """With a key one can make no key, and nothing that leads to one."""
    by = bearers[who]
    login = sessions.log_in(db, "ann", PASSWORD, now=NOON)
    before = (keys.list_keys(db, LOCAL), people.list_users(db, LOCAL), deeds(db))

    for act in (
        lambda: make(db, by),
        lambda: make(db, by, user="ann"),
        lambda: make(db, by, scopes=frozenset({Scope.ADMIN})),
        lambda: sessions.make_link(db, by),
        lambda: sessions.make_link(db, by, "ann"),
        lambda: sessions.end_session(db, by, login.session.id),
        lambda: sessions.end_all(db, by),
        lambda: people.add_user(db, by, NewUser(name="eve", role=Role.ADMIN)),
        lambda: people.set_password(
            db, by, NewPassword(user="ann", password=OTHER, current=PASSWORD)
        ),
        lambda: people.disable(db, by, "ann"),
        lambda: people.enable(db, by, "ann"),
    ):
        with pytest.raises(Forbidden):
            act()

    assert (keys.list_keys(db, LOCAL), people.list_users(db, LOCAL), deeds(db)) == before
    assert sessions.check_session(db, login.token, now=NOON) is not None


def test_key_may_do_no_more_than_its_maker(db: Database):
    add(db)
    ann = log_in(db)
    narrow = replace(ann, scopes=READ)

    with pytest.raises(Forbidden, match="more than its owner: admin"):
        make(db, ann, scopes=frozenset({Scope.ADMIN}))
    with pytest.raises(Forbidden, match="more than its owner: upload, write"):
        make(db, narrow, scopes=frozenset({Scope.READ, Scope.UPLOAD, Scope.WRITE}))
    with pytest.raises(NotFound):
        make(db, ann, user=add(db, "bob", password=None).id)

    assert keys.list_keys(db, LOCAL) == []
    assert make(db, ann, user="ann").key.user == "ann"


def test_key_may_do_no_more_than_its_user_may_today(db: Database):
    boss = add(db, "boss", Role.ADMIN)
    text = make(db, user="boss", scopes=frozenset({Scope.READ, Scope.ADMIN})).text

    sql(db, "UPDATE users SET role = 'user'")

    principal = check(db, text)
    assert principal is not None
    assert (principal.scopes, principal.sees) == (READ, boss.id)


def test_scope_that_this_program_does_not_know_gives_nothing(db: Database):
    """F-API-11."""
    made = make(db)

    sql(db, "UPDATE keys SET scopes = 'read fly adminx'")

    principal = check(db, made.text)
    assert principal is not None
    assert principal.scopes == READ


def test_first_run_makes_one_key_and_shows_it_once(db: Database):
    before = keys.has_credentials(db)

    text, again = keys.first_admin(db), keys.first_admin(db)

    assert text is not None
    assert (before, again, keys.has_credentials(db)) == (False, None, True)
    principal = check(db, text)
    assert principal is not None
    assert (principal.owner, principal.scopes, principal.sees) == ("", frozenset(Scope), None)
    assert text.startswith("rsh_admin_")


def test_key_of_the_first_run_makes_keys_users_and_links(db: Database):
    by = check(db, keys.first_admin(db) or "")
    assert by is not None

    user = people.add_user(db, by, NewUser(name="ann"))
    made = make(db, by, user="ann")
    login = sessions.redeem(db, sessions.make_link(db, by))

    assert made.key.owner == user.id
    assert login.session.principal.scopes == frozenset(Scope)
    assert [entry.credential for entry in audit.page(db)][1:4] == [by.key_id] * 3


def test_key_of_the_first_run_that_was_revoked_is_not_made_again(db: Database):
    by = check(db, keys.first_admin(db) or "")
    assert by is not None

    keys.revoke_key(db, by, by.key_id or "")

    assert (keys.first_admin(db), keys.has_credentials(db)) == (None, False)
    with pytest.raises(Forbidden):  # the request that was under way
        people.add_user(db, by, NewUser(name="eve"))


@pytest.mark.timeout(300)
def test_many_that_start_at_once_make_one_admin_key(db: Database):
    """000-157: 32 processes at the same moment."""
    made = together(32, db.url, keys.first_admin)

    [text] = [one for one in made if one is not None]
    assert check(db, str(text)) is not None
    assert deeds(db) == ["key.create"]


@pytest.mark.timeout(300)
def test_many_that_start_at_once_share_one_secret(db: Database):
    made = together(32, db.url, lambda database: keys.secret(database, "media"))

    assert len(set(made)) == 1
    assert made[0] == keys.secret(db, "media")


def test_secrets_of_an_installation_differ_by_name(db: Database):
    media, other = keys.secret(db, "media"), keys.secret(db, "other")

    assert (len(media), media != other) == (32, True)
    assert keys.secret(db, "media") == media


def test_credentials_are_those_that_let_somebody_in(db: Database):
    add(db, password=None)
    without = keys.has_credentials(db, now=NOON)
    key = make(db, user="ann", lifetime=timedelta(days=1))
    end = NOON + 86_400_000
    with_key = [keys.has_credentials(db, now=now) for now in (NOON, end)]
    people.set_password(db, LOCAL, NewPassword(user="ann", password=PASSWORD))
    with_password = keys.has_credentials(db, now=end)
    people.disable(db, LOCAL, "ann")

    assert (without, with_key, with_password) == (False, [True, False], True)
    assert not keys.has_credentials(db, now=NOON)
    assert key.key.user == "ann"


def test_nothing_of_a_secret_is_in_the_database_in_clear(db: Database, tmp_path: Path):
    """000-102, 000-105 (C22, D18): SHA-256 of keys, sessions and links, argon2id of passwords."""
    add(db)
    login = sessions.log_in(db, "ann", PASSWORD)
    admin, personal = keys.first_admin(db) or "", make(db, user="ann").text
    link = sessions.make_link(db, LOCAL, "ann")
    used = sessions.make_link(db, LOCAL, "ann")
    redeemed = sessions.redeem(db, used)
    check(db, personal)
    secrets = [
        *(PASSWORD, link, used, admin.split("_", 3)[3], personal.split("_", 3)[3]),
        *(login.token, redeemed.token, login.session.csrf or "", redeemed.session.csrf or ""),
    ]

    kept = _everything(db, tmp_path)

    assert all(len(secret) > 20 for secret in secrets)
    assert keys.digest(link).encode() in kept
    for secret in secrets:
        assert secret.encode() not in kept
        assert secret[:12].encode() not in kept
        assert secret[-12:].encode() not in kept


def _everything(db: Database, folder: Path) -> bytes:
    if db.dialect == "sqlite":
        return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())
    tables = sql(db, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    return repr([sql(db, f"SELECT * FROM {table['name']}") for table in tables]).encode()


@pytest.mark.parametrize("key_id", ["", "x", NOBODY, "a\x00b", "\ud800", "%", "x" * 100_000])
def test_key_that_cannot_be_is_not_found(db: Database, key_id: str):
    """B-HTTP-6."""
    with pytest.raises(NotFound, match="there is no key"):
        keys.revoke_key(db, LOCAL, key_id)
