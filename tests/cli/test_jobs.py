"""`rushes jobs …`, each command for people and for programs."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from rushes.domain.graph import Step
from rushes.stages.process import Execution
from rushes.worker.local import LocalSession
from tests.cli.conftest import Cli
from tests.world import World

PAIR = {"split": Step(items=[{}, {}]), "join": Step(after=("split",))}


def failed_job(world: World, code: str = "DISK_FULL") -> str:
    job_id = world.submit(PAIR, label="holiday")
    first, second = world.claim(world.worker(), 2)
    world.complete(first)
    world.fail(second, code, retryable=False)
    return job_id


def test_list_shows_newest_first_with_status_progress_label_and_age(anywhere: Cli, world: World):
    """Shows 004-004, 004-029, 004-038 and 004-039."""
    failed, queued = failed_job(world), world.submit(label="later")

    header, first, second = anywhere("jobs", "list").out.splitlines()

    assert header.split() == ["job", "status", "progress", "what", "age"]
    assert first.split()[:4] == [queued[-8:], "⏳", "queued", "0"]
    assert second.split()[:4] == [failed[-8:], "❌", "failed", "25"]
    assert "test · holiday" in second


def test_list_in_json_has_items_and_a_cursor(anywhere: Cli, world: World):
    made = [world.submit() for _ in range(3)]

    first = anywhere("jobs", "list", "--limit", "2", "--json").json
    rest = anywhere("jobs", "list", "--limit", "2", "--before", first["next_cursor"], "--json").json

    assert [item["job_id"] for item in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


def test_list_can_be_narrowed_by_status_and_kind(anywhere: Cli, world: World):
    failed, _ = failed_job(world), world.submit(kind="other")

    by_status = anywhere("jobs", "list", "--status", "failed", "--json").json["items"]
    by_kind = anywhere("jobs", "list", "--kind", "test", "--json").json["items"]

    assert [item["job_id"] for item in by_status] == [failed]
    assert [item["job_id"] for item in by_kind] == [failed]


def test_empty_list_says_so(anywhere: Cli, world: World):
    assert anywhere("jobs", "list").out == "no jobs\n"


def test_show_tells_steps_failure_hint_and_attempts(anywhere: Cli, world: World):
    """Shows 004-016, 004-023."""
    job_id = failed_job(world)

    page = anywhere("jobs", "show", job_id).out

    assert "❌ failed 25 %  test · holiday" in page
    assert "DISK_FULL in split[1]: it broke" in page
    assert "hint: free space, then retry the job" in page
    assert f"rushes jobs retry {job_id[-8:]}" in page
    assert ["split", "2", "1", "1"] in [line.split() for line in page.splitlines()]
    assert ["join", "1", "1"] in [line.split() for line in page.splitlines()]


def test_show_in_json_has_tasks_with_claim_states_and_attempts(anywhere: Cli, world: World):
    """Shows 000-018…023 and 004-021."""
    job_id = failed_job(world)

    told = anywhere("jobs", "show", job_id, "--json").json

    assert [task["claim_state"] for task in told["tasks"]] == ["completed", "failed", "unclaimed"]
    assert [attempt["outcome"] for attempt in told["attempts"]] == ["done", "failed"]
    assert told["job_type"] == "test"
    assert told["error_code"] == "DISK_FULL"
    assert told["created_at"].endswith("Z")


def test_show_names_the_worker_that_holds_a_task(anywhere: Cli, world: World):
    job_id = world.submit()
    [claim] = world.claim(world.worker("gpu-1"))

    page = anywhere("jobs", "show", "@last").out
    [task] = anywhere("jobs", "show", job_id[:30], "--json").json["tasks"]

    assert "gpu-1" in page
    assert "claimed, lease ends in" in page
    assert (task["worker"], task["claim_state"], task["task_id"]) == ("gpu-1", "claimed", claim.id)


def test_why_gives_one_reason_for_tasks_that_are_alike(anywhere: Cli, world: World):
    job_id = world.submit({"noop": Step(items=[{}] * 3), "join": Step(after=("noop",))})

    page = anywhere("jobs", "why", job_id).out
    told = anywhere("jobs", "why", job_id, "--json").json

    assert "and 2 more like it" in page
    assert "NO_CAPABLE_WORKER: no worker is running" in page
    assert [(item["reason"], item["count"]) for item in told["items"]] == [
        ("NO_CAPABLE_WORKER", 3),
        ("DEPENDENCY", 1),
    ]


def test_why_of_one_task_is_about_that_task(anywhere: Cli, world: World):
    job_id = world.submit(PAIR)
    join = world.tasks(job_id)[-1]

    [item] = anywhere("jobs", "why", job_id, "--task", join.id, "--json").json["items"]

    assert (item["task_id"], item["reason"]) == (join.id, "DEPENDENCY")


def test_why_of_a_job_that_is_over_says_so(anywhere: Cli, world: World):
    job_id = world.submit()
    world.kill(job_id)

    assert "nothing waits: the job is killed" in anywhere("jobs", "why", job_id).out
    assert anywhere("jobs", "why", job_id, "--json").json["items"] == []


def test_events_tell_the_story_of_a_job(anywhere: Cli, world: World):
    job_id = failed_job(world)

    lines = anywhere("jobs", "events", job_id).out.splitlines()
    told = anywhere("jobs", "events", job_id, "--json").lines

    types = [event["type"] for event in told]
    assert types[0] == "job.submitted"
    assert types[-1] == "job.failed"
    assert [line.split()[2] for line in lines] == types
    assert any("worker=ann" in line for line in lines)


def test_events_tell_of_tasks_that_a_result_planned(anywhere: Cli, world: World):
    """002-001: each task by its number, whatever happened to it."""
    job_id = world.submit({"split": Step(), "part": Step(after=("split",), each="values")})
    [claim] = world.claim(world.worker())
    world.complete(claim, {"values": [{}, {}, {}]})

    lines = anywhere("jobs", "events", job_id).out.splitlines()

    _, _, second, third = (task.id for task in world.tasks(job_id))
    [planned] = [line for line in lines if "task.added" in line]
    assert planned.endswith(f"tasks {second}, {third}  step=part")


def test_events_of_one_task_leave_the_others_out(anywhere: Cli, world: World):
    job_id = failed_job(world)
    join = world.tasks(job_id)[-1]

    told = anywhere("jobs", "events", job_id, "--task", join.id, "--json").lines

    assert [event["type"] for event in told] == ["task.skipped"]


def test_following_events_ends_with_the_job(anywhere: Cli, world: World):
    job_id = world.submit()
    owner = world.worker()
    finish = threading.Timer(0.3, lambda: world.complete(world.claim(owner)[0]))

    finish.start()
    told = anywhere("jobs", "events", job_id, "--follow", "--json").lines
    finish.join()

    assert [event["type"] for event in told] == [
        "job.submitted",
        "task.claimed",
        "job.started",
        "task.done",
        "job.completed",
    ]


def test_logs_show_lines_and_programs_in_order(anywhere: Cli, world: World):
    job_id = world.submit()
    [claim] = world.claim(world.worker())
    record(world, claim)

    page = anywhere("jobs", "logs", job_id).out
    told = anywhere("jobs", "logs", job_id, "--json").lines

    assert "run    #1  ffmpeg -version  (exit 1 after 0.2 s)" in page
    assert "stderr: no such file" in page
    assert 'warn   noop #1  disk is slow  {"mb_s": 3}' in page
    assert [entry["type"] for entry in told] == ["execution", "log"]
    assert told[0]["command"] == ["ffmpeg", "-version"]


def test_retry_runs_only_what_did_not_succeed(anywhere: Cli, world: World):
    job_id = failed_job(world)

    answer = anywhere("jobs", "retry", job_id)

    assert answer.out == f"{job_id}: 2 tasks to run again\n"
    assert world.states(job_id) == {"split": ["done", "ready"], "join": ["new"]}


def test_retry_of_one_kind_or_task_leaves_the_rest(anywhere: Cli, world: World):
    job_id = world.submit({"noop": Step(), "part": Step()})
    noop, part = world.claim(world.worker(), 2)
    for claim in (noop, part):
        world.fail(claim, retryable=False)

    anywhere("jobs", "retry", job_id, "--only", noop.kind)

    assert world.states(job_id) == {noop.step: ["ready"], part.step: ["error"]}
    assert anywhere("jobs", "retry", job_id, "--task", part.id, "--json").json["jobs"] == [
        {"job_id": job_id, "tasks": 1}
    ]


def test_retry_by_code_takes_every_job_that_failed_with_it(anywhere: Cli, world: World):
    full, other = failed_job(world), failed_job(world, "TOOL_FAILED")

    told = anywhere("jobs", "retry", "--code", "DISK_FULL", "--json").json

    assert told == {"dry_run": False, "jobs": [{"job_id": full, "tasks": 2}], "refused": []}
    assert world.job(other).status == "failed"
    assert "no job has" in anywhere("jobs", "retry", "--code", "GPU_OOM").out


def test_retry_by_code_goes_on_after_a_job_that_is_refused(anywhere: Cli, world: World):
    replaced = world.submit(dedupe_key="film")
    [claim] = world.claim(world.worker())
    world.fail(claim, "DISK_FULL", retryable=False)
    fine = failed_job(world)
    world.submit(dedupe_key="film")

    answer = anywhere("jobs", "retry", "--code", "DISK_FULL", "--json")

    assert answer.code == 10
    assert [entry["job_id"] for entry in answer.json["refused"]] == [replaced]
    assert [entry["job_id"] for entry in answer.json["jobs"]] == [fine]


def test_dry_run_of_retry_counts_and_changes_nothing(anywhere: Cli, world: World):
    job_id = failed_job(world)

    one = anywhere("jobs", "retry", job_id, "--dry-run")
    many = anywhere("jobs", "retry", "--code", "DISK_FULL", "--dry-run", "--json")

    assert one.out == f"{job_id}: 2 tasks would run again\n"
    assert many.json["jobs"] == [{"job_id": job_id, "tasks": 2}]
    assert world.job(job_id).status == "failed"


def test_kill_stops_the_job_and_says_who_did_it(anywhere: Cli, world: World):
    """Shows 004-013, 004-015, 004-024 and 004-042."""
    job_id = world.submit(PAIR)
    first, second = world.claim(world.worker(), 2)
    world.complete(first)

    told = anywhere("jobs", "kill", job_id, "--reason", "wrong file", "--json").json

    assert told["status"] == "killed"
    assert told["killed_by"] == "user"
    assert told["killed_reason"] == "wrong file"
    assert told["progress_at_kill"] == {"processed": 1, "total": 3}
    assert told["tasks_stopped"] == 2
    assert not world.complete(second)
    assert "killed by user:" in anywhere("jobs", "show", job_id).out


def test_killing_twice_is_harmless(anywhere: Cli, world: World):
    job_id = world.submit()
    anywhere("jobs", "kill", job_id, "--reason", "first")

    again = anywhere("jobs", "kill", job_id, "--reason", "second")

    assert (again.code, again.out[:1]) == (0, "🛑")
    assert world.job(job_id).killed_reason == "first"


def test_dry_run_of_kill_counts_and_changes_nothing(anywhere: Cli, world: World):
    job_id = world.submit(PAIR)

    assert (
        anywhere("jobs", "kill", job_id, "--dry-run").out == f"{job_id}: 3 tasks would be stopped\n"
    )
    assert world.job(job_id).status == "queued"


@pytest.mark.parametrize("word, number", [("urgent", 10), ("low", 2), ("7", 7)])
def test_priority_takes_names_and_numbers(anywhere: Cli, world: World, word: str, number: int):
    job_id = world.submit()

    assert anywhere("jobs", "priority", job_id, word).out == f"{job_id}: priority {number}\n"
    assert anywhere("jobs", "show", job_id, "--json").json["priority"] == number


def test_wait_answers_when_the_job_is_over(anywhere: Cli, world: World):
    job_id = world.submit()
    owner = world.worker()
    finish = threading.Timer(0.2, lambda: world.complete(world.claim(owner)[0], "yes"))
    began = time.monotonic()

    finish.start()
    answer = anywhere("jobs", "wait", job_id, "--timeout", "20", "--json")
    finish.join()

    assert (answer.code, answer.json["result"]) == (0, "yes")
    assert time.monotonic() - began < 10


def test_text_of_a_job_cannot_steer_the_terminal(anywhere: Cli, world: World):
    world.submit(label="evil\x1b[2J\x07name")

    for page in (anywhere("jobs", "list").out, anywhere("jobs", "show", "@last").out):
        assert "\x1b" not in page
        assert "\x07" not in page


@pytest.mark.parametrize(
    "terminal, variable, option, coloured",
    [
        (True, "", (), True),
        (False, "", (), False),
        (True, "1", (), False),
        (True, "", ("--no-color",), False),
    ],
    ids=["terminal", "pipe", "NO_COLOR", "--no-color"],
)
def test_colours_are_for_terminals(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch, terminal, variable, option, coloured
):
    """Shows 004-038 on the command line: the word is always there, the colour helps."""
    world.submit()
    monkeypatch.setenv("NO_COLOR", variable)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)

    page = cli(*option, "jobs", "list").out

    assert "queued" in page
    assert ("\x1b[" in page) is coloured


def record(world: World, claim) -> None:
    program = Execution(
        type="shell",
        command=("ffmpeg", "-version"),
        started_at=1_767_268_800_000,
        duration_ms=200,
        exit_code=1,
        stdout="",
        stderr="no such file\n",
    )
    line = {
        "task_id": claim.id,
        "epoch": claim.epoch,
        "level": "warn",
        "message": "disk is slow",
        "metadata": '{"mb_s": 3}',
    }
    LocalSession(world.engine, claim.owner).record(claim, [program], [line])
