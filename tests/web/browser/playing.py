"""What a test sees of the film that plays on a page."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.waiting import until

EXACT_S = 0.25
PATIENT_MS = 90_000
NOW = "document.querySelector('.player video').currentTime"
FOCUSED = """(within) => document.activeElement.closest(within)
  && (document.activeElement.ariaLabel || document.activeElement.textContent)"""
SHOWN = "document.querySelector('.player video')?.readyState > 1"


def tab_to(page: Page, name: str, within: str = "body") -> None:
    """Press Tab until something of that name has the focus."""
    for _ in range(120):
        focused = page.evaluate(FOCUSED, within)
        if (focused or "").strip() == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached")


def until_so(page: Page, expression: str) -> None:
    """Wait without `eval`, which the page's policy refuses to Playwright, too."""
    until(lambda: page.evaluate(expression), PATIENT_MS / 1000)
