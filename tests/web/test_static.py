"""The files of the page: vendored libraries, what is fetched at once, one catalogue of words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rushes.api.sse import Topic
from rushes.domain.event import EventType
from rushes.domain.waiting import Reason
from rushes.web import static, vendor

OURS = sorted(
    path
    for path in static.FOLDER.rglob("*.js")
    if not {"vendor", "words"} & set(path.relative_to(static.FOLDER).parts)
)
LONGEST = 400
FIRST_VIEW_BYTES = 150_000
WORDS = re.compile(r">[^<>${}`]*\b[A-Za-z]{2,}[^<>${}`]*</")
SPOKEN = re.compile(r"""\b(aria-label|placeholder|title|alt)="[^"]+\"""")


def test_vendored_files_are_the_ones_that_were_chosen():
    known = json.loads(vendor.MANIFEST.read_text())

    assert [(one["package"], one["version"], one["file"]) for one in known] == [
        (one.package, one.version, one.file) for one in vendor.LIBRARIES
    ]
    assert {one["file"]: one["sha256"] for one in known} == {
        one.file: vendor.digest_of(one.file) for one in vendor.LIBRARIES
    }
    for one in known:
        name = one["package"].rpartition("/")[2]
        assert (vendor.FOLDER / f"{name}.LICENSE.txt").stat().st_size > 500


def test_first_view_needs_little_javascript():
    """What the shell and the library load, packed; the player comes when it is needed."""
    names = dict.fromkeys([*static.needed(), *static.needed("pages/library.js")])
    packed = sum(len(static.files().by_name[name].packed or b"") for name in names)

    assert packed < FIRST_VIEW_BYTES
    assert not {"vendor/tus.min.js", "vendor/hls.mjs"} & names.keys()


def test_page_knows_every_type_of_event():
    told = (static.FOLDER / "live.js").read_text().partition("const TYPES = [")[2]
    known = set(re.findall(r'"([a-z]+\.[a-z_]+)"', told.partition("];")[0]))

    assert known == {*EventType, "task.progress"}
    assert {one.partition(".")[0] for one in known} == {
        *("job", "task", "worker", "kind", "video", "clip")
    }
    assert len(Topic) == 5


def test_page_has_words_for_whatever_happens_to_a_job():
    """R7: every reason to wait comes with what would change it."""
    told = (static.FOLDER / "words" / "job.js").read_text()

    assert [reason for reason in Reason if f'{reason}: "' not in told] == []
    happens = [type for type in EventType if type.startswith(("job.", "task."))]
    assert [type for type in happens if f'"{type}": ' not in told] == []


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(static.FOLDER).as_posix())
def test_script_is_short_and_has_no_words_of_its_own(path: Path):
    """Words stand in `words/`; nothing is ever parsed as HTML, whatever it says."""
    text = path.read_text()
    code = re.sub(r"^\s*//.*$|/\*.*?\*/", "", text, flags=re.MULTILINE | re.DOTALL)

    assert len(text.splitlines()) <= LONGEST
    assert not WORDS.findall(code)
    assert not SPOKEN.findall(code)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", code)
