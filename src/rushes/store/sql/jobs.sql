-- Statements on `jobs` and `idempotency_keys`. Counters say how many tasks are not final;
-- `status` is what domain/job.py says of the tasks, kept here for lists.

-- fragment: job_columns
jobs.id, jobs.kind, jobs.label, jobs.owner, jobs.priority, jobs.status, jobs.open_tasks, jobs.failed_tasks, jobs.warnings, jobs.reported,
jobs.version, jobs.plan, jobs.spec, jobs.failure, jobs.killed_by, jobs.killed_by_name, jobs.killed_at, jobs.killed_reason,
jobs.progress_at_kill, jobs.created_at, jobs.updated_at, jobs.started_at, jobs.finished_at

-- name: add_jobs
-- A row that does not come back existed before: the same id, or an active job of its dedupe key.
INSERT INTO jobs (id, kind, label, owner, priority, status, open_tasks, plan, spec, dedupe_key, request_hash, created_at, updated_at)
SELECT j.id, j.kind, j.label, j.owner, j.priority, 'queued', j.open_tasks, j.plan, j.spec, j.dedupe_key, j.request_hash, {now}, {now}
  FROM {rows:jobs(id uuid, kind text, label text, owner text, priority integer, open_tasks integer, plan text, spec text,
                  dedupe_key text, request_hash text)} AS j
 WHERE TRUE
    ON CONFLICT DO NOTHING
RETURNING id

-- name: rival
-- The job that stands where a new one wanted to: itself, submitted before, or the active one.
SELECT id, request_hash, status
  FROM jobs
 WHERE id = :id
    OR dedupe_key = :dedupe_key AND status IN ('queued', 'running')
 ORDER BY id = :id DESC
 LIMIT 1

-- name: keep_key
INSERT INTO idempotency_keys (owner, key, request_hash, job_id, created_at)
VALUES (:owner, :key, :request_hash, :job_id, {now})
    ON CONFLICT DO NOTHING
RETURNING job_id

-- name: point_key
-- The key stands for the job that was there before, not for one that was never made.
UPDATE idempotency_keys SET job_id = :job_id WHERE owner = :owner AND key = :key

-- name: kept_key
SELECT job_id, request_hash FROM idempotency_keys WHERE owner = :owner AND key = :key

-- name: start_jobs
-- QUEUED -> RUNNING at the first claim. A queued job is told by its times, as in `close_jobs`.
UPDATE jobs
   SET status = 'running', started_at = {now}, updated_at = {now}
  FROM {rows:jobs(id uuid)} AS j
 WHERE jobs.id = j.id
   AND jobs.started_at IS NULL
   AND jobs.finished_at IS NULL
RETURNING jobs.id

-- name: close_jobs
-- Count off tasks that became final, and end the job with the last one. A job cannot be
-- killed here: that ends all its tasks in one go (`end_killed`).
-- Active jobs are told by finished_at: by their status SQLite would join the batch with all of them.
UPDATE jobs
   SET open_tasks = jobs.open_tasks - c.closed,
       failed_tasks = jobs.failed_tasks + c.failed,
       warnings = jobs.warnings + c.warned,
       failure = coalesce(jobs.failure, c.failure),
       updated_at = {now},
       status = CASE WHEN jobs.open_tasks > c.closed THEN jobs.status
                     WHEN jobs.failed_tasks + c.failed > 0 THEN 'failed' ELSE 'completed' END,
       finished_at = CASE WHEN jobs.open_tasks > c.closed THEN NULL
                          WHEN {now} < jobs.started_at THEN jobs.started_at ELSE {now} END
  FROM {rows:closed(id uuid, closed integer, failed integer, warned integer, failure text)} AS c
 WHERE jobs.id = c.id
   AND jobs.finished_at IS NULL
RETURNING jobs.id, jobs.status

-- name: failed_patterns
-- Which of these jobs, failing right now, are about something (their dedupe key) that failed :most
-- times within the day before, and nobody was told of it then. Events know: a job that is tried
-- again keeps its one row.
SELECT jobs.id, count(*) AS before
  FROM {rows:jobs(id uuid)} AS j
  JOIN jobs ON jobs.id = j.id
  JOIN jobs AS alike ON alike.dedupe_key = jobs.dedupe_key
  JOIN events ON events.job_id = alike.id
 WHERE events.type IN ('job.failed', 'job.failed_pattern')
   AND events.at > {now} - 86400000
 GROUP BY jobs.id
HAVING count(*) >= :most
   AND count(CASE WHEN events.type = 'job.failed_pattern' THEN 1 END) = 0

-- name: add_open_tasks
UPDATE jobs SET open_tasks = open_tasks + :n, updated_at = {now} WHERE id = :id AND status IN ('queued', 'running')

-- name: report_items
UPDATE jobs SET reported = :items WHERE id = :id

-- name: end_killed
UPDATE jobs
   SET status = 'killed', open_tasks = 0, finished_at = CASE WHEN {now} < started_at THEN started_at ELSE {now} END,
       killed_by = :killed_by, killed_by_name = :killed_by_name, killed_at = {now}, killed_reason = :killed_reason,
       progress_at_kill = :progress_at_kill, updated_at = {now}, version = version + 1
 WHERE id = :id
   AND status IN ('queued', 'running')
RETURNING id

-- name: lock_job_row
SELECT {job_columns}
  FROM jobs
 WHERE id = :id
   FOR UPDATE  --@postgres

-- name: reopen
-- After a requeue: count the tasks again. :failure is that of a task which stays in error.
UPDATE jobs
   SET status = CASE WHEN started_at IS NULL THEN 'queued' ELSE 'running' END,
       open_tasks = (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state IN ('new', 'ready', 'running')),
       failed_tasks = (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state = 'error' AND NOT tasks.optional),
       warnings = (SELECT count(*) FROM tasks WHERE tasks.job_id = jobs.id AND tasks.state = 'error' AND tasks.optional),
       failure = :failure, killed_by = NULL, killed_by_name = NULL, killed_at = NULL, killed_reason = NULL, progress_at_kill = NULL,
       finished_at = NULL, updated_at = {now}, version = version + 1
 WHERE id = :id
RETURNING id, status

-- name: set_priority
UPDATE jobs
   SET priority = :priority, updated_at = {now}, version = version + 1
 WHERE id = :id
   AND status IN ('queued', 'running')
   AND (CAST(:version AS integer) IS NULL OR version = :version)
RETURNING id

-- name: job
SELECT {job_columns} FROM jobs WHERE id = :id

-- name: find_jobs
-- Jobs whose id begins or ends like this; two are enough to know that it is not unique.
SELECT id
  FROM jobs
 WHERE (CAST(id AS text) LIKE :starts OR CAST(id AS text) LIKE :ends)
   AND (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)
 ORDER BY id
 LIMIT 2

-- name: whole_job
-- The job of a whole id, which need not be searched for.
SELECT id FROM jobs WHERE id = :id AND (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)

-- name: newest_job
SELECT id FROM jobs WHERE (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner) ORDER BY id DESC LIMIT 1

-- name: list_jobs
-- Newest first; :before is the id of the last row of the page before. :owner NULL: everybody's.
SELECT {job_columns}
  FROM jobs
 WHERE (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)
   AND (CAST(:status AS text) IS NULL OR jobs.status = :status)
   AND (CAST(:kind AS text) IS NULL OR jobs.kind = :kind)
   AND (CAST(:text AS text) IS NULL OR lower(jobs.label) LIKE :text ESCAPE '!' OR CAST(jobs.id AS text) LIKE :text ESCAPE '!')
   AND (CAST(:code AS text) IS NULL OR CAST(jobs.failure AS json) ->> 'error_code' = :code)  --@postgres
   AND (CAST(:step AS text) IS NULL OR CAST(jobs.failure AS json) ->> 'step' = :step)  --@postgres
   AND (CAST(:code AS text) IS NULL OR jobs.failure ->> 'error_code' = :code)  --@sqlite
   AND (CAST(:step AS text) IS NULL OR jobs.failure ->> 'step' = :step)  --@sqlite
   AND (CAST(:before AS {uuid}) IS NULL OR jobs.id < :before)
 ORDER BY jobs.id DESC
 LIMIT :n

-- name: some_jobs
-- Those of these jobs that are there, and this owner's.
SELECT {job_columns}
  FROM {rows:jobs(id uuid)} AS j
  JOIN jobs ON jobs.id = j.id
 WHERE (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)
 ORDER BY jobs.id DESC

-- fragment: failed_jobs
-- Failed jobs with what went wrong.
SELECT id, finished_at,
       CAST(failure AS json) ->> 'error_code' AS error_code,  --@postgres
       CAST(failure AS json) ->> 'step' AS step,  --@postgres
       coalesce(CAST(failure AS json) ->> 'retryable', 'false') AS retryable  --@postgres
       failure ->> 'error_code' AS error_code,  --@sqlite
       failure ->> 'step' AS step,  --@sqlite
       coalesce(CASE failure ->> 'retryable' WHEN 1 THEN 'true' END, 'false') AS retryable  --@sqlite
  FROM jobs
 WHERE status = 'failed'
   AND (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)

-- name: failed_hours
-- How many jobs failed in the same way in each of the last :hours; 0 is the one that runs.
SELECT error_code, step, CAST(({now} - finished_at) / 3600000 AS integer) AS hours_ago, CAST(count(*) AS integer) AS jobs
  FROM ({failed_jobs}) AS failed
 WHERE finished_at > {now} - 3600000 * CAST(:hours AS integer)
   AND finished_at <= {now}
 GROUP BY error_code, step, hours_ago

-- name: failed_groups
-- Failed jobs by what went wrong, the largest group first. Ids grow with time.
SELECT g.error_code, g.step, g.jobs, g.newest, g.first_at, g.last_at, g.retryable, jobs.label,
       CAST(jobs.failure AS json) ->> 'error' AS error, CAST(jobs.failure AS json) ->> 'hint' AS hint  --@postgres
       jobs.failure ->> 'error' AS error, jobs.failure ->> 'hint' AS hint  --@sqlite
  FROM (SELECT error_code, step, CAST(count(*) AS integer) AS jobs, CAST(max(CAST(id AS text)) AS text) AS newest,
             min(finished_at) AS first_at, max(finished_at) AS last_at, min(retryable) = 'true' AS retryable
        FROM ({failed_jobs}) AS failed
       GROUP BY error_code, step
       ) AS g
  JOIN jobs ON jobs.id = CAST(g.newest AS {uuid})
 ORDER BY g.jobs DESC, g.error_code, g.step

-- name: step_progress
-- What the progress of a page of jobs is made of.
SELECT tasks.job_id, tasks.step, CAST(count(*) AS integer) AS tasks,
       CAST(sum(CASE WHEN tasks.state = 'done' OR tasks.skip_reason = 'not_applicable' THEN 100 ELSE tasks.progress END) AS integer) AS reached
  FROM {rows:jobs(id uuid)} AS j
  JOIN tasks ON tasks.job_id = j.id
 GROUP BY tasks.job_id, tasks.step

-- name: step_states
-- How many tasks of each step of a job are in which state.
SELECT step, state, CAST(count(*) AS integer) AS n FROM tasks WHERE job_id = :job_id GROUP BY step, state

-- name: owners_of_job
-- Who works on a job now.
SELECT DISTINCT lease_owner AS owner FROM tasks WHERE job_id = :job_id AND state = 'running' AND finished_at IS NULL

-- name: next_of_job
-- The task of a job that could be claimed first.
SELECT id FROM tasks WHERE job_id = :job_id AND state = 'ready' ORDER BY due_at, id LIMIT 1

-- name: count_jobs
SELECT status, CAST(count(*) AS integer) AS n FROM jobs WHERE (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner) GROUP BY status

-- name: done_of_job
SELECT CAST(coalesce(sum(CASE WHEN state = 'done' THEN 1 ELSE 0 END), 0) AS integer) AS processed,
       CAST(count(*) AS integer) AS total
  FROM tasks
 WHERE job_id = :job_id

-- name: active_rival
-- Another active job of the same dedupe key.
SELECT rival.id
  FROM jobs
  JOIN jobs AS rival ON rival.dedupe_key = jobs.dedupe_key AND rival.status IN ('queued', 'running') AND rival.id <> jobs.id
 WHERE jobs.id = :id
