"""People: who somebody is, what they may do, and how they came in. Pure.

`owner` is '' for this machine's own, which is the person at its command line and the admin of the
first run; for everybody else it is the id of a user. What a person makes belongs to their owner.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from rushes.errors import Forbidden, Invalid

MAX_NAME = 100
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 200


class Scope(StrEnum):
    READ = "read"
    UPLOAD = "upload"
    WRITE = "write"
    ADMIN = "admin"  # includes all others


class Role(StrEnum):
    ADMIN = "admin"
    USER = "user"


class KeyKind(StrEnum):
    ADMIN = "admin"  # the one of the first run
    USER = "user"
    WORKER = "worker"  # never a person


ROLES: dict[Role, frozenset[Scope]] = {
    Role.ADMIN: frozenset(Scope),
    Role.USER: frozenset(Scope) - {Scope.ADMIN},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Somebody who asks for something. `key_id` or `session_id` is what they came with."""

    name: str
    owner: str
    scopes: frozenset[Scope]
    key_id: str | None = None
    session_id: str | None = None

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def need(self, scope: Scope) -> None:
        """Raise Forbidden unless they have this scope."""
        if not self.may(scope):
            raise Forbidden(f"this needs the scope {scope}", scope=scope)

    @property
    def sees(self) -> str | None:
        """The owner whose rows they see; None for an admin, who sees everybody's."""
        return None if self.may(Scope.ADMIN) else self.owner


LOCAL = Principal(name="local", owner="", scopes=frozenset(Scope))
"""A person at this machine, by its command line."""

FIRST_ADMIN = Principal(name="admin", owner="", scopes=frozenset(Scope))
"""Whoever holds the key or the login link of the first run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a request came from."""

    address: str = ""
    request_id: str | None = None
    agent: str = ""


HERE = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    id: str
    name: str
    role: Role
    has_password: bool
    created_at: int
    disabled_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as people see it: never its secret. `user` is None for this machine's own."""

    id: str
    kind: KeyKind
    name: str
    owner: str
    user: str | None
    scopes: frozenset[Scope]
    created_at: int
    expires_at: int | None
    used_at: int | None
    revoked_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Somebody who is logged in. Only who brought the token is told `csrf`."""

    id: str
    principal: Principal
    address: str
    agent: str
    created_at: int
    seen_at: int
    expires_at: int
    csrf: str | None = field(default=None, repr=False)


def check_name(text: str, what: str) -> str:
    """Return a name as it is kept. Raises Invalid for one that cannot be."""
    # what is far too long is not normalized: that takes a time quadratic in a run of accents
    name = unicodedata.normalize("NFC", text).strip() if len(text) <= 4 * MAX_NAME else text
    if not name:
        raise Invalid(f"{what} is empty")
    if len(name) > MAX_NAME:
        raise Invalid(f"{what} has more than {MAX_NAME} characters")
    if not name.isprintable():
        raise Invalid(f"{what} has a character that cannot be seen")
    return name


def fold(name: str) -> str:
    """Return what names that read the same have in common; '' for what is no name.

    >>> fold("Ann") == fold(" ANN "), fold("a\\x00b")
    (True, '')
    """
    try:
        known = check_name(name, "the name")
    except Invalid:
        return ""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", known).casefold())


def check_password(password: str) -> None:
    """Refuse a password that is too easily guessed, or too long to be one."""
    if len(password) < SHORTEST_PASSWORD:
        raise Invalid(
            f"the password is too short; it needs {SHORTEST_PASSWORD} characters or more",
            hint="a few words in a row are easy to keep and hard to guess",
        )
    if len(password) > LONGEST_PASSWORD:
        raise Invalid(f"the password has more than {LONGEST_PASSWORD} characters")
    if any(unicodedata.category(character) == "Cs" for character in password):
        raise Invalid("the password is not text: it has half a character")


def parse_scopes(words: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes of these words.

    >>> sorted(parse_scopes(["read", "write"]))
    [<Scope.READ: 'read'>, <Scope.WRITE: 'write'>]
    """
    known = {str(scope) for scope in Scope}
    for word in (words := list(words)):
        if word not in known:
            raise Invalid(f"{word[:MAX_NAME]!r} is not a scope", hint=f"known: {', '.join(Scope)}")
    return frozenset(Scope(word) for word in words)
