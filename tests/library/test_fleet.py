"""How machines join as workers, and the keys that they come with, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rushes.domain.person import LOCAL, Principal, Scope
from rushes.errors import Forbidden, Invalid, NotFound, Unauthenticated
from rushes.library import audit, fleet
from rushes.library.fleet import Applicant
from rushes.store.database import Database
from tests.world import sql

NOON = 1_700_000_000_000
MINUTE = 60_000
ANN = Principal(name="ann", owner="x", scopes=frozenset({Scope.READ, Scope.WRITE}))


def joined(db: Database, name: str = "far", **invitation) -> fleet.Enlisted:
    token = fleet.invite(db, LOCAL, **invitation, now=NOON)
    return fleet.join(db, token, Applicant(name=name), now=NOON)


def test_key_of_a_worker_says_who_it_is_and_what_it_may_do(db: Database):
    """000-101, 000-102: only a hash is kept."""
    made = joined(db, kinds=["ocr", "sample"])

    hand = fleet.check_hand(db, made.text, now=NOON)

    assert hand is not None
    assert (hand.name, hand.kinds) == ("far", {"ocr", "sample"})
    assert hand.allowed(["ocr", "transcode"]) == {"ocr"}
    assert made.text[-43:] not in repr(sql(db, "SELECT * FROM keys"))
    assert fleet.check_hand(db, made.text[:-3] + "AAA", now=NOON) is None
    assert fleet.check_hand(db, "rsh_worker_aaaaaaaaaa_" + "a" * 43, now=NOON) is None


def test_token_is_good_for_one_machine_and_a_quarter_of_an_hour(db: Database):
    token = fleet.invite(db, LOCAL, now=NOON)
    fleet.join(db, token, Applicant(name="far"), now=NOON + 14 * MINUTE)

    for name, now in (("other", NOON), ("far", NOON + 15 * MINUTE)):
        with pytest.raises(Unauthenticated):
            fleet.join(db, token, Applicant(name=name), now=now)
    with pytest.raises(Unauthenticated):
        fleet.join(db, "rsh_join_" + "a" * 43, Applicant(name="far"), now=NOON)


def test_same_machine_may_use_its_token_again(db: Database):
    """Its first answer may be lost: then the first key is good no more."""
    token = fleet.invite(db, LOCAL, now=NOON)
    first = fleet.join(db, token, Applicant(name="far"), now=NOON)
    again = fleet.join(db, token, Applicant(name="far"), now=NOON)

    assert first.worker_id == again.worker_id
    assert fleet.check_hand(db, first.text, now=NOON) is None
    assert fleet.check_hand(db, again.text, now=NOON) is not None


def test_name_of_another_machine_is_not_taken(db: Database):
    joined(db)

    with pytest.raises(Invalid, match="already"):
        joined(db)


def test_keys_overlap_until_one_is_revoked(db: Database):
    """000-107."""
    first = joined(db)
    second = fleet.add_key(db, LOCAL, "far", now=NOON + 1)
    [newest, oldest] = fleet.list_keys(db, LOCAL, "far")

    gone = fleet.revoke_key(db, LOCAL, "far", oldest.id, now=NOON)

    assert gone == [oldest.id]
    assert newest.id != oldest.id
    assert fleet.check_hand(db, first.text, now=NOON) is None
    assert fleet.check_hand(db, second.text, now=NOON) is not None
    with pytest.raises(NotFound):
        fleet.revoke_key(db, LOCAL, "far", oldest.id, now=NOON)
    with pytest.raises(NotFound):
        fleet.add_key(db, LOCAL, "nobody", now=NOON)


def test_only_admins_look_after_workers(db: Database):
    for deed in (
        lambda: fleet.invite(db, ANN),
        lambda: fleet.list_keys(db, ANN, "far"),
        lambda: fleet.add_key(db, ANN, "far"),
        lambda: fleet.revoke_key(db, ANN, "far"),
    ):
        with pytest.raises(Forbidden):
            deed()


def test_what_is_done_to_workers_is_written_down(db: Database):
    joined(db)
    fleet.revoke_key(db, LOCAL, "far", now=NOON)

    actions = [entry.action for entry in audit.page(db)]
    assert actions == ["key.revoke", "key.create", "worker.invite"]


@pytest.mark.parametrize(
    "applicant",
    [
        Applicant(name=""),
        Applicant(name="a#b"),
        Applicant(name="a\nb"),
        Applicant(name="x" * 300),
        Applicant(name="far", metadata={"x": "y" * 11_000}),
        Applicant(name="far", capabilities=tuple(f"capability-{n}" for n in range(1000))),
    ],
    ids=range(6),
)
def test_odd_machine_is_refused_and_keeps_its_token(db: Database, applicant: Applicant):
    """000-103."""
    token = fleet.invite(db, LOCAL, now=NOON)

    with pytest.raises(Invalid):
        fleet.join(db, token, applicant, now=NOON)

    assert fleet.join(db, token, Applicant(name="far"), now=NOON).text


def test_token_for_ever_is_refused(db: Database):
    for life in (timedelta(0), timedelta(days=8)):
        with pytest.raises(Invalid):
            fleet.invite(db, LOCAL, life=life)
    with pytest.raises(Invalid):
        fleet.invite(db, LOCAL, kinds=["two words"])
