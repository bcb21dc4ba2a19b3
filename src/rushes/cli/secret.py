"""Secrets that a person types: they are never an option that others on this machine could see."""

from __future__ import annotations

import sys

import typer

from rushes.errors import Invalid


def ask(what: str, *, longest: int, command: str, confirm: bool = False) -> str:
    """Ask on the terminal; without one, read the first line of standard input."""
    if sys.stdin.isatty():
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=confirm, err=True))
    try:
        line = sys.stdin.readline(longest + 2).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise Invalid(f"the {what} on standard input is not text") from error
    if not line.strip():
        raise Invalid(
            f"there is no {what} on standard input",
            hint=f"call it on a terminal, or: rushes {command} < FILE",
        )
    return line
