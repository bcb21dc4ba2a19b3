"""Hashes passwords with argon2id, checks them, and counts how often somebody tries.

Checking takes the same work whether there is a password to compare with or not, so that nobody
learns from the time it takes which names exist. It belongs outside of every transaction.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from rushes.domain.person import LONGEST_PASSWORD, Origin
from rushes.errors import TooMany
from rushes.store.database import Transaction

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MEMORY_KIB, PASSES = 19_456, 2
NOBODYS = (
    f"$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p=1"
    "$Ky4EhY814dQ+tiZKvwBjQw$5LhaA9aE94uhBc/hNFiBEi0MurpYkhZp5W49tOMXGgk"
)
"""What is compared with when there is no password: the hash of 32 random bytes."""

TRIES, WINDOW_MS = 10, 60_000
TRIES_OF_ALL = 100

_room = threading.BoundedSemaphore(2)  # each takes 19 MiB


def hash_password(password: str) -> str:
    with _room:
        return _hasher().hash(_normal(password))


def fits(hashed: str | None, password: str) -> bool:
    """Return whether this is the password; never for somebody who has none."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        with _room:
            _hasher().verify(hashed or NOBODYS, _normal(password))
    except (VerificationError, InvalidHashError):
        return False
    return bool(hashed)


def count_try(tx: Transaction, folded: str, origin: Origin) -> None:
    """Count a try from this address for this name.

    Raises TooMany for the 11th in a minute, and for the 101st whatever the names.
    """
    tx.run("drop_logins", window_ms=WINDOW_MS)
    for who, most in ((_digest(origin.address), TRIES_OF_ALL), (_who(folded, origin), TRIES)):
        [row] = tx.rows("count_login", who=who, window_ms=WINDOW_MS)
        if row["n"] > most:
            seconds = -(-row["left_ms"] // 1000)
            raise TooMany(
                "too many tries to log in", retry_after=seconds, hint=f"try again in {seconds} s"
            )


def forget_tries(tx: Transaction, folded: str, origin: Origin) -> None:
    tx.run("forget_login", who=_who(folded, origin))


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)


def _normal(password: str) -> bytes:
    """Return the bytes of a password, the same from every keyboard.

    One that is too long to be a password fits nothing, whatever is left of it.
    """
    known = unicodedata.normalize("NFC", password[: LONGEST_PASSWORD + 1])
    return known.encode("utf-8", "surrogatepass")


def _who(folded: str, origin: Origin) -> str:
    return _digest(f"{origin.address}\n{folded}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
