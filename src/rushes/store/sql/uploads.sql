-- Statements on `uploads` and `inbox`. Bytes are counted and an upload ends only while it is open;
-- zero rows back means that somebody else was there first.

-- fragment: upload_columns
id, owner, state, size, received, filename, title, tags, priority, options, sha256, duplicate, idempotency_key, asset_id, job_id,
error_code, error, metadata, created_at, expires_at

-- name: lock_uploads
-- One at a time counts what is open and adds to it; SQLite has one writer anyway.
SELECT pg_advisory_xact_lock(7276838)  --@postgres

-- name: open_uploads
-- What one owner has open, and what is still to come from everybody.
SELECT CAST(count(CASE WHEN owner = :owner THEN 1 END) AS integer) AS uploads,
       CAST(coalesce(sum(CASE WHEN owner = :owner THEN size END), 0) AS {bigint}) AS bytes,
       CAST(coalesce(sum(size - received), 0) AS {bigint}) AS to_come
  FROM uploads
 WHERE state = 'open'

-- name: add_upload
INSERT INTO uploads (id, owner, size, filename, title, tags, priority, options, sha256, duplicate, idempotency_key, metadata, created_at, expires_at)
VALUES (:id, :owner, :size, :filename, :title, :tags, :priority, :options, :sha256, :duplicate, :idempotency_key, :metadata, {now}, {now} + :keep_ms)

-- name: upload
SELECT {upload_columns} FROM uploads WHERE id = :id AND (CAST(:owner AS text) IS NULL OR owner = :owner)

-- name: upload_of_key
SELECT {upload_columns} FROM uploads WHERE owner = :owner AND idempotency_key = :key

-- name: count_bytes
-- The second of the two values: the answer to a commit was lost, and it is repeated.
UPDATE uploads
   SET received = :end, expires_at = {now} + :keep_ms
 WHERE id = :id
   AND state = 'open'
   AND received IN (:start, :end)
RETURNING id

-- name: finish_upload
UPDATE uploads
   SET state = 'finished', asset_id = :asset_id, job_id = :job_id, expires_at = {now} + :keep_ms
 WHERE id = :id
   AND (state = 'open' OR job_id = :job_id)
RETURNING id

-- name: fail_upload
UPDATE uploads
   SET state = 'failed', error_code = :error_code, error = :error, asset_id = :asset_id, expires_at = {now} + :keep_ms
 WHERE id = :id
   AND state = 'open'
RETURNING id

-- name: delete_upload
DELETE FROM uploads WHERE id = :id AND state <> 'finished' RETURNING id

-- name: whole_uploads
-- Uploads that only have to be finished, and nobody has done it although there was time to.
SELECT id FROM uploads WHERE state = 'open' AND received = size AND expires_at <= {now} + :left_ms

-- name: expire_uploads
DELETE FROM uploads WHERE expires_at <= {now} RETURNING id, state

-- name: known_uploads
SELECT uploads.id FROM {rows:ids(id uuid)} AS i JOIN uploads ON uploads.id = i.id

-- name: inbox_file
SELECT size, mtime_ns FROM inbox WHERE owner = :owner AND path = :path

-- name: note_inbox_file
INSERT INTO inbox (owner, path, size, mtime_ns, asset_id, error_code, at)
VALUES (:owner, :path, :size, :mtime_ns, :asset_id, :error_code, {now})
    ON CONFLICT (owner, path) DO UPDATE
   SET size = excluded.size, mtime_ns = excluded.mtime_ns, asset_id = excluded.asset_id, error_code = excluded.error_code, at = excluded.at
