-- The feed. Rows are written in the transaction that made them true and never change.

-- name: add_events
INSERT INTO events (job_id, type, at, data)
SELECT e.job_id, e.type, {now}, e.data FROM {rows:events(job_id uuid, type text, data text)} AS e

-- name: feed
-- Events after a cursor, in an order that never fills in later. PostgreSQL hands numbers out
-- before commit, so a reader of the largest id would miss rows: it waits for every transaction
-- that may still write below. SQLite has one writer, so its ids are in order of commit.
SELECT CAST(xid AS text) AS xid, id, job_id, type, at, data  --@postgres
  FROM events  --@postgres
 WHERE (xid, id) > (CAST(:xid AS xid8), :id)  --@postgres
   AND xid < pg_snapshot_xmin(pg_current_snapshot())  --@postgres
   AND (CAST(:job_id AS uuid) IS NULL OR job_id = :job_id)  --@postgres
 ORDER BY events.xid, events.id LIMIT :n  --@postgres
SELECT '0' AS xid, id, job_id, type, at, data  --@sqlite
  FROM events  --@sqlite
 WHERE id > :id AND :xid IS NOT NULL  --@sqlite
   AND (:job_id IS NULL OR job_id = :job_id)  --@sqlite
 ORDER BY id LIMIT :n  --@sqlite

-- name: feed_end
-- The cursor of a reader that wants only what happens from now on.
SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS xid, 0 AS id  --@postgres
SELECT '0' AS xid, coalesce(max(id), 0) AS id FROM events  --@sqlite

-- name: job_events
SELECT id, job_id, type, at, data FROM events WHERE job_id = :job_id ORDER BY id

-- fragment: film_of_event
CASE WHEN events.job_id IS NULL THEN CAST(CAST(events.data AS jsonb) ->> 'asset_id' AS uuid) END  --@postgres
CASE WHEN events.job_id IS NULL THEN json_extract(events.data, '$.asset_id') END  --@sqlite

-- name: live_feed
-- The feed with what decides who may see an event: the owner of its job or film, and the film. What
-- people do to a film has no job. What is about neither, or about what is gone, has no owner.
-- Look-ups, not joins: a planner that last saw the tables when they were small would go through all
-- jobs for each event.
SELECT CAST(events.xid AS text) AS xid,  --@postgres
SELECT '0' AS xid,  --@sqlite
       events.id, events.job_id, events.type, events.at, events.data,
       coalesce((SELECT versions.asset_id FROM versions WHERE versions.job_id = events.job_id),
                (SELECT clips.asset_id FROM clips WHERE clips.job_id = events.job_id),
                {film_of_event}) AS asset_id,
       coalesce((SELECT coalesce(jobs.owner, '') FROM jobs WHERE jobs.id = events.job_id),
                (SELECT assets.owner FROM assets WHERE assets.id = {film_of_event})) AS owner
  FROM events
 WHERE (events.xid, events.id) > (CAST(:xid AS xid8), :id)  --@postgres
   AND events.xid < pg_snapshot_xmin(pg_current_snapshot())  --@postgres
 ORDER BY events.xid, events.id LIMIT :n  --@postgres
 WHERE events.id > :id AND :xid IS NOT NULL  --@sqlite
 ORDER BY events.id LIMIT :n  --@sqlite

-- name: feed_standing
-- How a cursor stands to the feed. `gone`: rows after it were removed. `ahead`: it lies behind the
-- end, so it is of another database, or made up. Numbers of the feed start at 1.
SELECT CAST(edge.low AS text) AS xid, 0 AS id,  --@postgres
       (CAST(:xid AS xid8), CAST(:id AS bigint)) > (edge.low, 0) AS ahead,  --@postgres
       (SELECT min(id) FROM events) > 1  --@postgres
       AND EXISTS (SELECT 1 FROM (SELECT xid, id FROM events ORDER BY events.xid, events.id LIMIT 1) AS oldest  --@postgres
                    WHERE (oldest.xid, oldest.id) > (CAST(:xid AS xid8), CAST(:id AS bigint))) AS gone  --@postgres
  FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS low) AS edge  --@postgres
SELECT '0' AS xid, edge.id, :id > edge.id OR :xid <> '0' AS ahead,  --@sqlite
       :id + 1 < coalesce((SELECT min(id) FROM events), edge.id + 1) AS gone  --@sqlite
  FROM (SELECT coalesce(max(seq), 0) AS id FROM sqlite_sequence WHERE name = 'events') AS edge  --@sqlite

-- name: running_progress
-- How far everything is that runs.
SELECT tasks.id, tasks.job_id, tasks.step, tasks.item, tasks.progress, tasks.phase, tasks.message,
       tasks.progress_at AS at,
       coalesce((SELECT versions.asset_id FROM versions WHERE versions.job_id = tasks.job_id),
                (SELECT clips.asset_id FROM clips WHERE clips.job_id = tasks.job_id)) AS asset_id,
       (SELECT coalesce(jobs.owner, '') FROM jobs WHERE jobs.id = tasks.job_id) AS owner
  FROM tasks
 WHERE tasks.state = 'running'
   AND tasks.finished_at IS NULL

-- name: plans_of
SELECT jobs.id, jobs.status, jobs.plan FROM {rows:jobs(id uuid)} AS j JOIN jobs ON jobs.id = j.id
