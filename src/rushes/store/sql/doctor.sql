-- What `rushes doctor` asks. Each check returns the rows that break it: `id`, and a `detail`
-- where one helps. Those of the first part walk the small indexes of a live system; those of
-- the second look at the jobs they are given; those of the third read everything.

-- name: doctor_snapshot
-- Let all statements of a transaction see one moment: SQLite always does.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ  --@postgres

-- name: doctor_expired
SELECT id, lease_owner AS detail
  FROM tasks
 WHERE state = 'running'
   AND finished_at IS NULL
   AND lease_expires_at < {now} - :expired_ms
   AND NOT EXISTS (SELECT 1 FROM loops WHERE name = 'recovery' AND grace_until > {now})
 ORDER BY id
 LIMIT :n

-- name: doctor_due
SELECT id, NULL AS detail
  FROM tasks
 WHERE state = 'new'
   AND open_parents = 0
   AND run_at < {now} - :due_ms
 ORDER BY run_at
 LIMIT :n

-- name: doctor_overload
-- Kinds that may be claimed ahead of a free slot do not count.
SELECT workers.name AS id, tasks.lane AS detail
  FROM tasks
  JOIN workers ON workers.owner = tasks.lease_owner
 WHERE tasks.state = 'running'
   AND tasks.finished_at IS NULL
   AND tasks.kind NOT IN (SELECT kind FROM {rows:short(kind text)} AS s)
 GROUP BY workers.name, workers.lanes, tasks.lane
HAVING count(*) > coalesce(CAST(workers.lanes ->> tasks.lane AS integer), 0)
 ORDER BY workers.name
 LIMIT :n

-- name: doctor_lanes
-- The lanes that have ready tasks; steps from one to the next instead of reading the queue.
WITH RECURSIVE lanes(lane) AS (
    SELECT min(lane) FROM tasks WHERE state = 'ready'
     UNION ALL
    SELECT (SELECT min(tasks.lane) FROM tasks WHERE tasks.state = 'ready' AND tasks.lane > lanes.lane)
      FROM lanes
     WHERE lanes.lane IS NOT NULL
)
SELECT lane FROM lanes WHERE lane IS NOT NULL

-- name: doctor_heads
-- The head of a lane: what nobody can take stays there when the rest has gone.
SELECT id, kind FROM tasks WHERE state = 'ready' AND lane = :lane ORDER BY due_at, id LIMIT :n

-- name: doctor_open
-- Whether any job is active, and whether any task could move now.
SELECT EXISTS (SELECT 1 FROM jobs WHERE status IN ('queued', 'running')) AS is_open,
       EXISTS (SELECT 1 FROM tasks WHERE state = 'running' AND finished_at IS NULL)
       OR EXISTS (SELECT 1 FROM tasks WHERE state = 'ready')
       OR EXISTS (SELECT 1 FROM tasks WHERE state = 'new' AND open_parents = 0 AND run_at <= {now}) AS is_busy,
       {now} AS now

-- name: doctor_recent
-- The newest active jobs and those that ended last, with their number of tasks.
SELECT recent.id, CAST((SELECT count(*) FROM tasks WHERE tasks.job_id = recent.id) AS integer) AS tasks
  FROM (SELECT id FROM (SELECT id FROM jobs WHERE status = 'running' ORDER BY id DESC LIMIT :n) AS running
         UNION SELECT id FROM (SELECT id FROM jobs WHERE status = 'queued' ORDER BY id DESC LIMIT :n) AS queued
         UNION SELECT id FROM (SELECT id FROM jobs WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT :n) AS ended
       ) AS recent
 ORDER BY recent.id

-- name: doctor_page
SELECT jobs.id, CAST((SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id) AS integer) AS tasks
  FROM jobs
 WHERE jobs.id > :after
 ORDER BY jobs.id
 LIMIT :n

-- name: doctor_counters
SELECT jobs.id, NULL AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN jobs ON jobs.id = j.id
 WHERE jobs.open_tasks <> (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state IN ('new', 'ready', 'running'))
    OR jobs.failed_tasks <> (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state = 'error' AND NOT tasks.optional)
    OR jobs.warnings <> (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state = 'error' AND tasks.optional)
 LIMIT :n

-- name: doctor_unexplained_jobs
SELECT jobs.id, jobs.status AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN jobs ON jobs.id = j.id
 WHERE jobs.status = 'failed' AND (jobs.failure IS NULL OR replace(jobs.failure, '"error_code"', '') = jobs.failure)
    OR jobs.status = 'killed' AND (jobs.killed_by IS NULL OR jobs.killed_at IS NULL OR jobs.killed_reason IS NULL)
 LIMIT :n

-- name: doctor_unexplained_tasks
SELECT tasks.id, tasks.state AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE tasks.state = 'error'
   AND (tasks.failure IS NULL
        OR replace(tasks.failure, '"error_code"', '') = tasks.failure
        OR replace(tasks.failure, '"failed_phase"', '') = tasks.failure)
 LIMIT :n

-- name: doctor_miscounted
SELECT tasks.id, tasks.step AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE tasks.state = 'new'
   AND {miscounted}
 LIMIT :n

-- name: doctor_early
-- An optional parent may be tried again after its child went on without it.
SELECT tasks.id, tasks.state AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE tasks.state IN ('ready', 'running', 'done', 'error')
   AND (tasks.open_parents <> 0
        OR EXISTS (SELECT 1
                     FROM edges
                     JOIN tasks AS parent ON parent.id = edges.parent_id
                    WHERE edges.child_id = tasks.id
                      AND {unsatisfied}
                      AND (NOT parent.optional OR parent.lease_epoch = 0)))
 LIMIT :n

-- name: doctor_completions
-- A task is done by one attempt, that of its last claim; a task that is not done has none.
SELECT tasks.id, tasks.state AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE (SELECT count(*) FROM attempts WHERE attempts.task_id = tasks.id AND attempts.outcome = 'done')
       <> CASE WHEN tasks.state = 'done' THEN 1 ELSE 0 END
    OR tasks.state = 'done'
       AND NOT EXISTS (SELECT 1
                         FROM attempts
                        WHERE attempts.task_id = tasks.id
                          AND attempts.epoch = tasks.lease_epoch
                          AND attempts.outcome = 'done')
 LIMIT :n

-- name: doctor_leases
SELECT tasks.id, tasks.state AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE (tasks.state = 'running') <> (tasks.lease_owner IS NOT NULL)
    OR (tasks.state = 'running') <> (tasks.lease_expires_at IS NOT NULL)
 LIMIT :n

-- name: doctor_attempts
-- Every claim but the one that runs has left one row, and none has a later epoch.
SELECT tasks.id, tasks.state AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE tasks.attempt NOT BETWEEN 0 AND tasks.max_attempts
    OR (SELECT count(*) FROM attempts WHERE attempts.task_id = tasks.id)
       <> tasks.lease_epoch - CASE WHEN tasks.state = 'running' THEN 1 ELSE 0 END
    OR EXISTS (SELECT 1 FROM attempts WHERE attempts.task_id = tasks.id AND attempts.epoch > tasks.lease_epoch)
 LIMIT :n

-- name: doctor_given_up
SELECT tasks.id, tasks.kind AS detail
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 WHERE tasks.state = 'error'
   AND tasks.attempt < tasks.max_attempts
   AND replace(tasks.failure, '"retryable": false', '') = tasks.failure
 LIMIT :n

-- name: doctor_jobs
SELECT jobs.id, jobs.status
  FROM {rows:jobs(id uuid)} AS j
  JOIN jobs ON jobs.id = j.id
 ORDER BY jobs.id

-- name: doctor_tasks
SELECT tasks.id, tasks.job_id, tasks.step, tasks.state, tasks.optional, tasks.progress, tasks.skip_reason, tasks.attempt,
       tasks.max_attempts, tasks.lease_epoch, tasks.lease_owner
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id

-- name: doctor_outcomes
SELECT attempts.task_id, attempts.epoch, attempts.outcome
  FROM {ids:tasks} AS t
  JOIN attempts ON attempts.task_id = t.id

-- name: doctor_events
SELECT events.job_id, events.type, events.data
  FROM {rows:jobs(id uuid)} AS j
  JOIN events ON events.job_id = j.id
 ORDER BY events.job_id, events.id

-- name: doctor_keys
SELECT key AS id, CAST(job_id AS text) AS detail
  FROM idempotency_keys
 WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = idempotency_keys.job_id)
 LIMIT :n

-- name: doctor_orphans
-- Tasks without a job, and edges and attempts without their task.
SELECT id, 'task' AS detail
  FROM tasks
 WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = tasks.job_id)
 UNION ALL
SELECT child_id, 'edge'
  FROM edges
 WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = edges.parent_id)
    OR NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = edges.child_id)
 UNION ALL
SELECT task_id, 'attempt'
  FROM attempts
 WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = attempts.task_id)
 LIMIT :n
