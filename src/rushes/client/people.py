"""The people and keys of a server: over HTTP."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rushes.api.models import Page
from rushes.api.people import KeyView, MadeKey, UserView
from rushes.domain.person import Role, Scope
from rushes.wire.http import Http, segment


@dataclass(frozen=True, slots=True)
class Users:
    http: Http

    def list(self) -> Page[UserView]:
        return self.http.get("/users", Page[UserView])

    def add(self, name: str, *, role: Role = Role.USER, password: str | None = None) -> UserView:
        body = {"name": name, "role": role, "password": password}
        return self.http.post("/users", body, UserView)

    def disable(self, user: str) -> UserView:
        return self.http.post(_user(user, "disable"), None, UserView)

    def enable(self, user: str) -> UserView:
        return self.http.post(_user(user, "enable"), None, UserView)

    def set_password(self, user: str, password: str, *, current: str | None = None) -> UserView:
        body = {"password": password, "current": current}
        return self.http.change("PUT", _user(user, "password"), UserView, json=body)


@dataclass(frozen=True, slots=True)
class Keys:
    http: Http

    def list(self) -> Page[KeyView]:
        return self.http.get("/keys", Page[KeyView])

    def create(
        self,
        name: str,
        *,
        scopes: Collection[Scope],
        user: str | None = None,
        expires_in: int | None = None,
    ) -> MadeKey:
        body = {"name": name, "scopes": sorted(scopes), "user": user, "expires_in": expires_in}
        return self.http.post("/keys", body, MadeKey)

    def revoke(self, key_id: str) -> KeyView:
        return self.http.change("DELETE", f"/keys/{segment(key_id, 'key')}", KeyView)


def _user(name: str, below: str) -> str:
    return f"/users/{segment(name, 'user')}/{below}"
