"""What people may do, and what they may be called."""

from __future__ import annotations

import pytest

from rushes.domain.person import (
    LOCAL,
    ROLES,
    Principal,
    Role,
    Scope,
    check_name,
    check_password,
    fold,
    parse_scopes,
)
from rushes.errors import Forbidden, Invalid


def principal(*scopes: Scope) -> Principal:
    return Principal(name="ann", owner="7", scopes=frozenset(scopes))


@pytest.mark.parametrize("held", Scope)
@pytest.mark.parametrize("asked", Scope)
def test_scope_allows_itself_and_admin_allows_all(held: Scope, asked: Scope):
    one = principal(held)

    assert one.may(asked) is (asked is held or held is Scope.ADMIN)
    if one.may(asked):
        one.need(asked)
    else:
        with pytest.raises(Forbidden, match=f"this needs the scope {asked}"):
            one.need(asked)


def test_nobody_may_do_anything_without_a_scope():
    assert not any(principal().may(scope) for scope in Scope)


def test_only_an_admin_sees_what_belongs_to_others():
    """002-061."""
    assert principal(Scope.READ, Scope.UPLOAD, Scope.WRITE).sees == "7"
    assert principal(Scope.ADMIN).sees is None
    assert (LOCAL.sees, LOCAL.owner) == (None, "")


def test_user_may_do_all_but_manage():
    assert ROLES[Role.USER] == {Scope.READ, Scope.UPLOAD, Scope.WRITE}
    assert ROLES[Role.ADMIN] == set(Scope)


@pytest.mark.parametrize(
    "name, why",
    [
        ("", "the name is empty"),
        (" \t ", "the name is empty"),
        ("x" * 101, "the name has more than 100 characters"),
        ("e\u0301" * 1_000, "the name has more than 100 characters"),
        ("a\x00b", "cannot be seen"),
        ("a\nb", "cannot be seen"),
        ("a\x1b[2J", "cannot be seen"),
        ("\u202eann", "cannot be seen"),
        ("an\u200bn", "cannot be seen"),
        ("\ud800", "cannot be seen"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_name_that_cannot_be_one_is_refused_with_a_reason(name: str, why: str):
    """B-HTTP-4, B-HTTP-13."""
    with pytest.raises(Invalid, match=why):
        check_name(name, "the name")

    assert fold(name) == ""


def test_name_that_is_far_too_long_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    """Normalizing 200,000 accents in a row would take minutes."""
    normalized: list[str] = []
    monkeypatch.setattr("unicodedata.normalize", lambda _, text: normalized.append(text) or text)

    assert fold("e" + "\u0301\u0316" * 200) == ""
    assert normalized == []


@pytest.mark.parametrize(
    "name", ["x", "x" * 100, "Ann Müller", "王芳", "o'neil; --", "e\u0301" * 100]
)
def test_name_is_kept_as_it_reads(name: str):
    assert check_name(f" {name} ", "the name") == check_name(name, "the name")
    assert len(check_name(name, "the name")) <= 100


@pytest.mark.parametrize(
    "one, other", [("Ann", "aNN"), ("Straße", "STRASSE"), ("e\u0301", "É"), ("ﬁ", "FI"), ("Å", "å")]
)
def test_names_that_read_the_same_are_the_same(one: str, other: str):
    assert fold(one) == fold(other) != ""


@pytest.mark.parametrize(
    "password, why",
    [
        ("", "too short"),
        ("x" * 9, "too short"),
        ("x" * 201, "more than 200"),
        ("x" * 10 + "\ud800", "half a character"),
    ],
    ids=["none", "9", "201", "half"],
)
def test_password_that_cannot_be_one_is_refused_without_being_told(password: str, why: str):
    with pytest.raises(Invalid, match=why) as refused:
        check_password(password)

    assert not password or password not in refused.value.message


@pytest.mark.parametrize("password", ["x" * 10, "x" * 200, "a\x00b\n\t c 王芳 x"])
def test_password_may_be_made_of_anything(password: str):
    check_password(password)


def test_scopes_are_read_by_their_words():
    assert parse_scopes(["read", "read", "admin"]) == {Scope.READ, Scope.ADMIN}
    assert parse_scopes([]) == frozenset()
    with pytest.raises(Invalid, match="'Read' is not a scope") as refused:
        parse_scopes(["write", "Read"])
    assert refused.value.hint == "known: read, upload, write, admin"
