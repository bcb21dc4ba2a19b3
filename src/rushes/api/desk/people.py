"""Who may come in: users, for admins; and keys, everybody's own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from rushes.api.models import Page
from rushes.api.people import KeyView, MadeKey, UserView, key_view, user_view
from rushes.domain.person import HERE, Origin, Principal, Role, Scope
from rushes.library import keys, people
from rushes.library.keys import KeyRequest
from rushes.library.library import Library
from rushes.library.people import NewPassword, NewUser


@dataclass(frozen=True, slots=True)
class Users:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(self) -> Page[UserView]:
        """Return the people of this installation, by name."""
        found = people.list_users(self.library.db, self.who)
        return Page(items=[user_view(one) for one in found])

    def add(self, name: str, *, role: Role = Role.USER, password: str | None = None) -> UserView:
        """Let somebody in; without a password, by a key or a login link only."""
        wanted = NewUser(name=name, role=role, password=password)
        return user_view(people.add_user(self.library.db, self.who, wanted, origin=self.origin))

    def disable(self, user: str) -> UserView:
        """Keep somebody out, at once."""
        return user_view(people.disable(self.library.db, self.who, user, origin=self.origin))

    def enable(self, user: str) -> UserView:
        """Let somebody in again."""
        return user_view(people.enable(self.library.db, self.who, user, origin=self.origin))

    def set_password(self, user: str, password: str, *, current: str | None = None) -> UserView:
        """Change a password; all other sessions of that person end."""
        wanted = NewPassword(user=user, password=password, current=current)
        return user_view(people.set_password(self.library.db, self.who, wanted, origin=self.origin))


@dataclass(frozen=True, slots=True)
class Keys:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(self) -> Page[KeyView]:
        """Return one's own keys, newest first; an admin sees everybody's."""
        found = keys.list_keys(self.library.db, self.who)
        return Page(items=[key_view(one) for one in found])

    def create(
        self,
        name: str,
        *,
        scopes: Collection[Scope],
        user: str | None = None,
        expires_in: int | None = None,
    ) -> MadeKey:
        """Make a key that may do no more than its maker; it ends after so many seconds."""
        wanted = KeyRequest(
            name=name,
            scopes=frozenset(scopes),
            user=user,
            lifetime=timedelta(seconds=expires_in) if expires_in else None,
        )
        made = keys.create_key(self.library.db, self.who, wanted, origin=self.origin)
        return MadeKey(**key_view(made.key).model_dump(), key=made.text)

    def revoke(self, key_id: str) -> KeyView:
        """End a key at once."""
        return key_view(keys.revoke_key(self.library.db, self.who, key_id, origin=self.origin))
