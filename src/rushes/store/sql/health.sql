-- How the whole is: what health checks and metrics read. None of it walks the history of jobs,
-- except the totals, which are counted from the feed, a stretch at a time.

-- fragment: stretch
-- The events after one cursor and up to another.
(events.xid, events.id) > (CAST(:xid AS xid8), :id)  --@postgres
AND (events.xid, events.id) <= (CAST(:until_xid AS xid8), :until_id)  --@postgres
events.id > :id AND events.id <= :until_id AND :xid IS NOT NULL AND :until_xid IS NOT NULL  --@sqlite

-- name: schema
SELECT coalesce(max(version), 0) AS version FROM schema_migrations

-- name: jobs_in
SELECT CAST(count(*) AS integer) AS n FROM jobs WHERE status = :status

-- name: all_jobs
SELECT status, CAST(count(*) AS integer) AS n FROM jobs GROUP BY status

-- name: ready_tasks
SELECT lane, CAST(count(*) AS integer) AS n FROM tasks WHERE state = 'ready' GROUP BY lane

-- name: worker_loads
-- Workers that are there, with how many tasks each holds.
SELECT workers.name, workers.mode, CAST(coalesce(held.n, 0) AS integer) AS load
  FROM workers
  LEFT JOIN (SELECT lease_owner, count(*) AS n
               FROM tasks
              WHERE state = 'running' AND finished_at IS NULL
              GROUP BY lease_owner) AS held ON held.lease_owner = workers.owner
 WHERE workers.mode <> 'stopped'
   AND workers.last_heartbeat > {now} - :offline_ms
 ORDER BY workers.name

-- name: feed_lag
-- How long the oldest event has been waiting for a transaction that began before it.
SELECT CAST(coalesce({now} - min(at), 0) AS bigint) AS ms  --@postgres
  FROM events  --@postgres
 WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())  --@postgres
SELECT 0 AS ms  --@sqlite

-- name: stretch_end
-- The last of the next :n events, and how many there are.
SELECT page.xid, page.id, CAST(count(*) OVER () AS integer) AS n
  FROM (SELECT CAST(xid AS text) AS xid, id, xid AS place  --@postgres
          FROM events  --@postgres
         WHERE (xid, id) > (CAST(:xid AS xid8), :id)  --@postgres
           AND xid < pg_snapshot_xmin(pg_current_snapshot())  --@postgres
         ORDER BY events.xid, events.id LIMIT :n) AS page  --@postgres
  FROM (SELECT '0' AS xid, id, 0 AS place  --@sqlite
          FROM events  --@sqlite
         WHERE id > :id AND :xid IS NOT NULL  --@sqlite
         ORDER BY id LIMIT :n) AS page  --@sqlite
 ORDER BY page.place DESC, page.id DESC
 LIMIT 1

-- name: job_totals
-- Jobs that came and went in a stretch of the feed, and how long those ran that ever started.
SELECT events.type, events.at - (SELECT jobs.started_at FROM jobs WHERE jobs.id = events.job_id) AS ms
  FROM events
 WHERE {stretch}
   AND events.type IN ('job.submitted', 'job.completed', 'job.failed', 'job.killed')

-- name: attempt_totals
-- Attempts that ended in a stretch of the feed. Their events name task and epoch; the outcome must
-- be the one that the event tells, for a task that waits is killed with the epoch of its last run.
-- `given_up`: it could have been tried again, and was not any more.
-- The order of the joins is fixed: a planner that last saw the tables when they were small would
-- go through all attempts for each event.
SELECT tasks.kind, attempts.outcome, CAST(count(*) AS integer) AS n,
       CAST(sum(attempts.ended_at - attempts.claimed_at) AS bigint) AS ms,
       CAST(sum(CASE WHEN attempts.outcome = 'exhausted'
                       OR attempts.outcome = 'failed' AND attempts.attempt >= tasks.max_attempts
                          AND CAST(attempts.failure AS json) ->> 'retryable' = 'true'  --@postgres
                          AND attempts.failure ->> 'retryable' = 1  --@sqlite
                     THEN 1 ELSE 0 END) AS integer) AS given_up
  FROM events
 CROSS JOIN json_array_elements(CAST(events.data AS json) -> 'tasks') AS moved(value)  --@postgres
 CROSS JOIN json_each(events.data, '$.tasks') AS moved  --@sqlite
 CROSS JOIN LATERAL (SELECT task_id, attempt, outcome, claimed_at, ended_at, failure  --@postgres
                       FROM attempts  --@postgres
                      WHERE task_id = CAST(moved.value ->> 0 AS bigint) AND epoch = CAST(moved.value ->> 1 AS integer)  --@postgres
                     OFFSET 0) AS attempts  --@postgres
 CROSS JOIN LATERAL (SELECT kind, max_attempts FROM tasks WHERE id = attempts.task_id OFFSET 0) AS tasks  --@postgres
 CROSS JOIN attempts ON attempts.task_id = moved.value ->> 0 AND attempts.epoch = moved.value ->> 1  --@sqlite
 CROSS JOIN tasks ON tasks.id = attempts.task_id  --@sqlite
 WHERE {stretch}
   AND events.type IN ('task.done', 'task.retrying', 'task.failed', 'task.handed_back', 'task.expired', 'task.timed_out',
                       'task.exhausted', 'task.killed')
   AND events.type = CASE attempts.outcome WHEN 'retried' THEN 'task.retrying' WHEN 'restarted' THEN 'task.expired'
                                           ELSE 'task.' || attempts.outcome END
 GROUP BY tasks.kind, attempts.outcome
