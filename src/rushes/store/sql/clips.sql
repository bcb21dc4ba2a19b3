-- Statements on `clips`. A clip is there while its video is not deleted and its time is not over.

-- fragment: clip_columns
clips.id, clips.asset_id, clips.job_id, clips.mode, clips.title, clips.made_by, clips.t_start, clips.t_end, clips.padding_ms,
clips.start_ms, clips.end_ms, clips.actual_start, clips.actual_end, clips.made, clips.created_at, clips.ready_at, clips.expires_at,
assets.owner, assets.sha256 AS source_sha256, jobs.status, jobs.failure, artifacts.key AS file, artifacts.bytes, artifacts.sha256,
(SELECT coalesce(max(tasks.progress), 0) FROM tasks WHERE tasks.job_id = clips.job_id) AS progress,
clips.removed_at IS NOT NULL OR clips.expires_at <= {now} AS is_over

-- fragment: clip_tables
FROM clips
JOIN assets ON assets.id = clips.asset_id AND assets.deleted_at IS NULL
JOIN jobs ON jobs.id = clips.job_id
LEFT JOIN artifacts ON artifacts.name = 'clips/' || clips.asset_id || '/' || clips.id || '.mp4'

-- name: add_clip
-- No row back: somebody has asked for the same, and that clip lives.
INSERT INTO clips (id, asset_id, job_id, key, mode, title, made_by, t_start, t_end, padding_ms, start_ms, end_ms, actual_start,
                   actual_end, created_at, expires_at)
VALUES (:id, :asset_id, :job_id, :key, :mode, :title, :made_by, :t_start, :t_end, :padding_ms, :start_ms, :end_ms, :actual_start,
        :actual_end, {now}, {now} + :lifetime_ms)
    ON CONFLICT (key) WHERE removed_at IS NULL DO NOTHING
RETURNING id

-- name: clip
SELECT {clip_columns}
  {clip_tables}
 WHERE clips.id = :id
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)

-- name: clip_by_key
SELECT {clip_columns}
  {clip_tables}
 WHERE clips.key = :key
   AND clips.removed_at IS NULL

-- name: find_clips
-- At most two ids that begin or end like this: a second one is enough to know.
SELECT clips.id
  {clip_tables}
 WHERE (CAST(clips.id AS text) LIKE :starts OR CAST(clips.id AS text) LIKE :ends)
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
 ORDER BY clips.id
 LIMIT 2

-- name: newest_clip
SELECT clips.id
  {clip_tables}
 WHERE (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND clips.removed_at IS NULL
 ORDER BY clips.id DESC
 LIMIT 1

-- name: list_clips
SELECT {clip_columns}
  {clip_tables}
 WHERE (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND (CAST(:asset_id AS {uuid}) IS NULL OR clips.asset_id = :asset_id)
   AND (CAST(:before AS {uuid}) IS NULL OR clips.id < :before)
   AND clips.removed_at IS NULL
   AND clips.expires_at > {now}
 ORDER BY clips.id DESC
 LIMIT :n

-- name: open_clip_jobs
SELECT jobs.id FROM clips JOIN jobs ON jobs.id = clips.job_id
 WHERE clips.asset_id = :asset_id AND jobs.status IN ('queued', 'running')

-- name: clip_of_job
SELECT id, asset_id, mode FROM clips WHERE job_id = :job_id AND removed_at IS NULL

-- name: keep_clip_longer
-- Whoever asks for a clip that is there may keep it for as long as a new one.
UPDATE clips SET expires_at = {now} + :lifetime_ms WHERE id = :id AND expires_at < {now} + :lifetime_ms

-- name: clip_ready
UPDATE clips
   SET ready_at = {now}, made = :made, actual_start = :actual_start, actual_end = :actual_end
 WHERE id = :id
   AND removed_at IS NULL
RETURNING id

-- name: drop_clip
DELETE FROM clips WHERE id = :id RETURNING id

-- name: remove_expired_clips
-- Their names go at once; the rows stay to say that their time is over.
UPDATE clips
   SET removed_at = {now}
 WHERE id IN (SELECT id FROM clips WHERE removed_at IS NULL AND expires_at <= {now} ORDER BY expires_at LIMIT :n)
RETURNING id, asset_id

-- name: forget_clips
DELETE FROM clips WHERE removed_at <= {now} - :keep_ms

-- name: drop_artifact
DELETE FROM artifacts WHERE name = :name

-- name: purge_clips
DELETE FROM clips WHERE asset_id = :id
