"""Jobs over HTTP: looked at, explained, stopped, tried again."""

from __future__ import annotations

import pytest

from rushes.domain.failure import failure
from rushes.domain.outcome import Failed
from rushes.engine.complete import report
from tests.api.house import House, Visitor
from tests.library.studio import Studio

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def film(studio: Studio) -> str:
    """A film that is being made: probed, and one chunk encoded."""
    added = studio.add(title="A day")
    studio.do("probe")
    studio.do("transcode", 0)
    return added.job_id


def test_job_is_told_as_the_documents_have_it(admin: Visitor, film: str):
    """004-021, 004-022, 004-025…027, 004-040: status, progress; what does not apply is null."""
    job = admin.json("GET", f"/api/jobs/{film}")

    assert (job["job_id"], job["status"], job["job_type"]) == (film, "running", "video")
    assert job["progress"]["percent"] > 0
    assert (job["progress"]["current"], job["progress"]["batches_completed"]) == (2, 1)
    assert (job["error"], job["killed_by"], job["result"]) == (None, None, None)
    assert job["raw_state"]["done"] == 2
    assert {quality["status"] for quality in job["qualities"]} == {"in_progress"}
    assert [task["step"] for task in job["tasks"]][:1] == ["probe"]


def test_list_is_newest_first_and_goes_on_where_it_ended(admin: Visitor, studio: Studio):
    """004-029: with and without the slash at the end."""
    added = [studio.add(content=f"film {n}".encode()).job_id for n in range(3)]

    first = admin.json("GET", "/api/jobs/?limit=2")
    rest = admin.json("GET", f"/api/jobs?limit=2&cursor={first['next_cursor']}")

    assert [job["job_id"] for job in first["items"] + rest["items"]] == added[::-1]
    assert rest["next_cursor"] is None
    assert admin.json("GET", "/api/jobs/counts")["queued"] == 3
    assert len(admin.json("GET", "/api/jobs?status=running")["items"]) == 0


def test_killed_job_says_by_whom_when_and_why(admin: Visitor, film: str):
    """004-024, 004-028, 004-042: DELETE stops it, and a later GET shows the attribution."""
    killed = admin.json("DELETE", f"/api/jobs/{film}?reason=wrong+film")

    assert (killed["message"], killed["status"]) == ("job killed", "killed")
    job = admin.json("GET", f"/api/jobs/{film}")
    assert (job["status"], job["killed_by"], job["killed_reason"]) == (
        *("killed", "user"),
        "wrong film",
    )
    assert job["killed_at"]
    assert admin.json("POST", f"/api/jobs/{film}/kill")["status"] == "killed"


def test_retry_answers_with_a_place_to_look(admin: Visitor, film: str):
    """002-059: a person tries again; finished tasks are kept."""
    admin.json("DELETE", f"/api/jobs/{film}")

    answer = admin.post(f"/api/jobs/{film}/retry")

    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/jobs/{film}"
    assert answer.json()["tasks"] > 0
    assert admin.json("GET", f"/api/jobs/{film}")["raw_state"]["done"] == 2


def test_retry_of_one_quality_makes_only_that(admin: Visitor, studio: Studio):
    """R4: the grain of a quality."""
    job_id = studio.add().job_id
    studio.finish()

    again = admin.json("POST", f"/api/jobs/{job_id}/retry", code=202, json={"quality": "480p"})
    studio.do("probe")

    assert again["job_id"] != job_id
    states = {
        one["quality"]: one["status"]
        for one in admin.json("GET", f"/api/jobs/{again['job_id']}")["qualities"]
    }
    assert states == {"480p": "pending", "360p": "completed"}


def test_same_key_is_answered_as_the_first_time(admin: Visitor, film: str):
    """003-063: a repeated request does nothing twice."""
    headers = {"Idempotency-Key": "once"}
    admin.json("DELETE", f"/api/jobs/{film}")

    first = admin.post(f"/api/jobs/{film}/retry", headers=headers)
    again = admin.post(f"/api/jobs/{film}/retry", headers=headers)
    other = admin.problem("POST", f"/api/jobs/{film}/retry", 409, headers=headers, json={})

    assert (first.status_code, again.status_code) == (202, 202)
    assert (first.json(), first.headers["location"]) == (again.json(), again.headers["location"])
    assert again.headers["idempotency-replayed"] == "true"
    assert other["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_request_that_failed_may_be_sent_again_with_its_key(admin: Visitor, film: str):
    headers = {"Idempotency-Key": "once"}

    refused = admin.problem("POST", f"/api/jobs/{film}/retry", 409, headers=headers)
    admin.json("DELETE", f"/api/jobs/{film}")
    tried = admin.post(f"/api/jobs/{film}/retry", headers=headers)

    assert refused["code"] == "CONFLICT"
    assert tried.status_code == 202


def test_priority_is_changed_unless_somebody_was_faster(admin: Visitor, film: str):
    etag = admin.get(f"/api/jobs/{film}").headers["etag"]

    changed = admin.json(
        "PATCH", f"/api/jobs/{film}", json={"priority": "high"}, headers={"If-Match": etag}
    )
    stale = admin.problem(
        "PATCH", f"/api/jobs/{film}", 412, json={"priority": 1}, headers={"If-Match": etag}
    )

    assert changed["priority"] == 8
    assert stale["code"] == "CHANGED_MEANWHILE"


def test_failed_jobs_are_grouped_and_tried_again_together(admin: Visitor, studio: Studio):
    """002-059, 004-023: by error code and step."""
    for number in range(2):
        studio.add(content=f"film {number}".encode())
        held = studio.take("probe")
        record = failure("SOURCE_CORRUPT", "it is damaged", error_type="X", retryable=False)
        report(studio.engine, studio.owner, [Failed(held.id, held.epoch, record)])

    [group] = admin.json("GET", "/api/failed/groups")["items"]
    failed = admin.json("GET", f"/api/jobs/{group['newest']}")
    by_cause = admin.json("GET", "/api/jobs?error_code=SOURCE_CORRUPT&step=probe")["items"]
    tried = admin.json(
        "POST", "/api/failed/groups/retry", code=202, json={"error_code": group["error_code"]}
    )

    assert (group["error_code"], group["step"], group["jobs"]) == ("SOURCE_CORRUPT", "probe", 2)
    assert (group["error"], group["label"]) == ("it is damaged", failed["label"])
    assert group["first_at"] <= group["last_at"]
    assert group["hours"] == [0] * 11 + [2]
    assert len(by_cause) == 2
    assert (failed["error_code"], failed["failed_phase"]) == ("SOURCE_CORRUPT", "init")
    assert len(tried["items"]) == 2
    assert admin.json("GET", "/api/failed/groups")["items"] == []


def test_history_logs_and_reasons_of_a_job(admin: Visitor, film: str):
    events = admin.json("GET", f"/api/jobs/{film}/events")["items"]
    reasons = admin.json("GET", f"/api/jobs/{film}/why")["items"]

    types = [event["type"] for event in events]
    assert types[0] == "job.submitted"
    assert {"job.started", "task.claimed", "task.done"} <= set(types)
    assert all(reason["count"] >= 1 for reason in reasons)
    assert admin.json("GET", f"/api/jobs/{film}/logs")["items"] == []


def test_log_tells_where_files_are_to_admins_only(house: House, studio: Studio):
    """Its owner sees each command and what it said, with the names of the files."""
    user = house.user("ann")
    job_id = studio.add(owner=user.id).job_id
    held = studio.take("probe")
    ran = {
        "task_id": held.id,
        "epoch": held.epoch,
        "type": "ffprobe",
        "command": '["ffprobe", "-i", "file:/srv/o/7/a.mp4"]',
        "started_at": 1,
        "duration_ms": 1,
        "exit_code": 1,
        "stdout": "",
        "stderr": "/srv/o/7/a.mp4: cut",
        "error": None,
    }
    studio.db.transact(lambda tx: tx.run("add_executions", executions=[ran]))

    seen, hers = (
        visitor.json("GET", f"/api/jobs/{job_id}/logs")["items"][0]
        for visitor in (house.admin, house.visitor(house.key(user)))
    )

    assert seen["command"][-1] == "file:/srv/o/7/a.mp4"
    assert (hers["command"], hers["stderr"]) == (["ffprobe", "-i", "file:a.mp4"], "a.mp4: cut")


@pytest.mark.parametrize(
    "method, path, code, options",
    [
        ("GET", "/api/jobs/00000000-0000-7000-8000-000000000000", 404, {}),
        ("DELETE", "/api/jobs/00000000-0000-7000-8000-000000000000", 404, {}),
        ("GET", "/api/jobs/..%2f..%2fetc", 404, {}),
        ("GET", "/api/jobs/%00", 404, {}),
        ("GET", "/api/jobs/" + "x" * 10_000, 404, {}),
        ("GET", "/api/jobs?status=cancelled", 422, {}),
        ("GET", "/api/jobs?limit=0", 422, {}),
        ("GET", "/api/audit?before=61447736452962677117943808", 422, {}),
        ("POST", "/api/jobs/{film}/retry", 422, {"json": {"task_id": 10**30}}),
        ("GET", "/api/jobs?limit=1000000000", 422, {}),
        ("GET", "/api/jobs?cursor=forged", 422, {}),
        ("GET", "/api/jobs?cursor=", 422, {}),
        ("GET", "/api/jobs?cursor=00000000", 422, {}),
        ("PATCH", "/api/jobs/{film}", 422, {"json": {"priority": 11}}),
        ("PATCH", "/api/jobs/{film}", 422, {"json": {}}),
        ("PATCH", "/api/jobs/{film}", 422, {"json": {"priority": 1, "owner": "bob"}}),
        ("PATCH", "/api/jobs/{film}", 422, {"json": [1]}),
        ("PATCH", "/api/jobs/{film}", 400, {"content": b"{", "headers": JSON}),
        ("POST", "/api/jobs/{film}/kill", 422, {"json": {"reason": "x" * 501}}),
        ("POST", "/api/jobs/{film}/kill", 422, {"json": {"reason": "\x00"}}),
        ("POST", "/api/jobs/{film}/kill", 422, {"headers": {"Idempotency-Key": "x" * 10_000}}),
        ("POST", "/api/jobs/{film}/retry", 422, {"json": {"task_id": "one"}}),
        ("PUT", "/api/jobs/{film}", 405, {}),
        ("POST", "/api/jobs/{film}/kill", 413, {"content": b"x" * 1_000_001}),
        ("POST", "/api/jobs/{film}/kill", 415, {"headers": {"Content-Encoding": "gzip"}}),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
)
def test_wrong_request_is_one_problem_and_changes_nothing(
    admin: Visitor, film: str, method: str, path: str, code: int, options
):
    """B-HTTP-2, B-HTTP-3, B-HTTP-5, B-HTTP-6, B-HTTP-8: a status, a code, a sentence."""
    before = admin.json("GET", f"/api/jobs/{film}")

    admin.problem(method, path.format(film=film), code, **options)

    assert admin.json("GET", f"/api/jobs/{film}")["version"] == before["version"]


def test_jobs_are_found_by_a_part_of_their_name_and_by_how_they_failed(
    admin: Visitor, studio: Studio, film: str
):
    """004-029: `%` and `_` are letters like others."""
    other = studio.add(content=b"another", title="100 % of_it").job_id

    found = {
        wanted: [job["job_id"] for job in admin.json("GET", f"/api/jobs?{wanted}")["items"]]
        for wanted in ("q=A+DAY", "q=%25+of_", "q=100_%25", f"q={film[-12:]}", "error_code=NONE")
    }

    assert [*found.values()] == [[film], [other], [], [film], []]


def test_jobs_that_are_asked_for_by_id_say_what_is_done_for_them(
    admin: Visitor, studio: Studio, film: str
):
    waiting = studio.add(content=b"another").job_id
    admin.json("PATCH", "/api/queues/probe", json={"paused": True, "reason": "lunch"})

    query = f"id={film}&id={waiting}&id=0198c0de-0000-7000-8000-000000000000&id=nonsense"
    items = admin.json("GET", f"/api/jobs?{query}")["items"]

    work = {job["job_id"]: job["work"] for job in items}
    assert work.keys() == {film, waiting}
    assert work[film]["steps"]["transcode"]["done"] == 1
    assert "paused" in work[waiting]["waits_for"]
    assert admin.json("GET", "/api/jobs")["items"][0]["work"] is None


def test_job_tells_its_plan_and_the_log_of_one_task(admin: Visitor, film: str):
    """002-057: the log of a job is there for whoever wants to keep it."""
    job = admin.json("GET", f"/api/jobs/{film}")
    task = job["tasks"][0]["task_id"]

    log = admin.json("GET", f"/api/jobs/{film}/logs?task_id={task}&last=1")["items"]

    assert job["plan"]["playlist"]["after"] == ["probe", "audio", "transcode"]
    assert job["plan"]["transcode"]["weight"] == 60
    assert {line["task_id"] for line in log} <= {task}
