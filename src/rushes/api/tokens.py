"""What workers elsewhere are let in with: tokens to join, and keys; each is shown only once."""

from __future__ import annotations

from rushes.api.models import Model, Time


class JoinToken(Model):
    """`token` is shown this once, and good for one machine until `expires_in` seconds are over."""

    token: str | None
    expires_in: int
    kinds: list[str] | None


class WorkerKey(Model):
    key_id: str
    worker: str
    kinds: list[str] | None
    created_at: Time
    expires_at: Time | None
    used_at: Time | None


class NewWorkerKey(Model):
    """`api_key` is shown this once."""

    worker_id: str
    worker: str
    kinds: list[str] | None
    api_key: str | None


class Revoked(Model):
    key_ids: list[str]
