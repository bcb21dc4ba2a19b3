-- Statements on `attempts`, `executions` and `logs`: what was tried, and how it went.

-- name: record_attempts
-- One row when an attempt ends; the running one is the task row. The number is that of
-- the run, also when the attempt has just been given back.
INSERT INTO attempts (task_id, epoch, attempt, job_id, owner, claimed_at, ended_at, outcome, killed_by, failure)
SELECT tasks.id, tasks.lease_epoch,
       tasks.attempt + CASE WHEN :outcome IN ('handed_back', 'restarted') THEN 1 ELSE 0 END,
       tasks.job_id, tasks.last_owner, tasks.claimed_at, {now}, :outcome, :killed_by,
       CASE WHEN :outcome IN ('done', 'handed_back', 'killed') THEN NULL ELSE tasks.failure END
  FROM {ids:ended} AS e
  JOIN tasks ON tasks.id = e.id

-- name: replayed
-- How the attempts of these claims ended: the answer to a report may have been lost.
SELECT attempts.task_id AS id, attempts.epoch, attempts.outcome, attempts.failure
  FROM {rows:claims(id bigint, epoch integer)} AS c
  JOIN attempts ON attempts.task_id = c.id AND attempts.epoch = c.epoch
 WHERE attempts.owner = :owner

-- name: job_attempts
SELECT attempts.task_id, attempts.epoch, attempts.attempt, attempts.owner, attempts.claimed_at, attempts.ended_at,
       attempts.outcome, attempts.killed_by, attempts.failure
  FROM attempts
  JOIN tasks ON tasks.id = attempts.task_id
 WHERE tasks.job_id = :job_id
 ORDER BY attempts.task_id, attempts.epoch

-- name: add_executions
-- Only for a claim that is still held: a stale worker leaves no trace.
INSERT INTO executions (job_id, task_id, epoch, type, command, started_at, duration_ms, exit_code, stdout, stderr, error)
SELECT tasks.job_id, tasks.id, x.epoch, x.type, x.command, x.started_at, x.duration_ms, x.exit_code, x.stdout, x.stderr, x.error
  FROM {rows:executions(task_id bigint, epoch integer, type text, command text, started_at bigint, duration_ms bigint,
                        exit_code integer, stdout text, stderr text, error text)} AS x
  JOIN tasks ON tasks.id = x.task_id AND tasks.lease_epoch = x.epoch

-- name: job_executions
SELECT id, task_id, epoch, type, command, started_at, duration_ms, exit_code, stdout, stderr, error
  FROM executions
 WHERE job_id = :job_id
   AND (CAST(:task_id AS bigint) IS NULL OR task_id = :task_id)
 ORDER BY id DESC
 LIMIT :n

-- name: add_logs
INSERT INTO logs (job_id, task_id, epoch, at, level, stage, message, metadata)
SELECT tasks.job_id, tasks.id, x.epoch, {now}, x.level, tasks.kind, x.message, x.metadata
  FROM {rows:logs(task_id bigint, epoch integer, level text, message text, metadata text)} AS x
  JOIN tasks ON tasks.id = x.task_id AND tasks.lease_epoch = x.epoch

-- name: job_logs
SELECT id, task_id, epoch, at, level, stage, message, metadata
  FROM logs
 WHERE job_id = :job_id
   AND (CAST(:task_id AS bigint) IS NULL OR task_id = :task_id)
 ORDER BY id DESC
 LIMIT :n
