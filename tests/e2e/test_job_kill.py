"""A job that is killed while ffmpeg works for it."""

from __future__ import annotations

import psutil
import pytest

from rushes.app import App
from rushes.cli.reading import open_jobs
from rushes.store import tasks
from tests.e2e.place import Place
from tests.e2e.server import running
from tests.media.clips import clip
from tests.waiting import until

PROMPT_S = 2


@pytest.mark.timeout(300)
def test_killed_job_leaves_no_child_and_a_retry_keeps_what_was_finished(place: Place):
    """000-089, 000-143, 004-013…015: who, when, why and how far; nothing is encoded twice."""
    process = place.start("add", clip("two_minutes"), "--no-text", "--json")
    with place.app() as app:
        until(lambda: open_jobs(app, 1), 60)
        [job_id] = open_jobs(app, 1)
        until(lambda: chunks(app, job_id, "done") and chunks(app, job_id, "running"), 120)
        until(lambda: "ffmpeg" in " ".join(_programs(process.pid)), 30)

        place.run("jobs", "kill", job_id, "--reason", "wrong film")
        until(lambda: not _programs(process.pid), PROMPT_S)

        out, err = process.communicate(timeout=60)
        assert process.returncode == 8, (out, err)
        shown = place.ask("jobs", "show", job_id)
        assert (shown["status"], shown["killed_by"]) == ("killed", "user")
        assert shown["killed_reason"] == "wrong film"
        assert shown["killed_at"]
        far = shown["progress_at_kill"]
        assert 0 < far["processed"] < far["total"]
        kept = chunks(app, job_id, "done")
        assert kept

        place.run("jobs", "retry", job_id)
        place.run("worker", "run", "--until-idle")

        assert place.ask("jobs", "show", job_id)["status"] == "completed"
        rows = app.db.read(lambda tx: tasks.attempts(tx, job_id))
        assert all(sum(row["task_id"] == task for row in rows) == 1 for task in kept)
    assert place.ask("doctor", "--strict", "--deep")["findings"] == []


@pytest.mark.timeout(120)
def test_job_killed_at_the_server_leaves_no_child_either(place: Place):
    """As quickly, though its worker beats every ten seconds while it has nothing to do."""
    with running(place, "up") as server:
        job = server.client.videos.add(clip("two_minutes"), text=False)
        until(lambda: "ffmpeg" in " ".join(_programs(server.process.pid)), 60)

        server.client.jobs.kill(job.job_id)

        until(lambda: not _programs(server.process.pid), PROMPT_S)


def chunks(app: App, job_id: str, state: str) -> list[int]:
    """Return the chunks of a film that are in this state."""
    found = app.db.read(lambda tx: tasks.of_job(tx, job_id))
    return [task.id for task in found if task.step == "transcode" and task.state == state]


def _programs(pid: int) -> list[str]:
    """Name the programs that a process has started and that are still there."""
    try:
        return [child.name() for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
