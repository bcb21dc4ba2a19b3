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
