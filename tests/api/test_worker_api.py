"""`/api/worker/*`: what a worker with a key may do, and everything else that it may not."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from rushes.domain.graph import JobRequest, Step
from rushes.domain.outcome import Done, Failed
from rushes.domain.person import LOCAL
from rushes.engine.submit import submit
from rushes.errors import Permanent
from rushes.library import deliveries, fleet
from rushes.library.deliveries import Held
from rushes.library.library import Library
from rushes.settings import Settings
from rushes.storage.local import LocalStorage
from rushes.store.database import Database
from rushes.worker.files import LocalFiles
from tests.api.house import House, Visitor, open_house
from tests.api.test_health import application
from tests.library.studio import Studio
from tests.world import World, sql

LANES = {"media": 4, "encode": 4, "text": 4}
KINDS = ["probe", "transcode", "audio", "thumbnail", "storyboard", "sample", "ocr", "index"]


class Remote:
    """A worker on another machine: its key, and one start of it."""

    def __init__(self, house: House, name: str = "far", kinds: tuple[str, ...] = ()) -> None:
        token = fleet.invite(house.studio.db, LOCAL, kinds=kinds)
        joined = house.visitor(token).json(
            "POST", "/api/worker/register", code=201, json={"worker_name": name}
        )
        self.key, self.worker_id = joined["api_key"], joined["worker_id"]
        self.visitor = house.visitor(self.key)
        self.owner = self.start()

    def start(self, **told: Any) -> str:
        body = {"lanes": LANES, "kinds": KINDS, "capabilities": ["ocr"], **told}
        owner: str = self.visitor.json("POST", "/api/worker/register", code=201, json=body)["owner"]
        return owner

    def post(self, path: str, *, code: int = 200, **body: Any) -> Any:
        told = {"owner": self.owner, **body}
        return self.visitor.json("POST", f"/api/worker/{path}", code=code, json=told)

    def refused(self, path: str, code: int, **body: Any) -> dict[str, Any]:
        told = {"owner": self.owner, **body}
        return self.visitor.problem("POST", f"/api/worker/{path}", code, json=told)

    def claim(self, **more: Any) -> list[dict[str, Any]]:
        tasks: list[dict[str, Any]] = self.post("claim", want=LANES, **more)["tasks"]
        return tasks

    def put(self, task: dict[str, Any], name: str, content: bytes, **headers: str) -> Any:
        told = {
            "Upload-Length": str(len(content)),
            "Upload-SHA256": hashlib.sha256(content).hexdigest(),
            **headers,
        }
        return self.visitor.put(
            f"/api/worker/artifacts/{task['task_id']}/{task['lease_epoch']}/{name}",
            params={"owner": self.owner},
            headers=told,
            content=content,
        )


def about(task: dict[str, Any]) -> dict[str, Any]:
    return {"task_id": task["task_id"], "lease_epoch": task["lease_epoch"]}


@pytest.fixture
def far(house: House) -> Remote:
    return Remote(house)


@pytest.fixture
def probe(far: Remote, studio: Studio) -> dict[str, Any]:
    """The first task of a film, in the hands of the far worker."""
    studio.add()
    [task] = far.claim()
    return task


def test_machine_joins_with_a_token_once(house: House):
    """000-100…102, 000-105, 000-106: a worker id and a key of 256 bits that is shown once."""
    token = fleet.invite(house.studio.db, LOCAL)
    body = {"worker_name": "far", "capabilities": ["ocr"], "metadata": {"pod": "a"}}

    joined = house.visitor(token).json("POST", "/api/worker/register", code=201, json=body)
    other = house.visitor(token).problem(
        "POST", "/api/worker/register", 401, json={"worker_name": "another"}
    )

    assert joined["api_key"].startswith("rsh_worker_")
    assert other["code"] == "UNAUTHENTICATED"
    [row] = [
        one for one in house.admin.json("GET", "/api/workers")["items"] if one["name"] == "far"
    ]
    assert (row["worker_id"], row["type"], row["metadata"]) == (
        *(joined["worker_id"], "remote"),
        {"pod": "a"},
    )
    secret = joined["api_key"][-43:]
    assert secret not in json.dumps(sql(house.studio.db, "SELECT * FROM keys"), default=str)


def test_join_whose_answer_was_lost_is_repeated(house: House):
    """Every call may be repeated: the key of the first time is good no more."""
    token = fleet.invite(house.studio.db, LOCAL)
    first, again = (
        house.visitor(token).json(
            "POST", "/api/worker/register", code=201, json={"worker_name": "far"}
        )
        for _ in range(2)
    )

    assert first["worker_id"] == again["worker_id"]
    body = {"lanes": LANES}
    house.visitor(first["api_key"]).problem("POST", "/api/worker/register", 401, json=body)
    house.visitor(again["api_key"]).json("POST", "/api/worker/register", code=201, json=body)


def test_admin_secret_registers_only_where_it_is_set(studio: Studio, tmp_path):
    """000-100: `X-Admin-Secret`, off by default."""
    closed, first = open_house(studio, Settings(data=tmp_path))
    secret = SecretStr("a secret of the operator")
    opened, second = open_house(studio, Settings(data=tmp_path, worker_admin_secret=secret))
    send = {"X-Admin-Secret": "a secret of the operator"}
    body = {"worker_name": "far"}

    closed.visitor().problem("POST", "/api/worker/register", 403, json=body, headers=send)
    opened.visitor().problem(
        "POST", "/api/worker/register", 401, json=body, headers={"X-Admin-Secret": "wrong"}
    )
    made = opened.visitor().json("POST", "/api/worker/register", code=201, json=body, headers=send)

    assert made["api_key"]
    for notifier in (first, second):
        notifier.close()


def test_worker_claims_reads_brings_and_completes(far: Remote, studio: Studio, probe):
    """000-046, 000-058, 002-007: the way of a task over HTTP; its params name the original."""
    key = json.loads(probe["params"])["source_key"]
    [source] = far.post("inputs", **about(probe), keys=[key])["items"]
    whole = far.visitor.get(source["url"])
    part = far.visitor.get(source["url"], headers={"Range": "bytes=2-4"})
    stored = far.put(probe, "source.mkv", b"\x1a\x45\xdf\xa3 a film").json()
    orders = far.post("progress", **about(probe), progress=40, phase="probe", moved=True)

    assert whole.content == studio.storage.path(key).read_bytes()
    assert (part.status_code, part.content) == (206, whole.content[2:5])
    assert stored["key"].endswith(f"/{probe['task_id']}-1/source.mkv")
    assert orders["mode"] == "active"
    [row] = sql(studio.db, f"SELECT progress, phase FROM tasks WHERE id = {probe['task_id']}")
    assert (row["progress"], row["phase"]) == (40, "probe")


def test_result_is_accepted_and_its_repetition_answered_the_same(far: Remote, studio: Studio):
    """000-065, 000-066, B-WK-5."""
    job = studio.add().job_id
    studio.do("probe")
    task = next(one for one in far.claim() if one["kind"] == "thumbnail")
    content = b"\xff\xd8\xff a picture"
    stored = far.put(task, "poster.jpg", content).json()
    result = {
        "t_ms": 0,
        "artifacts": [
            ["poster.jpg", stored["key"], len(content), hashlib.sha256(content).hexdigest()]
        ],
    }

    first = far.post("complete", **about(task), result=result)
    again = far.post("complete", **about(task), result=result)

    assert first == again == {"accepted": True}
    done = [one for one in studio_tasks(studio, job) if one["step"] == "thumbnail"]
    assert [one["state"] for one in done] == ["done"]


@pytest.mark.parametrize(
    "lie",
    [
        lambda file: [file[0], file[1], file[2] + 1, file[3]],
        lambda file: [file[0], file[1], file[2], "0" * 64],
        lambda file: [file[0], "originals/x/source.mp4", file[2], file[3]],
        lambda file: [file[0], file[1].replace("poster", "other"), file[2], file[3]],
        lambda file: ["../x.jpg", file[1], file[2], file[3]],
    ],
    ids=range(5),
)
def test_result_that_lies_about_its_files_is_a_failure(far: Remote, studio: Studio, lie):
    """3.3, B-WK-10: nothing is published, and another worker may try."""
    studio.add()
    studio.do("probe")
    task = next(one for one in far.claim() if one["kind"] == "thumbnail")
    content = b"\xff\xd8\xff a picture"
    stored = far.put(task, "poster.jpg", content).json()
    file = ["poster.jpg", stored["key"], len(content), hashlib.sha256(content).hexdigest()]

    far.post("complete", **about(task), result={"t_ms": 0, "artifacts": [lie(file)]})

    [row] = sql(studio.db, f"SELECT state, failure FROM tasks WHERE id = {task['task_id']}")
    assert row["state"] != "done"
    assert not sql(studio.db, "SELECT name FROM artifacts WHERE name LIKE '%poster.jpg'")


def test_file_that_is_not_what_its_name_says_is_refused(far: Remote, studio: Studio):
    """3.3: a picture that is a page."""
    studio.add()
    studio.do("probe")
    task = next(one for one in far.claim() if one["kind"] == "thumbnail")
    content = b"<html><script>alert(1)</script>"
    key = far.put(task, "poster.jpg", content).json()["key"]
    file = ["poster.jpg", key, len(content), hashlib.sha256(content).hexdigest()]

    far.post("complete", **about(task), result={"t_ms": 0, "artifacts": [file]})

    [row] = sql(studio.db, f"SELECT state, failure FROM tasks WHERE id = {task['task_id']}")
    assert "OUTPUT_INVALID" in row["failure"]


def test_result_cannot_open_files_for_the_next_task(far: Remote, studio: Studio, house: House):
    """B-WK-12: a key in a result would let the task after it read that file."""
    studio.add(text=True)
    studio.do("probe")
    studio.do("sample")
    task = next(one for one in far.claim() if one["kind"] == "ocr")
    content = b'{"t_ms": 0}\n'
    stored = far.put(task, "text/000000000.jsonl", content).json()
    file = [
        "text/000000000.jsonl",
        stored["key"],
        len(content),
        hashlib.sha256(content).hexdigest(),
    ]
    result = {"key": "originals/other/source.mp4", "until_ms": 1, "lost": 0, "artifacts": [file]}

    far.post("complete", **about(task), result=result)

    [row] = sql(studio.db, f"SELECT state FROM tasks WHERE id = {task['task_id']}")
    assert row["state"] != "done"


def test_result_without_fields_opens_nothing_either(far: Remote, studio: Studio):
    """B-WK-12: whatever the form of a result, the keys in it are its own."""
    studio.add()
    probe = studio.take("probe")
    held = Held(owner=studio.owner, task_id=probe.id, epoch=probe.epoch)
    told = Done(held.task_id, held.epoch, json.dumps(["originals/other/source.mp4"]))

    assert isinstance(deliveries.checked(studio.library, studio.owner, told), Failed)


def test_worker_reads_nothing_but_originals_and_what_tasks_made(far: Remote, studio: Studio):
    """B-WK-12: not the files that are laid out to be played, whatever a result says of them."""
    studio.add()
    held = studio.do("probe")
    key = "assets/other/v1/360p/00000.m4s"
    secret = studio.storage.path(key)
    secret.parent.mkdir(parents=True)
    secret.write_bytes(b"a film of somebody else")
    sql(studio.db, f"UPDATE tasks SET result = json_set(result, '$.work_key', '{key}')")
    task = next(one for one in far.claim() if one["kind"] == "thumbnail")

    refused = far.refused("inputs", 403, **about(task), keys=[key])

    assert refused["code"] == "FORBIDDEN"
    with pytest.raises(Permanent, match="missing"):
        LocalFiles(studio.storage, held).fetch(key)


def test_failure_is_kept_short_and_clean(far: Remote, studio: Studio, probe):
    """000-080…083, B-WK-11: whatever a worker says, it fits and harms nobody."""
    error = "\x1b[31m<b>" + "x" * 1_000_000 + "\x00"

    far.post("fail", **about(probe), error=error, error_code="TOOL_FAILED")
    far.post("fail", **about(probe), error=error, error_code="TOOL_FAILED")

    [row] = sql(
        studio.db, f"SELECT state, failure, attempt FROM tasks WHERE id = {probe['task_id']}"
    )
    assert (row["state"], row["attempt"]) == ("new", 1)
    assert len(row["failure"]) < 20_000
    assert "\x00" not in row["failure"]


def test_heartbeat_says_which_tasks_are_gone(far: Remote, studio: Studio, probe):
    """000-060: killed, or somebody else's."""
    other = {"task_id": probe["task_id"], "lease_epoch": probe["lease_epoch"] + 1}

    alive = far.post("heartbeat", tasks=[about(probe)], free_bytes=10**12)
    lost = far.post("heartbeat", tasks=[other])

    assert alive == {"mode": "active", "gone": {}}
    assert lost["gone"] == {str(probe["task_id"]): "lost"}


def test_heartbeat_tells_how_busy_the_machine_is(far: Remote, admin: Visitor):
    """A heartbeat without it changes nothing."""

    def told() -> tuple[int | None, int | None]:
        page = admin.json("GET", "/api/workers")["items"]
        [worker] = [one for one in page if one["worker_id"] == far.worker_id]
        return worker["cpu_percent"], worker["memory_percent"]

    before = told()
    far.post("heartbeat", cpu_percent=70, memory_percent=40)
    far.post("heartbeat")

    assert (before, told()) == ((None, None), (70, 40))
    assert far.refused("heartbeat", 422, cpu_percent=101)["code"] == "INVALID_INPUT"


def test_worker_without_room_is_given_nothing_that_writes(far: Remote, studio: Studio):
    far.post("heartbeat", free_bytes=1, reserve_bytes=10)
    studio.add()

    assert far.claim() == []
    far.post("heartbeat", free_bytes=100, reserve_bytes=10)
    assert [task["kind"] for task in far.claim()] == ["probe"]


def test_full_disk_of_the_server_stops_workers_elsewhere_as_well(studio: Studio, tmp_path: Path):
    """F-DK-1: what they made would have no place; they go on when there is room again."""
    roomy, settings = studio.library, Settings(data=tmp_path / "data")
    near, first = open_house(studio, settings)
    studio.library = replace(roomy, reserve_bytes=1 << 62)
    full, second = open_house(studio, settings)
    studio.library = roomy
    far = Remote(near)
    studio.add()

    far.visitor = full.visitor(far.key)
    far.post("heartbeat")
    before = far.claim()
    far.visitor = near.visitor(far.key)
    far.post("heartbeat")
    after = far.claim()

    assert (before, [task["kind"] for task in after]) == ([], ["probe"])
    for notifier in (first, second):
        notifier.close()


def test_answer_that_was_lost_gives_its_claims_back(far: Remote, studio: Studio, probe):
    """Claims that the worker never heard of are free at once."""
    [again] = far.claim(held=[])

    assert again["task_id"] == probe["task_id"]
    assert again["lease_epoch"] == probe["lease_epoch"] + 1
    assert again["attempt"] == probe["attempt"]


def test_claim_waits_until_there_is_work(far: Remote, studio: Studio):
    """A long poll: no thread and no connection is held meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(far.claim, wait=20)
        time.sleep(0.3)
        assert not asked.done()
        studio.add()
        [task] = asked.result(10)

    assert task["kind"] == "probe"


def test_task_that_prefers_a_gpu_is_left_to_an_idle_one_for_a_while(
    db: Database, world: World, tmp_path
):
    """000-056, 000-115, 000-150: across machines; a GPU that is gone delays nobody for long."""
    library = Library(engine=world.engine, storage=LocalStorage(tmp_path), reserve_bytes=0)
    house = House(Studio(db, tmp_path), application(library))
    told = {"lanes": {"default": 1}, "kinds": ["encode"]}
    plain, gifted = Remote(house, "cpu"), Remote(house, "gpu")
    plain.owner, gifted.owner = plain.start(**told), gifted.start(**told, capabilities=["gpu"])
    submit(world.engine, JobRequest(kind="test", steps={"encode": Step()}))

    left = plain.post("claim", want={"default": 1})["tasks"]
    [taken] = gifted.post("claim", want={"default": 1})["tasks"]
    gifted.visitor.post("/api/worker/leave", json={"owner": gifted.owner})
    [then] = plain.post("claim", want={"default": 1})["tasks"]

    assert left == []
    assert (taken["kind"], then["task_id"]) == ("encode", taken["task_id"])


def test_new_start_takes_over_and_the_old_one_is_told(far: Remote, probe):
    """R14: the same key, another process; what the first one holds stays its own until it ends."""
    far.start()

    assert far.refused("claim", 409, want=LANES)["code"] == "WORKER_REPLACED"
    assert far.refused("heartbeat", 409)["code"] == "WORKER_REPLACED"


def test_old_worker_is_told_clearly(house: House, far: Remote):
    told = far.visitor.problem(
        "POST", "/api/worker/register", 409, json={"lanes": LANES, "protocol": 0}
    )

    assert told["code"] == "WORKER_TOO_OLD"
    assert "install" in told["hint"]


def test_worker_that_leaves_gives_everything_back(far: Remote, studio: Studio, probe):
    """003-051."""
    assert far.visitor.post("/api/worker/leave", json={"owner": far.owner}).status_code == 204

    [row] = sql(studio.db, f"SELECT state, attempt FROM tasks WHERE id = {probe['task_id']}")
    assert (row["state"], row["attempt"]) == ("ready", 0)


def test_revoked_key_is_refused_at_once(far: Remote, house: House, probe):
    """000-107, B-WK-2: the task is freed by its lease; files are refused."""
    fleet.revoke_key(house.studio.db, LOCAL, "far")

    far.refused("heartbeat", 401, tasks=[about(probe)])
    far.refused("complete", 401, **about(probe), result=None)
    assert far.put(probe, "a.jpg", b"x").status_code == 401


def test_whoever_has_no_good_key_is_sent_away(far: Remote, house: House, caplog):
    """000-107, B-WK-1: none, a wrong one, another secret; then slower; and no log has the key."""
    other = "rsh_worker_0123456789_" + "A" * 43
    told = {"owner": far.owner, "want": {}}
    for key in (None, "nonsense", other, far.key[:-43] + "A" * 43):
        refused = house.visitor(key).problem("POST", "/api/worker/claim", 401, json=told)
        assert "hint" in refused

    for _ in range(9):
        house.visitor(other).post("/api/worker/claim", json=told)

    limited = house.visitor(other).post("/api/worker/claim", json=told)
    assert (limited.status_code, limited.json()["code"]) == (429, "RATE_LIMITED")
    assert "A" * 43 not in caplog.text
    assert far.claim() == []


def test_flood_of_machines_is_slowed_down(house: House):
    """B-WK-13: nobody joins without a token, and nobody joins a hundred times a minute."""
    body = {"worker_name": "far"}
    house.visitor().problem("POST", "/api/worker/register", 401, json=body)
    person = house.visitor(house.key(house.user("ann")))
    person.problem("POST", "/api/worker/register", 401, json=body)
    token = fleet.invite(house.studio.db, LOCAL)

    codes = [
        house.visitor(token).post("/api/worker/register", json=body).status_code for _ in range(62)
    ]

    assert codes == [201] * 60 + [429] * 2
    assert len(sql(house.studio.db, "SELECT * FROM workers WHERE name = 'far'")) == 1


def test_key_of_another_worker_opens_nothing(far: Remote, house: House, probe):
    """B-WK-3: worker B with the task and the epoch of worker A."""
    other = Remote(house, "other")

    for path, body in {
        "complete": {"result": None},
        "fail": {"error": "x"},
        "progress": {},
        "results": {},
        "record": {},
        "inputs": {"keys": [json.loads(probe["params"])["source_key"]]},
    }.items():
        told = {**about(probe), **body}
        other.refused(path, 403, **{**told, "owner": far.owner})
        assert other.visitor.post(
            f"/api/worker/{path}", json={"owner": other.owner, **told}
        ).status_code in (404, 409)
    deeds = house.admin.json("GET", "/api/audit")["items"]
    assert {deed["action"] for deed in deeds if deed["result"] == "refused"} == {"foreign_lease"}


@pytest.mark.parametrize("epoch", [0, -1, 2, 2**63, "one", None, 1.5])
def test_wrong_epoch_changes_nothing(far: Remote, studio: Studio, probe, epoch):
    """B-WK-4."""
    told = {"task_id": probe["task_id"], "lease_epoch": epoch}
    answer = far.visitor.post(
        "/api/worker/complete", json={"owner": far.owner, **told, "result": None}
    )

    assert answer.status_code in (409, 422)
    [row] = sql(studio.db, f"SELECT state FROM tasks WHERE id = {probe['task_id']}")
    assert row["state"] == "running"


@pytest.mark.parametrize("task_id", [999, 0, -5, 2**80, "x"])
def test_forged_task_is_not_there(far: Remote, task_id):
    """B-WK-6."""
    told = {"owner": far.owner, "task_id": task_id, "lease_epoch": 1}
    answer = far.visitor.post("/api/worker/results", json=told)

    assert answer.status_code in (404, 422)


def test_worker_key_opens_no_door_of_people(far: Remote):
    """B-WK-7: neither reading nor changing, not even its own key."""
    for method, path in (
        ("GET", "/api/videos"),
        ("GET", "/api/jobs"),
        ("GET", "/api/workers"),
        ("POST", "/api/keys"),
        ("GET", "/api/events"),
        ("POST", f"/api/workers/{far.worker_id}/keys"),
        ("GET", "/api/health"),
    ):
        answer = far.visitor.request(method, path, json={"name": "x", "scopes": ["admin"]})
        assert answer.status_code in (401, 403), (path, answer.status_code)


def test_keys_of_people_do_no_work(house: House):
    for visitor in (house.admin, house.visitor(house.key(house.user("ann"))), house.visitor()):
        visitor.problem("POST", "/api/worker/claim", 401, json={"owner": "far#1", "want": {}})


@pytest.mark.parametrize(
    "told",
    [
        {"metadata": {"x": "y" * 11_000}},
        {"metadata": []},
        {"capabilities": ["x" * 201]},
        {"capabilities": [f"c{n}" * 20 for n in range(900)]},
        {"lanes": {"media": 0}},
        {"lanes": {"media": 10**9}},
        {"lanes": {}},
        {"kinds": "probe"},
    ],
    ids=range(8),
)
def test_introduction_that_is_too_much_is_refused(far: Remote, told):
    """000-103, B-WK-8."""
    body = {"lanes": LANES, **told}
    far.visitor.problem("POST", "/api/worker/register", 422, json=body)


def test_key_for_one_kind_is_given_nothing_else(house: House, studio: Studio):
    """000-107: and cannot read the original that others work on."""
    reader = Remote(house, "reader", kinds=("ocr",))
    added = studio.add()
    key = studio.asset(added.asset_id).source_key

    assert reader.claim() == []
    held = studio.take("probe")
    reader.refused("inputs", 409, task_id=held.id, lease_epoch=held.epoch, keys=[key])


def test_worker_reads_only_what_its_task_names(far: Remote, studio: Studio, probe):
    """B-WK-12."""
    theirs = studio.add(content=b"another film")
    key = studio.asset(theirs.asset_id).source_key
    for wrong in (key, "rushes.db", "../rushes.db", "originals", "", "/etc/passwd"):
        answer = far.visitor.post(
            "/api/worker/inputs", json={"owner": far.owner, **about(probe), "keys": [wrong]}
        )
        assert answer.status_code in (403, 422), wrong


def test_address_of_a_file_ends_with_the_task(far: Remote, studio: Studio, probe, monkeypatch):
    """B-WK-12: bound to task, epoch and time; a changed one is worth nothing."""
    key = json.loads(probe["params"])["source_key"]
    [source] = far.post("inputs", **about(probe), keys=[key])["items"]
    assert far.visitor.get(source["url"]).status_code == 200

    assert far.visitor.get(source["url"][:-2] + "xx").status_code == 403
    later = time.time_ns() + 16 * 60 * 10**9
    monkeypatch.setattr(deliveries.time, "time_ns", lambda: later)
    assert far.visitor.get(source["url"]).status_code == 403
    monkeypatch.undo()
    far.post("fail", **about(probe), error="x")
    assert far.visitor.get(source["url"]).status_code == 409


@pytest.mark.parametrize(
    "name",
    [
        *("../x.jpg", "a/../../x.jpg", ".hidden", "a//b.jpg", "a\\b.jpg", "x" * 300, "a.part"),
        *("%2e%2e%2fx.jpg", "a%00b.jpg", "/etc/x.jpg", "é.jpg"),
    ],
)
def test_name_of_a_file_is_plain_or_refused(far: Remote, studio: Studio, probe, name: str):
    """3.3."""
    answer = far.put(probe, name, b"x")

    assert answer.status_code in (404, 405, 422), answer.text
    assert not [*studio.storage.root.rglob("x.jpg")]


def test_file_goes_on_where_it_was_cut(far: Remote, probe):
    """Resumable, and checked at the end."""
    content = b"\xff\xd8\xff" + b"p" * 1000
    place = f"/api/worker/artifacts/{probe['task_id']}/{probe['lease_epoch']}/a.jpg"
    told = {
        "Upload-Length": str(len(content)),
        "Upload-SHA256": hashlib.sha256(content).hexdigest(),
    }
    first = far.visitor.put(place, params={"owner": far.owner}, headers=told, content=content[:400])
    there = far.visitor.json("GET", place, params={"owner": far.owner})
    wrong = far.visitor.put(
        place, params={"owner": far.owner}, headers={**told, "Upload-Offset": "7"}, content=b"x"
    )
    rest = far.visitor.put(
        place,
        params={"owner": far.owner},
        headers={**told, "Upload-Offset": "400"},
        content=content[400:],
    )
    again = far.put(probe, "a.jpg", content)
    other = far.put(probe, "a.jpg", b"something else")

    assert first.json() == {"offset": 400, "key": None}
    assert there == {"offset": 400, "key": None}
    assert wrong.status_code == 409
    assert rest.json()["key"]
    assert again.json() == rest.json()
    assert other.status_code == 409


def test_file_that_was_damaged_on_the_way_is_forgotten(far: Remote, probe):
    wrong = far.put(probe, "a.jpg", b"right", **{"Upload-SHA256": "0" * 64})
    again = far.put(probe, "a.jpg", b"right")

    assert wrong.status_code == 422
    assert again.json()["key"]


def test_files_may_come_as_an_archive(far: Remote, studio: Studio, probe):
    """000-072."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("a.jpg", "b/c.jpg"):
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"\xff\xd8\xff" + name[:1].encode()))

    stored = far.visitor.post(
        f"/api/worker/artifacts/{probe['task_id']}/{probe['lease_epoch']}",
        params={"owner": far.owner},
        headers={"Content-Type": "application/gzip"},
        content=buffer.getvalue(),
    ).json()

    assert [studio.storage.path(one["key"]).read_bytes() for one in stored] == [
        b"\xff\xd8\xffa",
        b"\xff\xd8\xffb",
    ]


def test_flood_of_progress_keeps_the_lease(far: Remote, studio: Studio, probe):
    """B-WK-9: it never falls, and wrong numbers are refused."""
    for percent in (50, 20, 70):
        far.post("progress", **about(probe), progress=percent)
    for wrong in (-1, 101, "NaN"):
        far.refused("progress", 422, **about(probe), progress=wrong)

    [row] = sql(studio.db, f"SELECT progress FROM tasks WHERE id = {probe['task_id']}")
    assert row["progress"] == 70


def test_what_a_stage_ran_and_said_is_kept(far: Remote, house: House, probe):
    run = {
        "type": "ffmpeg",
        "command": ["ffmpeg", "-i", "x"],
        "started_at": 1,
        "duration_ms": 2,
        "exit_code": 1,
        "stdout": "",
        "stderr": "no",
    }
    sent = {"executions": [run], "logs": [{"level": "info", "message": "hello"}]}

    far.visitor.post("/api/worker/record", json={"owner": far.owner, **about(probe), **sent})

    logs = house.admin.json("GET", f"/api/jobs/{probe['job_id']}/logs")["items"]
    assert {"hello"} == {line["message"] for line in logs if "message" in line}
    assert len(logs) == 2


def studio_tasks(studio: Studio, job_id: str) -> list[dict[str, Any]]:
    return sql(studio.db, f"SELECT step, state FROM tasks WHERE job_id = '{job_id}'")


def test_worker_says_what_it_holds(house: House, probe: dict[str, Any]):
    [row] = [one for one in house.admin.json("GET", "/api/workers")["items"] if one["load"]]
    alone = house.admin.json("GET", f"/api/workers/{row['worker_id']}")

    [held] = row["holds"]
    assert (held["task_id"], held["step"]) == (probe["task_id"], "probe")
    assert held["label"] == house.admin.json("GET", f"/api/jobs/{held['job_id']}")["label"]
    assert held["lease_expires_at"] > held["claimed_at"]
    assert alone["holds"] == [held]
