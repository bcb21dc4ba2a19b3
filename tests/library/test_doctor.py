"""The doctor says nothing about a healthy library, and names each defect by its invariant."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from rushes.cli.main import run
from rushes.domain.person import LOCAL
from rushes.engine.doctor import Finding, Severity
from rushes.library import audit, doctor, layout
from rushes.library.library import Library
from rushes.library.retranscode import Again, retranscode
from rushes.store.database import open_database
from tests.library.studio import Studio
from tests.world import sql

NOBODY = "01890000-0000-7000-8000-000000000000"
UNINDEX = {
    "sqlite": "DELETE FROM spans_fts_docsize",
    "postgres": "UPDATE spans SET lexemes = NULL",
}
UNKNOWN = f"'{NOBODY}'"
SEGMENT = "objects/{film}/*/480p/00001.m4s"


@dataclass(frozen=True)
class Patient:
    """A library with one film in two versions, its texts, and one film that is being made."""

    library: Library
    film: str

    def findings(self, *, strict: bool = True, deep: bool = False) -> list[Finding]:
        return doctor.examine(self.library, strict=strict, deep=deep).findings

    def sql(self, statement: str) -> None:
        sql(self.library.db, statement.format(film=self.film))

    def file(self, pattern: str) -> Path:
        return next(iter(sorted(self.library.storage.root.glob(pattern.format(film=self.film)))))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """The folder of the patient, before anything is wrong with it."""
    root = tmp_path_factory.mktemp("healthy")
    shutil.copy(sqlite_template, root / "rushes.db")
    with closing(open_database(f"sqlite:///{root / 'rushes.db'}")) as db:
        fill(Studio(db, root))
    return root


@pytest.fixture
def patient(healthy: Path, tmp_path: Path) -> Iterator[Patient]:
    root = shutil.copytree(healthy, tmp_path / "data")
    with closing(open_database(f"sqlite:///{root / 'rushes.db'}")) as db:
        studio = Studio(db, root)
        [film, _] = sql(db, "SELECT id FROM assets ORDER BY id")
        yield Patient(studio.library, film["id"])


def fill(studio: Studio) -> str:
    film = studio.add(text=True).asset_id
    studio.finish()
    layout.run_once(studio.library)
    retranscode(studio.library, film, Again(qualities=("480p",)))
    studio.finish()
    studio.add(b"another film")
    studio.do("probe")
    studio.do("transcode", 0)
    layout.run_once(studio.library)
    for deed in ("video.delete", "video.restore"):
        studio.db.transact(lambda tx, deed=deed: audit.write(tx, LOCAL, deed, film))  # type: ignore[misc]
    return film


def test_healthy_library_has_no_findings(studio: Studio):
    """001-019, 001-022: on both databases, while a film is being made."""
    fill(studio)

    report = doctor.examine(studio.library, strict=True, deep=True)

    assert report.findings == []
    checks = len(doctor.CHECKS) + len(doctor.THOROUGH)
    assert report.checked == {"checks": checks, "films": 2, "files": 32}


Harm = Callable[[Patient], object]

VIOLATIONS: dict[str, tuple[str, str, Harm]] = {
    "a file was made by an attempt that was not accepted": (
        "I2",
        "holds a file of no attempt that was accepted",
        lambda it: it.sql("UPDATE attempts SET outcome = 'expired' WHERE epoch = 1"),
    ),
    "a file lies where another attempt wrote": (
        "I2",
        "holds a file of no attempt that was accepted",
        lambda it: it.sql("UPDATE artifacts SET key = replace(key, '-1/', '-2/')"),
    ),
    "a line of the audit log was changed": (
        "I11",
        "the audit log is not as it was written, from this row on",
        lambda it: it.sql("UPDATE audit SET actor = 'nobody' WHERE id = 2"),
    ),
    "the version that is published is not there": (
        "I7",
        "the published version is not there, or not closed",
        lambda it: it.sql("DELETE FROM versions WHERE asset_id = '{film}' AND n = 2"),
    ),
    "the version that is published was never closed": (
        "I7",
        "the published version is not there, or not closed",
        lambda it: it.sql("UPDATE versions SET published_at = NULL, closed_at = NULL"),
    ),
    "a segment of the published version has no row": (
        "I8",
        "the published version cannot be played from beginning to end",
        lambda it: it.sql("DELETE FROM artifacts WHERE name LIKE '%/v2/480p/00002.m4s'"),
    ),
    "the init of the published version has no row": (
        "I8",
        "the published version cannot be played from beginning to end",
        lambda it: it.sql("DELETE FROM artifacts WHERE name LIKE '%/v2/360p/init.mp4'"),
    ),
    "the published version was never planned": (
        "I8",
        "the published version cannot be played from beginning to end",
        lambda it: it.sql("UPDATE versions SET grid = NULL WHERE n = 2"),
    ),
    "the plan of the published version cannot be read": (
        "I8",
        "the published version cannot be played from beginning to end",
        lambda it: it.sql("UPDATE versions SET grid = '{{' WHERE n = 2"),
    ),
    "a file that a playlist names is not beside it": (
        "I8",
        "a playlist names a file that is not there",
        lambda it: it.file("assets/{film}/v2/480p/00001.m4s").unlink(),
    ),
    "the playlist that another one names is not there": (
        "I8",
        "a playlist names a file that is not there",
        lambda it: it.file("assets/{film}/v2/audio/en/playlist.m3u8").unlink(),
    ),
    "a committed file is missing": (
        "I9",
        "a file is missing",
        lambda it: it.file(SEGMENT).unlink(),
    ),
    "a committed file is cut short": (
        "I9",
        "a file has another size than it was committed with",
        lambda it: it.file(SEGMENT).write_bytes(b"short"),
    ),
    "the original is missing": (
        "I9",
        "a file is missing",
        lambda it: it.file("originals/{film}/source.mp4").unlink(),
    ),
    "a file belongs to no version": (
        "I9",
        "belongs to no film, or to no version of it",
        lambda it: it.sql("UPDATE artifacts SET version = 7 WHERE name LIKE '%/v1/poster.jpg'"),
    ),
    "a quality belongs to no version": (
        "I9",
        "belongs to no film, or to no version of it",
        lambda it: it.sql("UPDATE renditions SET version = 7 WHERE version = 1"),
    ),
    "a version belongs to no film": (
        "I9",
        "belongs to no film, or to no version of it",
        lambda it: it.sql(f"UPDATE versions SET asset_id = {UNKNOWN} WHERE asset_id = '{{film}}'"),
    ),
    "more segments are counted than committed": (
        "I10",
        "the count of finished segments is not that of the committed ones",
        lambda it: it.sql("DELETE FROM artifacts WHERE name LIKE '%/v1/480p/00002.m4s'"),
    ),
    "fewer segments are counted than committed": (
        "I10",
        "the count of finished segments is not that of the committed ones",
        lambda it: it.sql("UPDATE renditions SET segments_completed = 0 WHERE version = 2"),
    ),
    "a text belongs to no film": (
        "I15",
        "belongs to no film, or to no text of it",
        lambda it: it.sql(f"UPDATE spans SET asset_id = {UNKNOWN}"),
    ),
    "an entity belongs to another film than its text": (
        "I15",
        "belongs to no film, or to no text of it",
        lambda it: it.sql(f"UPDATE entities SET asset_id = {UNKNOWN}"),
    ),
    "a text is not in the index": (
        "I15",
        "is in the texts or in the index of the search, not in both",
        lambda it: it.sql(UNINDEX["sqlite"]),
    ),
    "a word is counted of which there is no text": (
        "I15",
        "is a word that is miscounted, by so many texts",
        lambda it: it.sql("DELETE FROM spans WHERE kind = 'screen'"),
    ),
    "a word of a text is not counted": (
        "I15",
        "is a word that is miscounted, by so many texts",
        lambda it: it.sql("DELETE FROM vocabulary WHERE word = 'hello'"),
    ),
    "a word of a deleted film is counted": (
        "I15",
        "is a word that is miscounted, by so many texts",
        lambda it: it.sql("UPDATE assets SET deleted_at = 1 WHERE id = '{film}'"),
    ),
}


@pytest.mark.parametrize("defect", VIOLATIONS)
def test_defect_is_found_by_its_invariant(patient: Patient, defect: str):
    """001-022."""
    invariant, text, harm = VIOLATIONS[defect]

    harm(patient)

    found = [finding for finding in patient.findings() if finding.text.startswith(text)]
    assert [(one.invariant, one.severity) for one in found] == [(invariant, Severity.VIOLATION)]
    assert found[0].ids


def test_every_check_and_every_invariant_has_a_defect():
    checks = {check.text for check in (*doctor.CHECKS, *doctor.THOROUGH)}
    assert checks <= {text for _, text, _ in VIOLATIONS.values()}
    assert {invariant for invariant, *_ in VIOLATIONS.values()} == set(doctor.INVARIANTS)


def test_every_check_of_rows_finds_its_defect_on_both_databases(studio: Studio):
    fill(studio)
    for statement in (
        "UPDATE attempts SET outcome = 'expired' WHERE epoch = 1",
        "UPDATE versions SET published_at = NULL, closed_at = NULL WHERE n = 2",
        "UPDATE renditions SET version = 7 WHERE version = 1",
        f"UPDATE spans SET asset_id = {UNKNOWN}",
        UNINDEX[studio.db.dialect],
    ):
        sql(studio.db, statement)

    found = doctor.examine(studio.library, strict=True).violations

    texts = [finding.text.rpartition(" (")[0] for finding in found]
    assert {check.text for check in (*doctor.CHECKS, *doctor.THOROUGH)} <= set(texts)


@pytest.mark.parametrize("pattern", [SEGMENT, "originals/{film}/source.mp4"])
def test_changed_byte_is_found_by_those_who_read_it(patient: Patient, pattern: str):
    """001-022: a bit that flipped on the disk."""
    path = patient.file(pattern)
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)

    shallow, deep = patient.findings(), patient.findings(deep=True)

    assert shallow == []
    assert [finding.text for finding in deep] == [
        "a file has another content than it was committed with (1)"
    ]
    assert deep[0].ids == (patient.library.storage.key(path),)


@pytest.mark.parametrize(
    "key", [f"objects/{NOBODY}/99-1/480p/00000.m4s", f"originals/{NOBODY}/source.mp4"]
)
def test_file_that_nobody_collects_is_a_warning(patient: Patient, key: str):
    stray = patient.library.storage.root / key
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"rest")
    young = patient.findings()
    then = time.time() - timedelta(hours=26).total_seconds()
    for path in (stray, stray.parent, stray.parents[1]):
        os.utime(path, (then, then))

    [finding] = patient.findings()

    assert young == []
    assert (finding.invariant, finding.severity) == ("I9", Severity.WARNING)
    assert finding.ids == (key,)


def test_quick_look_finds_what_is_wrong_with_the_newest_films(patient: Patient):
    patient.file(SEGMENT).unlink()

    [finding] = patient.findings(strict=False)

    assert finding.text == "a file is missing (1)"


def test_file_that_was_collected_meanwhile_is_no_finding(patient: Patient):
    """The rows are read first; then the name goes, and the file after it."""
    path = patient.file(SEGMENT)
    key = patient.library.storage.key(path)
    read = patient.library.db.read

    def then_collected(work: Callable[..., object], **options: object) -> object:
        seen = read(work, **options)  # type: ignore[arg-type]
        if isinstance(seen, doctor.Film) and any(row["key"] == key for row in seen.files):
            patient.sql(f"DELETE FROM artifacts WHERE key = '{key}'")
            path.unlink()
        return seen

    patient.library.db.read = then_collected  # type: ignore[method-assign]

    assert patient.findings(strict=False) == []


def test_command_finds_it_too(
    patient: Patient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """`rushes doctor --deep --json`: the engine's promises and the library's, in one answer."""
    monkeypatch.chdir(patient.library.storage.root)
    command = ["--data", str(patient.library.storage.root), "doctor", "--deep", "--json"]
    healthy = run(command), json.loads(capsys.readouterr().out)
    patient.file(SEGMENT).write_bytes(b"480p/00009.m4s")

    broken = run(command), json.loads(capsys.readouterr().out)

    assert (healthy[0], healthy[1]["ok"], broken[0], broken[1]["ok"]) == (0, True, 1, False)
    assert healthy[1]["checked"]["films"] == 2
    assert healthy[1]["checked"]["jobs"] == 3
    [finding] = [one for one in broken[1]["findings"] if one["severity"] == "violation"]
    assert finding["invariant"] == "I9"
