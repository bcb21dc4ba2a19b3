-- Statements on `tasks` and `edges`. Every change of state names the state it comes from;
-- a row that does not come back means that the caller lost a race. A batch is one JSON
-- parameter, sorted by id: locks are taken in ascending order, tasks before jobs, so that two
-- batches never wait for each other. It is joined: the rows of an IN come in any order.

-- fragment: refusal
-- Why worker `w` may not take a ready task; NULL when it may. The claim and the answer to
-- "why is it waiting?" both read it, so they cannot disagree.
CASE WHEN w.mode <> 'active' THEN 'WORKERS_DRAINING'
     WHEN NOT {subset:tasks.needs, w.offers} THEN 'NO_CAPABLE_WORKER'
     WHEN EXISTS (SELECT 1 FROM pauses WHERE pauses.kind = tasks.kind) THEN 'QUEUE_PAUSED'
     WHEN NOT {subset:tasks.prefers, w.offers}
          AND tasks.ready_at + :grace_ms > {now}
          AND EXISTS (SELECT 1
                        FROM workers AS better
                       WHERE better.mode = 'active'
                         AND better.last_heartbeat > {now} - :late_ms
                         AND {subset:tasks.needs, better.offers}
                         AND {subset:tasks.prefers, better.offers}
                         AND CAST(better.lanes ->> tasks.lane AS integer)
                             > (SELECT count(*) FROM tasks AS held
                                 WHERE held.state = 'running' AND held.finished_at IS NULL AND held.lease_owner = better.owner AND held.lane = tasks.lane))
          THEN 'GPU_PREFERRED'
 END

-- fragment: abandoned
-- Why a running task is taken from its worker; NULL while it is not.
CASE WHEN tasks.lease_expires_at <= {now} THEN 'expired'
     WHEN tasks.progress_at + tasks.stall_ms <= {now} THEN 'stalled'
     WHEN tasks.claimed_at + tasks.hard_ms <= {now} THEN 'overran'
 END

-- fragment: unsatisfied
-- Whether `parent` still stands in the way of its children.
NOT (parent.state = 'done'
     OR parent.state = 'skipped' AND parent.skip_reason = 'not_applicable'
     OR parent.state = 'error' AND parent.optional)

-- fragment: miscounted
-- Whether the count of open parents of a NEW task is wrong. A task that was ready before waits
-- for nobody, also when a parent that it went on without is tried again.
NOT (tasks.open_parents = 0 AND tasks.ready_at IS NOT NULL)
AND tasks.open_parents <> (SELECT count(*)
                             FROM edges
                             JOIN tasks AS parent ON parent.id = edges.parent_id
                            WHERE edges.child_id = tasks.id AND {unsatisfied})

-- fragment: task_columns
tasks.id, tasks.job_id, tasks.step, tasks.item, tasks.kind, tasks.lane, tasks.state, tasks.optional, tasks.priority,
tasks.skip_reason, tasks.attempt, tasks.max_attempts, tasks.losses, tasks.open_parents, tasks.lease_epoch,
tasks.lease_owner, tasks.lease_expires_at, tasks.last_owner, tasks.progress, tasks.phase, tasks.message,
tasks.created_at, tasks.run_at, tasks.ready_at, tasks.claimed_at, tasks.progress_at, tasks.finished_at,
tasks.params, tasks.result, tasks.failure

-- name: add_tasks
-- New tasks; those with no parents and no later time start READY.
INSERT INTO tasks (job_id, step, item, kind, lane, state, due_at, open_parents, run_at, ready_at, max_attempts, lease_ms,
                   optional, priority, wait_ms, stall_ms, hard_ms, needs, prefers, has_children, each, feeds, created_at, params)
SELECT t.job_id, t.step, t.item, t.kind, t.lane,
       CASE WHEN t.open_parents = 0 AND t.each IS NULL AND coalesce(t.run_at, 0) <= {now} THEN 'ready' ELSE 'new' END,
       CASE WHEN t.open_parents = 0 AND t.each IS NULL AND coalesce(t.run_at, 0) <= {now} THEN {now} + t.wait_ms END,
       t.open_parents, coalesce(t.run_at, {now}),
       CASE WHEN t.open_parents = 0 AND t.each IS NULL AND coalesce(t.run_at, 0) <= {now} THEN {now} END,
       t.max_attempts, 60000, t.optional, t.priority, t.wait_ms, t.stall_ms, t.hard_ms, t.needs, t.prefers, t.has_children,
       t.each, t.feeds, {now}, t.params
  FROM {rows:tasks(job_id uuid, step text, item integer, kind text, lane text, open_parents integer, run_at bigint,
                   max_attempts integer, optional boolean, priority integer, wait_ms bigint, stall_ms bigint, hard_ms bigint,
                   needs jsonb, prefers jsonb, has_children boolean, each text, feeds text, params text)} AS t
 WHERE TRUE
RETURNING id, job_id, step, item, state, lane

-- name: add_edges
INSERT INTO edges (parent_id, child_id)
SELECT e.parent_id, e.child_id FROM {rows:edges(parent_id bigint, child_id bigint)} AS e

-- name: claim
-- READY -> RUNNING for up to :n tasks of one lane, in the order in which they are due.
-- MATERIALIZED is a fence: without it the planner may run the LIMIT more than once and
-- claim too many. PostgreSQL lets rivals pass each other's locked rows; SQLite has one writer.
-- The guard is a range, so that the chosen are found by id: by an equality PostgreSQL would walk
-- all of tasks_ready for them while it believes that it is small.
WITH chosen AS MATERIALIZED (
    SELECT tasks.id
      FROM tasks
      JOIN workers AS w ON w.owner = :owner
     WHERE tasks.state = 'ready'
       AND tasks.lane = :lane
       AND {refusal} IS NULL
     ORDER BY tasks.due_at, tasks.id
     LIMIT :n
       FOR UPDATE OF tasks SKIP LOCKED  --@postgres
)
UPDATE tasks
   SET state = 'running',
       attempt = attempt + 1,
       lease_epoch = lease_epoch + 1,
       lease_owner = :owner,
       lease_expires_at = {now} + :lease_ms,
       lease_ms = :lease_ms,
       claimed_at = {now},
       progress_at = {now}
 WHERE id IN (SELECT id FROM chosen)
   AND state BETWEEN 'ready' AND 'ready'
RETURNING id, lease_epoch AS epoch, lease_owner AS owner, job_id, kind, step, item, attempt, max_attempts,
          lease_ms, params, checkpoint, due_at

-- name: extend
-- RUNNING -> RUNNING for an explicit list of claims, even if a lease has just run out and
-- nobody took the task. Progress never falls; a checkpoint ends a row of losses.
UPDATE tasks
   SET lease_expires_at = {now} + tasks.lease_ms,
       progress = CASE WHEN c.progress > tasks.progress THEN c.progress ELSE tasks.progress END,
       progress_at = CASE WHEN c.moved THEN {now} ELSE tasks.progress_at END,
       phase = coalesce(c.phase, tasks.phase),
       message = coalesce(c.message, tasks.message),
       losses = CASE WHEN c.checkpoint IS NULL THEN tasks.losses ELSE 0 END,
       checkpoint = coalesce(c.checkpoint, tasks.checkpoint)
  FROM {rows:claims(id bigint, epoch integer, moved boolean, progress integer, phase text, message text, checkpoint text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = c.epoch
RETURNING tasks.id

-- name: lock_job
-- Running tasks first, as a completion does: it locks its own task, then the children of it,
-- and a finalizer has a smaller id than the tasks that its fan-out added.
SELECT tasks.id  --@postgres
  FROM tasks  --@postgres
 WHERE tasks.job_id = :job_id  --@postgres
 ORDER BY tasks.state <> 'running', tasks.id FOR UPDATE  --@postgres

-- name: complete
-- RUNNING -> DONE, only for the very claim that did the work. The owner alone is not enough:
-- a worker can lose a task and claim it again. The epoch fences; the owner authorises.
UPDATE tasks
   SET state = 'done',
       finished_at = {now},
       progress = 100,
       result = c.result,
       failure = NULL,
       losses = 0,
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer, result text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = c.epoch
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.kind, tasks.step, tasks.item, tasks.state, tasks.optional,
          tasks.has_children, tasks.feeds

-- name: fail
-- RUNNING -> ERROR: not retryable, or the last attempt.
UPDATE tasks
   SET state = 'error',
       finished_at = {now},
       failure = c.failure,
       losses = 0,
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer, failure text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = c.epoch
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.step, tasks.item, tasks.state, tasks.optional,
          tasks.has_children, tasks.failure

-- name: retry
-- RUNNING -> NEW, to be advanced when its time has come. due_at stays: it keeps its place.
UPDATE tasks
   SET state = 'new',
       run_at = {now} + c.delay_ms,
       failure = c.failure,
       losses = 0,
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer, delay_ms bigint, failure text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = c.epoch
   AND tasks.attempt < tasks.max_attempts
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.run_at

-- name: hand_back
-- RUNNING -> READY with the attempt given back: nothing was wrong with the task.
UPDATE tasks
   SET state = 'ready',
       attempt = tasks.attempt - 1,
       ready_at = {now},
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_owner = :owner
   AND tasks.lease_epoch = c.epoch
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.lane

-- name: strays
-- Claims of :owner that it does not know of: the answer to its claim was lost.
SELECT id, lease_epoch AS epoch
  FROM tasks
 WHERE state = 'running'
   AND finished_at IS NULL
   AND lease_owner = :owner
   AND id NOT IN (SELECT id FROM {ids:held} AS h)
 ORDER BY id

-- name: find_abandoned
-- What recovery looks at. Reads only: the guarded statements below decide.
SELECT tasks.id, tasks.lease_epoch AS epoch, tasks.attempt, tasks.max_attempts, tasks.losses, tasks.lease_owner AS owner,
       tasks.kind, {abandoned} AS cause
  FROM tasks
 WHERE tasks.state = 'running'
   AND tasks.finished_at IS NULL
   AND {abandoned} IS NOT NULL
 ORDER BY tasks.id
 LIMIT :n

-- name: find_held
-- The same for tasks whose worker process is known to be dead.
SELECT id, lease_epoch AS epoch, attempt, max_attempts, losses, lease_owner AS owner, kind, 'restart' AS cause
  FROM tasks
 WHERE state = 'running'
   AND finished_at IS NULL
   AND lease_owner IN (SELECT owner FROM {rows:owners(owner text)} AS o)
 ORDER BY id

-- name: expire
-- RUNNING -> READY for claims that are still abandoned. due_at stays; :give_back is 1 when
-- the loss was no fault of the task, :lost is 1 when the worker is gone and not just slow.
UPDATE tasks
   SET state = 'ready',
       attempt = tasks.attempt - :give_back,
       losses = tasks.losses + :lost,
       ready_at = {now},
       failure = c.failure,
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer, losses integer, failure text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_epoch = c.epoch
   AND tasks.losses = c.losses
   AND (:certain OR {abandoned} IS NOT NULL)
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.lane, tasks.last_owner AS owner

-- name: exhaust
-- RUNNING -> ERROR for the same, when no attempt is left or the task is poison.
UPDATE tasks
   SET state = 'error',
       losses = tasks.losses + 1,
       finished_at = {now},
       failure = c.failure,
       last_owner = tasks.lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
  FROM {rows:claims(id bigint, epoch integer, losses integer, failure text)} AS c
 WHERE tasks.id = c.id
   AND tasks.state = 'running'
   AND tasks.lease_epoch = c.epoch
   AND tasks.losses = c.losses
   AND (:certain OR {abandoned} IS NOT NULL)
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.step, tasks.item, tasks.state, tasks.optional,
          tasks.has_children, tasks.failure,
          tasks.last_owner AS owner

-- name: kill_running
-- RUNNING -> KILLED. The lease is gone, so whatever the worker sends later is refused.
UPDATE tasks
   SET state = 'killed',
       finished_at = {now},
       last_owner = lease_owner,
       lease_owner = NULL,
       lease_expires_at = NULL
 WHERE job_id = :job_id
   AND state = 'running'
RETURNING id, job_id, lease_epoch AS epoch

-- name: kill_waiting
-- NEW, READY -> KILLED.
UPDATE tasks
   SET state = 'killed',
       finished_at = {now}
 WHERE job_id = :job_id
   AND state IN ('new', 'ready')
RETURNING id, job_id, lease_epoch AS epoch

-- name: requeue
-- ERROR, KILLED, SKIPPED -> NEW: a person tries again, with a new series of attempts.
-- :task_id and :kind choose among the failed. Every killed task is taken: one that stayed
-- would keep the job killed, and what depends on it waiting for ever.
UPDATE tasks
   SET state = 'new',
       attempt = 0,
       losses = 0,
       progress = 0,
       run_at = {now},
       due_at = NULL,
       ready_at = NULL,
       finished_at = NULL,
       skip_reason = NULL,
       failure = NULL,
       phase = NULL,
       message = NULL
 WHERE job_id = :job_id
   AND (state = 'error'
        AND (CAST(:task_id AS bigint) IS NULL OR id = :task_id)
        AND (CAST(:kind AS text) IS NULL OR kind = :kind)
        OR state = 'killed'
        OR state = 'skipped' AND skip_reason = 'upstream_failed')
RETURNING id, job_id, lease_epoch AS epoch, kind

-- name: standing_failure
-- The failure that a job keeps when others of its tasks are tried again.
SELECT id, step, item, failure
  FROM tasks
 WHERE job_id = :job_id
   AND state = 'error'
   AND NOT optional
 ORDER BY finished_at, id
 LIMIT 1

-- name: recount_parents
-- After a requeue: count again what stands in the way of every NEW task of the job.
UPDATE tasks
   SET open_parents = (SELECT count(*)
                         FROM edges
                         JOIN tasks AS parent ON parent.id = edges.parent_id
                        WHERE edges.child_id = tasks.id AND {unsatisfied})
 WHERE tasks.job_id = :job_id
   AND tasks.state = 'new'

-- name: broken
-- Tasks of a job that failed for good and whose children are still NEW.
SELECT DISTINCT parent.id
  FROM tasks AS parent
  JOIN edges ON edges.parent_id = parent.id
  JOIN tasks AS child ON child.id = edges.child_id
 WHERE parent.job_id = :job_id
   AND (parent.state = 'error' AND NOT parent.optional OR parent.state = 'skipped' AND parent.skip_reason = 'upstream_failed')
   AND child.state = 'new'

-- name: release_children
-- A parent is out of the way: count it off, and NEW -> READY where it was the last.
-- A row that comes back as 'new' with no open parents waits for its time, or fans out.
-- A parent that is tried again after its child went on without it is not in the child's count.
UPDATE tasks
   SET open_parents = tasks.open_parents - c.n,
       state    = CASE WHEN tasks.open_parents = c.n AND tasks.each IS NULL AND tasks.run_at <= {now} THEN 'ready' ELSE 'new' END,
       ready_at = CASE WHEN tasks.open_parents = c.n AND tasks.each IS NULL AND tasks.run_at <= {now} THEN {now} ELSE tasks.ready_at END,
       due_at   = CASE WHEN tasks.open_parents = c.n AND tasks.each IS NULL AND tasks.run_at <= {now}
                       THEN coalesce(tasks.due_at, {now} + tasks.wait_ms) ELSE tasks.due_at END
  FROM (SELECT child_id, CAST(count(*) AS integer) AS n
          FROM {ids:parents} AS p
          JOIN edges ON edges.parent_id = p.id
         GROUP BY child_id
         ORDER BY child_id) AS c
 WHERE tasks.id = c.child_id
   AND tasks.state = 'new'
   AND tasks.open_parents >= c.n
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.lane, tasks.state, tasks.open_parents, tasks.each

-- name: skip_children
-- NEW -> SKIPPED for the children of tasks that failed for good. `each` stays: after a
-- requeue the task still fans out.
UPDATE tasks
   SET state = 'skipped', skip_reason = 'upstream_failed', finished_at = {now}
  FROM (SELECT DISTINCT child_id
          FROM {ids:parents} AS p
          JOIN edges ON edges.parent_id = p.id
         ORDER BY child_id) AS c
 WHERE tasks.id = c.child_id
   AND tasks.state = 'new'
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.step, tasks.item, tasks.state, tasks.optional,
          tasks.has_children, tasks.skip_reason

-- name: skip
-- NEW -> SKIPPED: there is nothing to do.
UPDATE tasks
   SET state = 'skipped', skip_reason = 'not_applicable', finished_at = {now}, each = NULL
 WHERE id IN (SELECT id FROM {ids:tasks} AS t)
   AND state = 'new'
RETURNING id, job_id, lease_epoch AS epoch, step, item, state, optional, has_children, skip_reason

-- name: due
-- NEW tasks whose time has come: no open parents, run_at passed. Those that fan out come
-- only from a requeue or a later start, and are made ready by `fan_out`.
SELECT id, job_id, each
  FROM tasks
 WHERE state = 'new'
   AND open_parents = 0
   AND run_at <= {now}
   AND (CAST(:job_id AS {uuid}) IS NULL OR job_id = :job_id)
 ORDER BY run_at
 LIMIT :n

-- name: advance
-- NEW -> READY for tasks whose parents are out of the way and whose time has come. They are
-- found by id: `< 1` keeps PostgreSQL from joining the batch with all of the index tasks_later.
UPDATE tasks
   SET state = 'ready', ready_at = {now}, due_at = coalesce(tasks.due_at, {now} + tasks.wait_ms)
  FROM {ids:tasks} AS t
 WHERE tasks.id = t.id
   AND tasks.state = 'new'
   AND tasks.open_parents < 1
   AND tasks.each IS NULL
   AND tasks.run_at <= {now}
RETURNING tasks.id, tasks.job_id, tasks.lease_epoch AS epoch, tasks.lane

-- name: next_due
SELECT min(run_at) AS at FROM tasks WHERE state = 'new' AND open_parents = 0

-- name: count_values
-- Count the values that finished parents bring to fan-outs. The row's lock makes the sum exact.
UPDATE tasks
   SET fed = tasks.fed + f.n
  FROM (SELECT job_id, step, CAST(sum(n) AS integer) AS n
          FROM {rows:values(job_id uuid, step text, n integer)} AS v
         GROUP BY job_id, step
         ORDER BY job_id, step) AS f
 WHERE tasks.job_id = f.job_id
   AND tasks.step = f.step
   AND tasks.item = 0
   AND tasks.each IS NOT NULL
RETURNING tasks.job_id, tasks.step, tasks.kind, tasks.params, tasks.fed

-- name: fan_out_sources
-- The lists that a fan-out reads: the results of its parents, in order.
SELECT parent.id, parent.state, parent.result, child.id AS child_id, child.kind, child.each, child.params, child.job_id,
       child.step, child.priority
  FROM tasks AS child
  JOIN edges ON edges.child_id = child.id
  JOIN tasks AS parent ON parent.id = edges.parent_id
 WHERE child.id = :id
   AND child.state = 'new'
   AND child.each IS NOT NULL
 ORDER BY parent.step, parent.item

-- name: become_first
-- The task that stood for the whole fan-out becomes its first entry.
UPDATE tasks
   SET each = NULL, params = :params
 WHERE id = :id
   AND state = 'new'
   AND each IS NOT NULL
RETURNING id

-- name: add_siblings
-- The other entries, NEW like the first, behind it in the queue when the first is boosted.
INSERT INTO tasks (job_id, step, item, kind, lane, state, open_parents, run_at, max_attempts, optional, priority, wait_ms,
                   stall_ms, hard_ms, needs, prefers, has_children, feeds, created_at, params)
SELECT tasks.job_id, tasks.step, s.item, tasks.kind, tasks.lane, 'new', 0, tasks.run_at, tasks.max_attempts, tasks.optional,
       tasks.priority, :wait_ms, tasks.stall_ms, tasks.hard_ms, tasks.needs, tasks.prefers,
       tasks.has_children, tasks.feeds, {now}, s.params
  FROM {rows:siblings(item integer, params text)} AS s
  JOIN tasks ON tasks.id = :id
 WHERE TRUE
RETURNING id, job_id

-- name: add_sibling_edges
INSERT INTO edges (parent_id, child_id)
SELECT s.id, edges.child_id
  FROM {ids:siblings} AS s
  JOIN edges ON edges.parent_id = :id

-- name: add_open_parents
UPDATE tasks
   SET open_parents = open_parents + :n
 WHERE id IN (SELECT child_id FROM edges WHERE parent_id = :id)
   AND state = 'new'

-- name: reprioritise
-- A new priority moves the tasks of a job that are not running within the queue.
UPDATE tasks
   SET priority = c.priority,
       due_at = tasks.due_at + c.wait_ms - tasks.wait_ms,
       wait_ms = c.wait_ms
  FROM {rows:tasks(id bigint, priority integer, wait_ms bigint)} AS c
 WHERE tasks.id = c.id
   AND tasks.state IN ('new', 'ready', 'running')
RETURNING tasks.id, tasks.lane

-- name: task
SELECT {task_columns} FROM tasks WHERE id = :id

-- name: job_tasks
SELECT {task_columns} FROM tasks WHERE job_id = :job_id ORDER BY id

-- name: job_orders
-- What `reprioritise` starts from.
SELECT id, step, item, wait_ms FROM tasks WHERE job_id = :job_id AND state IN ('new', 'ready', 'running') ORDER BY id

-- name: parent_results
-- What the parents of a claimed task have produced; nothing for a claim that is stale. The
-- tasks of a fan-out share the edges of their first.
SELECT parent.step, parent.item, parent.state, parent.result
  FROM tasks AS child
  JOIN tasks AS first ON first.job_id = child.job_id AND first.step = child.step AND first.item = 0
  JOIN edges ON edges.child_id = first.id
  JOIN tasks AS parent ON parent.id = edges.parent_id
 WHERE child.id = :id
   AND child.state = 'running'
   AND child.lease_owner = :owner
   AND child.lease_epoch = :epoch
 ORDER BY parent.step, parent.item

-- name: states
SELECT tasks.id, tasks.state, tasks.lease_owner, tasks.lease_epoch AS epoch, tasks.kind, tasks.attempt, tasks.max_attempts,
       tasks.job_id, tasks.item
  FROM {ids:tasks} AS t
  JOIN tasks ON tasks.id = t.id

-- name: parents
SELECT {task_columns}
  FROM edges
  JOIN tasks ON tasks.id = edges.parent_id
 WHERE edges.child_id = :id
 ORDER BY tasks.id

-- name: refusals
-- Every worker's answer to a ready task, with what it has free in the task's lane.
SELECT w.name, w.owner, w.mode, w.last_heartbeat, w.offers, w.metadata,
       coalesce(CAST(w.lanes ->> tasks.lane AS integer), 0) AS slots,
       CAST((SELECT count(*) FROM tasks AS held
              WHERE held.state = 'running' AND held.finished_at IS NULL AND held.lease_owner = w.owner AND held.lane = tasks.lane) AS integer) AS held,
       {refusal} AS refusal,
       {now} AS now
  FROM tasks
  JOIN workers AS w ON w.mode <> 'stopped'
 WHERE tasks.id = :id
   AND tasks.state = 'ready'
 ORDER BY w.name

-- name: place_in_line
SELECT CAST(count(*) AS integer) AS ahead,
       CAST(coalesce(sum(CASE WHEN other.priority > tasks.priority THEN 1 ELSE 0 END), 0) AS integer) AS higher
  FROM tasks
  JOIN tasks AS other ON other.state = 'ready' AND other.lane = tasks.lane AND (other.due_at, other.id) < (tasks.due_at, tasks.id)
 WHERE tasks.id = :id

-- name: ready_lanes
SELECT DISTINCT lane FROM tasks WHERE state = 'ready'

-- name: failed_with_code
-- Jobs that have a task in error with this code, in this step. :owner NULL: everybody's.
SELECT DISTINCT tasks.job_id
  FROM tasks
  JOIN jobs ON jobs.id = tasks.job_id
 WHERE tasks.state = 'error'
   AND CAST(tasks.failure AS json) ->> 'error_code' = :code  --@postgres
   AND tasks.failure ->> 'error_code' = :code  --@sqlite
   AND (CAST(:step AS text) IS NULL OR tasks.step = :step)
   AND (CAST(:owner AS text) IS NULL OR coalesce(jobs.owner, '') = :owner)
 ORDER BY tasks.job_id

-- name: unadvanced
-- The check of the counters: NEW tasks whose count of open parents is wrong.
SELECT tasks.id, tasks.job_id
  FROM tasks
 WHERE tasks.state = 'new'
   AND {miscounted}
 ORDER BY tasks.id

-- name: task_needs
SELECT needs FROM tasks WHERE id = :id
