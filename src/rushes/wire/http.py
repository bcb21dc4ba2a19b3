"""Asks a server, and tries again where that is safe.

Reading changes nothing, and whatever is posted carries an idempotency key, so both are sent again
after a connection was cut. A server that does not answer at all is told of at once.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError

from rushes.errors import Invalid, NotFound, RushesError, Unavailable
from rushes.wire.problems import error_of

if TYPE_CHECKING:
    import httpx

TIMEOUT_S, CONNECT_S = 60.0, 5.0
PAUSES = (0.2, 1.0)  # seconds before a request is sent again
IN_PROGRESS = "IDEMPOTENCY_IN_PROGRESS"
KEY = "Idempotency-Key"
API = "/api"
CHUNK = 1 << 18
PARTIAL = 206

M = TypeVar("M", bound=BaseModel)


class Http:
    """One server, asked with one key."""

    def __init__(self, server: str, key: str | None) -> None:
        import httpx

        self.server = check_server(server)
        headers = {"Authorization": f"Bearer {check_key(key)}"} if key else {}
        timeout = httpx.Timeout(TIMEOUT_S, connect=CONNECT_S)
        self._client = httpx.Client(base_url=self.server + API, headers=headers, timeout=timeout)

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, model: type[M], **params: object) -> M:
        """Return what is at a path."""
        given = {name: _text(value) for name, value in params.items() if value is not None}
        return self.parsed(model, self._again("GET", path, params=given))

    def post(self, path: str, body: object, model: type[M]) -> M:
        """Have something done, once."""
        headers = {KEY: uuid.uuid4().hex}
        return self.parsed(model, self._again("POST", path, json=body, headers=headers))

    def change(self, method: str, path: str, model: type[M], **options: Any) -> M:
        """Change something. Not tried again: nobody knows whether it was done."""
        return self.parsed(model, self.send(method, path, **options))

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request and return the answer, or raise what it says went wrong."""
        with self._connected():
            return self._checked(self._client.request(method, path, **options))

    def ask(self, path: str, body: BaseModel, model: type[M], *, wait_s: float = 0.0) -> M:
        """Send a message and return the answer, which may take `wait_s` longer. Sent once."""
        return self.parsed(model, self.tell(path, body, wait_s=wait_s))

    def tell(self, path: str, body: BaseModel, *, wait_s: float = 0.0) -> httpx.Response:
        """Send a message, once."""
        import httpx

        return self.send(
            "POST",
            path,
            content=body.model_dump_json(),
            headers={"Content-Type": "application/json"},
            timeout=httpx.Timeout(TIMEOUT_S + wait_s, connect=CONNECT_S),
        )

    def download(self, url: str, file: Path, offset: int) -> None:
        """Append what a server has at an address of its own, from `offset` on."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with (
            self._connected(),
            self._client.stream("GET", self._absolute(url), headers=headers) as answer,
        ):
            if not answer.is_success:
                answer.read()
                self._checked(answer)
            with file.open("ab" if answer.status_code == PARTIAL else "wb") as out:
                for chunk in answer.iter_raw(CHUNK):
                    out.write(chunk)

    @contextmanager
    def stream(
        self, path: str, params: Mapping[str, str], headers: Mapping[str, str], read_s: float
    ) -> Iterator[Iterator[str]]:
        """Give the lines of an answer that does not end by itself."""
        import httpx

        timeout = httpx.Timeout(read_s, connect=CONNECT_S)
        with (
            self._connected(),
            self._client.stream(
                "GET", path, params=dict(params), headers=dict(headers), timeout=timeout
            ) as answer,
        ):
            if not answer.is_success:
                answer.read()
                self._checked(answer)
            yield answer.iter_lines()

    def _absolute(self, url: str) -> str:
        """Return an address of this server; a key never goes to another one."""
        top = urlsplit(self.server)
        return (
            f"{top.scheme}://{top.netloc}{url}" if url.startswith("/") else f"{self.server}/{url}"
        )

    def _again(self, method: str, path: str, **options: Any) -> httpx.Response:
        for pause in PAUSES:
            try:
                return self.send(method, path, **options)
            except Cut:
                time.sleep(pause)
            except RushesError as error:
                if error.code != IN_PROGRESS:
                    raise
                time.sleep(pause)
        return self.send(method, path, **options)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn what goes wrong on the way into errors of our own."""
        import httpx

        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unavailable(
                f"nobody answers at {self.server}: {_reason(error)}", hint="is the server running?"
            ) from error
        except httpx.TransportError as error:
            raise Cut(f"the connection to {self.server} was cut: {_reason(error)}") from error

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        raise error_of(answer.status_code, answer.content, self.server)

    def parsed(self, model: type[M], answer: httpx.Response) -> M:
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise Unavailable(
                f"{self.server} does not answer as this version of Rushes does",
                hint="check the address, and that both are of the same version",
            ) from error


class Cut(Unavailable):
    """The server was there, and then it was not."""


def check_server(server: str) -> str:
    """Return the address of a server without its last slash. Raises Invalid for what is none."""
    try:
        parts = urlsplit(server.strip())
        is_right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_right = False
    if not is_right or parts.query or parts.fragment or "@" in parts.netloc:
        raise Invalid(
            f"{server[:200]!r} is not the address of a server",
            hint="for example: http://127.0.0.1:8765",
        )
    return server.strip().rstrip("/")


@contextmanager
def first_call(server: str) -> Iterator[None]:
    """Say what it means if a server does not know what it is asked first of all."""
    try:
        yield
    except NotFound as error:
        raise Invalid(
            f"there is no Rushes at {server}",
            hint="give its address alone, for example: http://127.0.0.1:8765",
        ) from error


def check_key(key: str) -> str:
    """Return a key that can be sent. Raises Invalid for one that cannot; it is never shown."""
    text = key.strip()
    if not (text.isascii() and text.isprintable() and text and " " not in text):
        raise Invalid("this is not a key", hint="a key looks like rsh_user_…")
    return text


def segment(text: str, what: str) -> str:
    """Return a name as one part of a path. Raises NotFound for what cannot be one."""
    if not text or text.strip(".") == "" or "/" in text:
        raise NotFound(f"there is no {what} {text!r}")
    return quote(text, safe="@")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
