"""A server whose library is a studio, and the people who come to its door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from rushes.api.context import Context
from rushes.api.server import build
from rushes.api.sse import Hub
from rushes.domain.person import LOCAL, Role, Scope, User
from rushes.engine.notify import Notifier, open_notifier
from rushes.library import keys, people
from rushes.library.keys import KeyRequest
from rushes.library.people import NewUser
from rushes.settings import Settings
from tests.library.studio import Studio

ALL = frozenset({Scope.READ, Scope.UPLOAD, Scope.WRITE})


@dataclass(frozen=True)
class House:
    """The application, and its library."""

    studio: Studio
    application: FastAPI

    def user(self, name: str) -> User:
        return people.add_user(self.studio.db, LOCAL, NewUser(name=name, role=Role.USER))

    def key(self, user: User | None = None, scopes: frozenset[Scope] = ALL) -> str:
        """Return a key of a user, or of this machine's own admin."""
        wanted = KeyRequest(
            name="test",
            scopes=frozenset(Scope) if user is None else scopes,
            user=user.name if user else None,
        )
        return keys.create_key(self.studio.db, LOCAL, wanted).text

    def visitor(self, key: str | None = None, headers: Mapping[str, str] | None = None) -> Visitor:
        sent = {**(headers or {}), **({"Authorization": f"Bearer {key}"} if key else {})}
        return Visitor(self.application, raise_server_exceptions=False, headers=sent)

    @cached_property
    def master_key(self) -> str:
        return self.key()

    @property
    def admin(self) -> Visitor:
        return self.visitor(self.master_key)


class Visitor(TestClient):
    """Somebody with or without a key."""

    def json(self, method: str, path: str, *, code: int = 200, **options: Any) -> Any:
        """Send a request, expect this status, and return what came back."""
        answer = self.request(method, path, **options)
        assert answer.status_code == code, answer.text
        return answer.json() if answer.content else None

    def problem(self, method: str, path: str, code: int, **options: Any) -> dict[str, Any]:
        """Send a request that is refused, and return the problem."""
        answer = self.request(method, path, **options)
        assert answer.status_code == code, answer.text
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        told: dict[str, Any] = answer.json()
        assert {"type", "title", "status", "detail", "code"} <= told.keys()
        return told


def open_house(studio: Studio, settings: Settings) -> tuple[House, Notifier]:
    notifier = open_notifier(studio.db)
    hub = Hub(studio.library, notifier, settings)
    context = Context(library=studio.library, settings=settings, notifier=notifier, hub=hub)
    notifier.listen(context.hall.hint)
    return House(studio, build(context)), notifier
