"""The documents say what the code does, and nothing that does not exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from docs import pages, requirements
from rushes.cli import main
from rushes.observability import failpoints

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_tests_and_decisions_name_only_requirements_that_exist():
    assert requirements.unknown(requirements.mentions()) == []


def test_page_of_requirements_is_up_to_date():
    page = requirements.render(requirements.mentions())

    assert requirements.PAGE.read_text() == page, "run `make docs`"


def test_pages_of_commands_settings_and_errors_are_up_to_date():
    """003-005, 004-031: with every default, the priority and the port among them."""
    assert pages.stale() == [], "run `make docs`"


def test_every_exit_code_is_explained():
    assert {main.FAILED, main.USAGE, main.INTERRUPTED, *main.EXIT.values()} <= set(pages.EXITS)


def test_every_failpoint_is_explained():
    page = (ROOT / "docs/explanation/failpoints.md").read_text()

    assert set(re.findall(r"^\| `(\w+\.\w+)` ", page, re.MULTILINE)) == failpoints.NAMES


def test_every_document_numbers_its_points_without_a_gap():
    for document in requirements.documents():
        expected = [f"{document.number}-{n:03}" for n in range(1, len(document.points) + 1)]
        assert list(document.points) == expected


def test_number_that_does_not_exist_is_found(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_wrong.py").write_text('"""Shows 000-001 and 004-999."""\n')

    [line] = requirements.unknown(requirements.mentions(tmp_path))

    assert line == "tests/test_wrong.py: test_wrong.py names 004-999, which does not exist"


def test_examples_of_the_generator_hold():
    assert doctest.testmod(requirements).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_files_lead_somewhere(page: Path):
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/adr").glob("*.md")), ids=lambda p: p.stem)
def test_decision_is_short_and_has_its_four_parts(page: Path):
    text = page.read_text()

    assert len(text.splitlines()) <= 40
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "Context",
        "Decision",
        "Consequences",
        "Rejected",
    ]


@pytest.mark.parametrize("name, limit", [("README.md", 90), ("ARCHITECTURE.md", 200)])
def test_first_pages_stay_short(name: str, limit: int):
    assert len((ROOT / name).read_text().splitlines()) <= limit
