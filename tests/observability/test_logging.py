"""Logs: one line each that a machine can read, who it was about, and no secret in any of them."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rushes.observability import logging as logs

CANARY = "canary7secret"
KEY = f"rsh_user_ab23456789_{CANARY}{'x' * 30}"
log = logging.getLogger("rushes.test")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def lines() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("info", stream=stream, worker="gpu-1")
    return stream


@pytest.fixture
def terminal() -> Terminal:
    stream = Terminal()
    logs.configure("info", stream=stream, worker="gpu-1")
    return stream


def test_line_says_when_what_and_about_whom(lines: io.StringIO):
    """002-056, 003-073."""
    with logs.bind(job_id="0198", request_id="r-1"), logs.bind(task_id=7, kind=None):
        log.info("task %s claimed", 7, extra={"status": "running"})
    log.warning("after")

    first, second = _read(lines)
    assert first.pop("time").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "rushes.test",
        "message": "task 7 claimed",
        "worker": "gpu-1",
        "job_id": "0198",
        "request_id": "r-1",
        "task_id": 7,
        "status": "running",
    }
    assert second.keys() == {"time", "level", "logger", "message", "worker"}


def test_terminal_gets_words(terminal: Terminal):
    with logs.bind(job_id="0198"):
        log.info("task claimed", extra={"label": 'a "b" c'})

    _, _, rest = terminal.getvalue().partition(" ")
    assert rest == r'info    task claimed worker=gpu-1 job_id=0198 label="a \"b\" c"' + "\n"


def test_fields_of_one_thread_are_not_those_of_another(lines: io.StringIO):
    with logs.bind(job_id="mine"):
        other = threading.Thread(target=lambda: log.info("other"))
        other.start()
        other.join()

    [line] = _read(lines)
    assert "job_id" not in line


def test_level_is_kept_and_configuring_twice_logs_once(lines: io.StringIO):
    again = io.StringIO()
    logs.configure("warning", stream=again)

    log.info("no")
    log.warning("yes")

    assert lines.getvalue() == ""
    assert [line["message"] for line in _read(again)] == ["yes"]


SECRETS = [
    f"key {KEY} was used",
    f"rsh_{CANARY}",
    f"connecting to postgresql://ann:{CANARY}@db:5432/rushes",
    f"redis://:{CANARY}@cache/0",
    f"https://ann:p@{CANARY}/x@example.org/",
    f"Authorization: Bearer {CANARY}",
    f"authorization=Basic {CANARY}",
    f"headers: [(b'authorization', b'Bearer {CANARY}')]",
    f"{{'Authorization': '{CANARY}'}}",
    f"Cookie: rushes={CANARY}; theme=dark",
    f"set-cookie: __Host-rushes={CANARY}; HttpOnly",
    f"x-csrf-token: {CANARY}",
    f"GET /login?token={CANARY}&next=/",
    f"host=db password={CANARY} user=ann",
    f'{{"password": "{CANARY}"}}',
]


@pytest.mark.parametrize("text", SECRETS)
def test_secret_reaches_no_line(lines: io.StringIO, text: str):
    """Canaries: as message, argument, field, field in a field, error and stack trace."""
    log.info(text.replace("%", "%%"))
    log.info("said %s", text)
    log.info("field", extra={"said": text, "more": {"deep": [text]}})
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("broke")

    assert len(_read(lines)) == 4
    assert CANARY not in lines.getvalue()


@pytest.mark.parametrize("text", SECRETS)
def test_secret_reaches_no_terminal(terminal: Terminal, text: str):
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("said %s", text, extra={"said": text})

    assert CANARY not in terminal.getvalue()


@pytest.mark.parametrize("name", ["authorization", "Cookie", "password", "csrf_token", "api_key"])
def test_field_with_the_name_of_a_secret_is_hidden(lines: io.StringIO, name: str):
    log.info("x", extra={name: CANARY, "headers": {name: CANARY}})

    assert CANARY not in lines.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "rushes: 3 tasks of job 0198f0e0-0000-7000-8000-000000000001 are ready",
        "http://127.0.0.1:8765/api/jobs?status=failed",
        "/media/films/a:b@c.mp4 took 12:30",
    ],
)
def test_plain_text_stays(lines: io.StringIO, text: str):
    log.info(text)

    assert _read(lines)[0]["message"] == text


def test_key_can_still_be_told_from_others():
    assert logs.redact(f"key {KEY}") == "key rsh_user_ab23456789_***"


@pytest.mark.parametrize(
    "evil", ["a\nINFO forged", "a\r\nb", "\x1b[31mred", "a\x85b\u2028c", "\x00"]
)
def test_no_text_forges_a_line_or_moves_the_cursor(terminal: Terminal, evil: str):
    """B-HTTP-9."""
    log.info("said %s", evil, extra={"said": evil})
    try:
        raise ValueError(evil)
    except ValueError:
        log.exception("broke")

    text = terminal.getvalue()
    assert not set(text) & set("\r\x1b\x85\u2028\x00")
    begins = [line for line in text.split("\n") if line and not line.startswith("    ")]
    assert len(begins) == 2


def test_what_is_no_json_is_told_as_text(lines: io.StringIO):
    log.info("x", extra={"path": sys, "numbers": {1}, "at": 1.5})

    [line] = _read(lines)
    assert (line["numbers"], line["at"]) == ([1], 1.5)
    assert "module" in line["path"]


def _read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]
