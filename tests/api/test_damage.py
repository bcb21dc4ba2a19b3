"""Rows that a disk or a person has damaged: the server starts, and all others go on."""

from __future__ import annotations

import pytest

from rushes.store.database import Database
from tests.api.house import Visitor
from tests.library.studio import Studio
from tests.world import World, sql


@pytest.mark.parametrize("column", ["plan", "reported"])
def test_damaged_job_hides_no_other(admin: Visitor, studio: Studio, column: str):
    """F-API-11: it is listed and shown as far as it can be read."""
    broken, other = (studio.add(content=b"film %d" % n).job_id for n in range(2))
    sql(studio.db, f"UPDATE jobs SET {column} = '{{' WHERE id = '{broken}'")

    assert [job["job_id"] for job in admin.json("GET", "/api/jobs")["items"]] == [other, broken]
    assert admin.json("GET", f"/api/jobs/{broken}")["status"] == "queued"
    assert admin.json("DELETE", f"/api/jobs/{broken}")["status"] == "killed"


def test_job_with_a_damaged_task_is_shown(admin: Visitor, studio: Studio):
    """F-API-11."""
    job_id = studio.add().job_id
    sql(studio.db, "UPDATE tasks SET params = '{'")

    [probe] = admin.json("GET", f"/api/jobs/{job_id}")["tasks"][:1]

    assert (probe["step"], probe["params"]) == ("probe", {})


def test_words_that_the_program_does_not_know_cannot_be_written(db: Database, world: World):
    """F-API-11: the tables refuse them."""
    world.submit()

    for statement in (
        "UPDATE jobs SET status = 'cancelled'",
        "UPDATE tasks SET state = 'lost'",
    ):
        with pytest.raises(Exception, match=r"(?i)constraint"):
            sql(db, statement)
