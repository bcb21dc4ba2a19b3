"""People and their keys as the API tells them; a password or the secret of a key is no part."""

from __future__ import annotations

from rushes.api.models import Model, Time
from rushes.domain.person import Key, Role, Scope, User


class KeyView(Model):
    key_id: str
    kind: str
    name: str
    user: str | None
    scopes: list[Scope]
    created_at: Time
    expires_at: Time | None
    used_at: Time | None
    revoked_at: Time | None


class MadeKey(KeyView):
    """`key` is shown this once; the same request sent again finds null."""

    key: str | None


class UserView(Model):
    user_id: str
    name: str
    role: Role
    has_password: bool
    created_at: Time
    disabled_at: Time | None


def key_view(found: Key) -> KeyView:
    same = ("kind", "name", "user", "created_at", "expires_at", "used_at", "revoked_at")
    values = {name: getattr(found, name) for name in same}
    return KeyView(**values, key_id=found.id, scopes=sorted(found.scopes))


def user_view(found: User) -> UserView:
    same = ("name", "role", "has_password", "created_at", "disabled_at")
    return UserView(**{name: getattr(found, name) for name in same}, user_id=found.id)
