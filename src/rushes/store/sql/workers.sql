-- Statements on `workers`, `pauses` and `loops`.

-- fragment: worker_columns
workers.id, workers.name, workers.owner, workers.type, workers.mode, workers.hostname, workers.version, workers.lanes,
workers.capabilities, workers.kinds, workers.metadata, workers.started_at, workers.last_heartbeat, workers.offline_at,
workers.tasks_done, workers.tasks_failed, workers.cpu_percent, workers.memory_percent

-- name: register
-- A new worker, or a new start of a known one. What an operator disabled stays disabled. With :live_ms
-- no row comes back if a worker of that name was heard of since.
INSERT INTO workers (id, name, owner, type, mode, hostname, version, lanes, offers, capabilities, kinds, metadata,
                     registered_at, started_at, last_heartbeat)
VALUES (:id, :name, :owner, :type, 'active', :hostname, :version, :lanes, :offers, :capabilities, :kinds, :metadata,
        {now}, {now}, {now})
    ON CONFLICT (name) DO UPDATE
   SET owner = excluded.owner, type = excluded.type, hostname = excluded.hostname, version = excluded.version,
       mode = CASE WHEN workers.mode = 'disabled' THEN 'disabled' ELSE 'active' END,
       lanes = excluded.lanes, offers = excluded.offers, capabilities = excluded.capabilities, kinds = excluded.kinds,
       metadata = excluded.metadata, started_at = {now}, last_heartbeat = {now}, offline_at = NULL,
       cpu_percent = NULL, memory_percent = NULL
 WHERE CAST(:live_ms AS bigint) IS NULL OR workers.mode = 'stopped' OR workers.last_heartbeat <= {now} - :live_ms
RETURNING id, mode

-- name: heartbeat
-- Presence. No row back: another process has taken the worker's name, or it was deleted.
UPDATE workers
   SET last_heartbeat = {now},
       cpu_percent = coalesce(:cpu_percent, cpu_percent),
       memory_percent = coalesce(:memory_percent, memory_percent)
 WHERE owner = :owner
RETURNING mode, offline_at

-- name: lock_worker
SELECT offers, metadata
  FROM workers
 WHERE owner = :owner
   FOR UPDATE  --@postgres

-- name: set_room
UPDATE workers SET offers = :offers, metadata = :metadata WHERE owner = :owner

-- name: mark_online
UPDATE workers SET offline_at = NULL WHERE owner = :owner AND offline_at IS NOT NULL RETURNING name, owner

-- name: mark_offline
-- Re-checks the silence in the update itself: a heartbeat in between wins.
UPDATE workers
   SET offline_at = {now}
 WHERE offline_at IS NULL
   AND mode <> 'stopped'
   AND last_heartbeat < {now} - :offline_ms
RETURNING name, owner

-- name: stop_worker
UPDATE workers SET mode = CASE WHEN mode = 'disabled' THEN 'disabled' ELSE 'stopped' END, last_heartbeat = {now}
 WHERE owner = :owner
RETURNING name

-- name: set_mode
UPDATE workers SET mode = :mode WHERE id = :id AND mode IN (SELECT mode FROM {rows:modes(mode text)} AS m) RETURNING name, owner

-- name: count_work
UPDATE workers SET tasks_done = tasks_done + :done, tasks_failed = tasks_failed + :failed WHERE owner = :owner

-- name: list_workers
SELECT {worker_columns},
       CAST((SELECT count(*) FROM tasks WHERE tasks.state = 'running' AND tasks.finished_at IS NULL AND tasks.lease_owner = workers.owner) AS integer) AS load,
       {now} AS now
  FROM workers
 ORDER BY workers.name

-- name: held_tasks
-- What every worker works on, with the job that it is for.
SELECT tasks.lease_owner AS owner, tasks.id AS task_id, tasks.job_id, jobs.label, tasks.step, tasks.item, tasks.progress,
       tasks.claimed_at, tasks.lease_expires_at
  FROM tasks
  JOIN jobs ON jobs.id = tasks.job_id
 WHERE tasks.state = 'running'
   AND tasks.finished_at IS NULL
 ORDER BY tasks.claimed_at, tasks.id

-- name: lease_owners
-- Processes that hold tasks.
SELECT DISTINCT lease_owner AS owner
  FROM tasks
 WHERE state = 'running'
   AND finished_at IS NULL

-- name: pause
INSERT INTO pauses (kind, paused_by, reason, at) VALUES (:kind, :paused_by, :reason, {now})
    ON CONFLICT (kind) DO UPDATE SET paused_by = excluded.paused_by, reason = excluded.reason, at = excluded.at
RETURNING kind

-- name: resume
DELETE FROM pauses WHERE kind = :kind RETURNING kind

-- name: pauses
SELECT kind, paused_by, reason, at FROM pauses ORDER BY kind

-- name: take_loop
-- The lease of a maintenance loop. It answers only to the holder it was given to.
INSERT INTO loops (name, holder, held_until) VALUES (:name, :holder, {now} + :lease_ms)
    ON CONFLICT (name) DO UPDATE
   SET holder = excluded.holder, held_until = excluded.held_until
 WHERE loops.holder IS NULL OR loops.holder = excluded.holder OR loops.held_until <= {now}
RETURNING holder

-- name: leave_loop
UPDATE loops SET holder = NULL, held_until = NULL WHERE name = :name AND holder = :holder

-- name: loop
SELECT name, holder, held_until, ran_at, grace_until, {now} AS now FROM loops WHERE name = :name

-- name: loops
SELECT name, holder, held_until, ran_at, grace_until, {now} AS now FROM loops ORDER BY name

-- name: set_loop
INSERT INTO loops (name, ran_at, grace_until) VALUES (:name, :ran_at, :grace_until)
    ON CONFLICT (name) DO UPDATE SET ran_at = excluded.ran_at, grace_until = excluded.grace_until

-- name: clock
SELECT {now} AS now
