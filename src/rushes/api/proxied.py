"""Believes a trusted proxy what it says of the way here: whose request it is, and how it came.

The word of anybody else is left alone, so that nobody chooses the address that is theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

SCHEMES = ("http", "https")


class Proxied:
    """Stands before everything that looks at an address."""

    def __init__(self, app: ASGIApp, trusted: Sequence[IPv4Network | IPv6Network]) -> None:
        self._app, self._trusted = app, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        peer, port = scope.get("client") or ("", 0)
        if self._trusts(peer):
            address = self._client(peer, _told(scope, b"x-forwarded-for"))
            scheme = _told(scope, b"x-forwarded-proto")[-1:]
            scope = {**scope, "client": (address, port)}
            if scheme and scheme[0] in SCHEMES:
                scope["scheme"] = scheme[0]
        await self._app(scope, receive, send)

    def _client(self, address: str, told: list[str]) -> str:
        """Return the last address on the way that no trusted proxy has, or the first one."""
        while told and _is_address(told[-1]) and self._trusts(address):
            address = told.pop()
        return address

    def _trusts(self, text: str) -> bool:
        return _is_address(text) and any(ip_address(text) in one for one in self._trusted)


def _told(scope: Scope, header: bytes) -> list[str]:
    """Return what each proxy on the way added, the last one last."""
    values = (value.decode("latin-1") for name, value in scope["headers"] if name == header)
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
