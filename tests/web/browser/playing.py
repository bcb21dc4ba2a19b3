"""What a test sees of the film that plays on a page."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.waiting import until

EXACT_S = 0.25
PATIENT_MS = 90_000
NOW = "document.querySelector('.player video').currentTime"
SHOWN = "document.querySelector('.player video')?.readyState > 1"


def until_so(page: Page, expression: str) -> None:
    """Wait without `eval`, which the page's policy refuses to Playwright, too."""
    until(lambda: page.evaluate(expression), PATIENT_MS / 1000)
