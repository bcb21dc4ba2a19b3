"""`rushes doctor`: does everything hold that the engine and the library promise?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.output import note, plural, printable, say, say_json, styled

if TYPE_CHECKING:
    from rushes.engine.doctor import Finding, Report
    from rushes.library.machine import Machine

BROKEN, NOT_QUIET = 1, 7
STRICT_WAIT = 30.0


def doctor(
    ctx: typer.Context,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Wait for quiet, then check every job and film there is."),
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every file and compare its hash.")
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="SECONDS", help="Wait for quiet first; with --strict 30 unless given."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the invariants of a live database and its files. Reads only.

    Exit code 1: a promise is broken. 7: nothing is, but work still went on when the wait was over.
    """
    from datetime import timedelta

    from rushes.engine.doctor import examine, wait_for_quiet
    from rushes.library import doctor as library
    from rushes.library import machine

    patience = wait if wait is not None else STRICT_WAIT if strict else None
    with connect(ctx) as rushes:
        interval = timedelta(seconds=rushes.settings.stale_job_check_interval)
        quiet = patience is None or wait_for_quiet(rushes.engine, timedelta(seconds=patience))
        report = examine(rushes.engine, strict=strict, recover_every=interval)
        report += library.examine(rushes.library, strict=strict, deep=deep)
    found = machine.look()
    report += machine.examine(found, deep=deep)
    if as_json:
        say_json({**report_view(report), "quiet": quiet, "machine": machine_view(found)})
    else:
        say(f"this machine: {found}", *report_lines(report))
    if not quiet:
        note(f"work still went on after {patience:g} s")
    if report.violations:
        raise typer.Exit(BROKEN)
    raise typer.Exit(0 if quiet else NOT_QUIET)


def machine_view(found: Machine) -> dict[str, object]:
    tool = found.ffmpeg
    return {
        "ffmpeg": {"version": tool.version, "source": tool.source} if tool else None,
        "walls": found.walls,
        "reads_text": found.reads_text,
    }


def report_view(report: Report) -> dict[str, object]:
    return {
        "ok": not report.violations,
        "strict": report.strict,
        "checked": report.checked,
        "findings": [
            {
                "invariant": finding.invariant,
                "severity": finding.severity,
                "text": finding.text,
                "ids": list(finding.ids),
            }
            for finding in report.findings
        ],
    }


def report_lines(report: Report) -> list[str]:
    """Return the findings, then one line that sums up."""
    looked = ", ".join(plural(n, what.removesuffix("s")) for what, n in report.checked.items())
    broken = len(report.violations)
    warnings = len(report.findings) - broken
    word = styled("ok", "green") if not broken else styled(plural(broken, "violation"), "red")
    rest = f", {plural(warnings, 'warning')}" if warnings else ""
    return [*(_line(finding) for finding in report.findings), f"{word}{rest} ({looked})"]


def _line(finding: Finding) -> str:
    ids = printable(", ".join(finding.ids))
    return f"{finding.severity} {finding.invariant}: {printable(finding.text)}: {ids}"
