"""How the program logs: JSON lines for machines, key=value for a person at a terminal.

    bind(job_id=…, task_id=…)   what is logged inside carries these fields
    log.info("…", extra={…})    and these

Secrets never get through: keys, passwords in URLs, credentials in headers and links are cut out of
every text, also of stack traces. No text can forge a line: JSON escapes, and so do we.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

HIDDEN = "***"
SECRET = re.compile(
    r"authorization|cookie|csrf|passwo?r?d|passphrase|secret|token|api_?key|credential",
    re.IGNORECASE,
)
RULES = (
    (re.compile(r"rsh_(?:([a-z]+_[a-z0-9]{10})_)?[\w-]+"), rf"rsh_\1_{HIDDEN}"),
    (re.compile(r"([a-z][a-z0-9+.-]*://[^\s:/?#@]*:)\S*@", re.IGNORECASE), rf"\1{HIDDEN}@"),
    (re.compile(r"\b(bearer|basic|digest)\s+[^\s'\",;]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(
            r"((?:proxy-)?authorization|(?:set-)?cookie|x-csrf-token|rushes(?==)"
            r"|password|passwd|secret|token|signature)"
            r"(['\"]?\s*[:=]\s*['\"]?)(?!bearer |basic |digest )[^\s'\",;&]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
)
OURS = "rushes-log"
STANDARD = frozenset(
    {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}
)
ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
ESCAPES |= {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}

_bound: ContextVar[Mapping[str, object]] = ContextVar("bound", default={})  # noqa: B039


def configure(level: str, *, stream: TextIO | None = None, **always: object) -> None:
    """Let everything be logged here, with fields that are always the same, such as `worker`."""
    stream = stream or sys.stderr
    form = TextLines(always) if stream.isatty() else JsonLines(always)
    handler = logging.StreamHandler(stream)
    handler.set_name(OURS)
    handler.setFormatter(form)
    root = logging.getLogger()
    for old in [one for one in root.handlers if one.get_name() == OURS]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it has a line for every request


@contextmanager
def bind(**fields: object) -> Iterator[None]:
    """Give what is logged inside these fields, in this thread or task and those it starts."""
    before = _bound.set({**_bound.get(), **fields})
    try:
        yield
    finally:
        _bound.reset(before)


def redact(text: str) -> str:
    """Return a text without what must not be read in it.

    >>> redact("postgresql://ann:hunter2@db/rushes")
    'postgresql://ann:***@db/rushes'
    """
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text


class JsonLines(logging.Formatter):
    def __init__(self, always: Mapping[str, object]) -> None:
        super().__init__()
        self._always = always

    def format(self, record: logging.LogRecord) -> str:
        told = {
            **_head(record),
            "logger": record.name,
            "message": redact(record.getMessage()),
            **_fields(record, self._always),
        }
        trace = _trace(self, record)
        return json.dumps({**told, "exception": trace} if trace else told, default=str)


class TextLines(logging.Formatter):
    def __init__(self, always: Mapping[str, object]) -> None:
        super().__init__()
        self._always = always

    def format(self, record: logging.LogRecord) -> str:
        head = _head(record)
        message = redact(record.getMessage()).translate(ESCAPES)
        fields = "".join(
            f" {name}={_plain(value)}" for name, value in _fields(record, self._always).items()
        )
        trace = "".join(
            f"\n    {line.translate(ESCAPES)}" for line in _trace(self, record).splitlines()
        )
        return f"{head['time']} {head['level']:<7} {message}{fields}{trace}"


def _head(record: logging.LogRecord) -> dict[str, str]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    return {"time": moment.replace("+00:00", "Z"), "level": record.levelname.lower()}


def _fields(record: logging.LogRecord, always: Mapping[str, object]) -> dict[str, object]:
    """Return what a record carries besides its message."""
    extra = {name: value for name, value in vars(record).items() if name not in STANDARD}
    fields = {**always, **_bound.get(), **extra}
    return {name: _safe(name, value) for name, value in fields.items() if value is not None}


def _safe(name: str, value: object) -> object:
    if SECRET.search(name):
        return HIDDEN
    if isinstance(value, Mapping):
        return {str(key): _safe(str(key), entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_safe(name, entry) for entry in value]
    return value if isinstance(value, int | float | bool) else redact(str(value))


def _trace(form: logging.Formatter, record: logging.LogRecord) -> str:
    told = form.formatException(record.exc_info) if record.exc_info else ""
    return redact(told + (f"\n{record.stack_info}" if record.stack_info else ""))


def _plain(value: object) -> str:
    """Return a value that reads as one word."""
    text = str(value)
    is_word = text.isprintable() and not any(sign in text for sign in ' "=') and text
    return text if is_word else json.dumps(text)
