-- Statements on `assets`, `versions`, `renditions` and `artifacts`.

-- fragment: asset_columns
assets.id, assets.owner, assets.title, assets.tags, assets.filename, assets.source_key, assets.bytes, assets.sha256, assets.source,
assets.duration_ms, assets.version, assets.revision, assets.created_at, assets.updated_at, assets.playable_at, assets.ready_at,
assets.searchable_at, assets.deleted_at

-- fragment: latest_version
-- The newest version of an asset and the job that makes it.
SELECT newest.n FROM versions AS newest WHERE newest.asset_id = assets.id ORDER BY newest.n DESC LIMIT 1

-- name: add_asset
INSERT INTO assets (id, owner, title, tags, filename, source_key, bytes, sha256, created_at, updated_at)
VALUES (:id, :owner, :title, :tags, :filename, :source_key, :bytes, :sha256, {now}, {now})

-- name: same_content
-- Assets of one owner with this content that are not deleted, the oldest first.
SELECT id FROM assets WHERE owner = :owner AND sha256 = :sha256 AND deleted_at IS NULL ORDER BY id

-- name: asset
SELECT {asset_columns}, versions.n AS newest, versions.job_id, jobs.status AS job_status, jobs.failure
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = ({latest_version})
  LEFT JOIN jobs ON jobs.id = versions.job_id
 WHERE assets.id = :id

-- name: list_assets
-- Newest first; :after is the id of the last one of the page before. :owner NULL: everybody's.
SELECT {asset_columns}, versions.n AS newest, versions.job_id, jobs.status AS job_status, jobs.failure
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = ({latest_version})
  LEFT JOIN jobs ON jobs.id = versions.job_id
 WHERE (assets.deleted_at IS NOT NULL) = :deleted
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND (CAST(:after AS {uuid}) IS NULL OR assets.id < :after)
 ORDER BY assets.id DESC
 LIMIT :n

-- name: list_oldest_assets
SELECT {asset_columns}, versions.n AS newest, versions.job_id, jobs.status AS job_status, jobs.failure
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = ({latest_version})
  LEFT JOIN jobs ON jobs.id = versions.job_id
 WHERE (assets.deleted_at IS NOT NULL) = :deleted
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
   AND (CAST(:after AS {uuid}) IS NULL OR assets.id > :after)
 ORDER BY assets.id
 LIMIT :n

-- name: count_assets
SELECT (assets.ready_at IS NOT NULL) AS is_ready, jobs.status AS job_status,
       CAST(count(*) AS integer) AS n, CAST(coalesce(sum(assets.duration_ms), 0) AS bigint) AS duration_ms
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = ({latest_version})
  LEFT JOIN jobs ON jobs.id = versions.job_id
 WHERE assets.deleted_at IS NULL
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
 GROUP BY 1, 2

-- name: count_spans
-- How many texts were read in the picture.
SELECT spans.asset_id, CAST(count(*) AS integer) AS n
  FROM {rows:assets(id uuid)} AS a
  JOIN spans ON spans.asset_id = a.id AND spans.kind = 'screen'
 GROUP BY spans.asset_id

-- name: find_assets
-- Assets whose id begins or ends like this; two are enough to know that it is not unique.
SELECT id
  FROM assets
 WHERE (CAST(id AS text) LIKE :starts OR CAST(id AS text) LIKE :ends)
   AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)
 ORDER BY id
 LIMIT 2

-- name: whole_asset
-- The asset of a whole id, which need not be searched for.
SELECT id FROM assets WHERE id = :id AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner)

-- name: newest_asset
SELECT id FROM assets WHERE deleted_at IS NULL AND (CAST(:owner AS text) IS NULL OR assets.owner = :owner) ORDER BY id DESC LIMIT 1

-- name: describe_asset
UPDATE assets SET source = :source, duration_ms = :duration_ms, updated_at = {now} WHERE id = :id

-- name: edit_asset
UPDATE assets
   SET title = :title, tags = :tags, updated_at = {now}, revision = revision + 1
 WHERE id = :id
   AND (CAST(:revision AS integer) IS NULL OR revision = :revision)
RETURNING revision

-- name: delete_asset
UPDATE assets SET deleted_at = {now}, updated_at = {now}, revision = revision + 1 WHERE id = :id AND deleted_at IS NULL RETURNING id

-- name: restore_asset
UPDATE assets SET deleted_at = NULL, updated_at = {now}, revision = revision + 1 WHERE id = :id AND deleted_at IS NOT NULL RETURNING id

-- name: purgeable_assets
-- None of them is restored before the rows that belong to it are gone as well.
SELECT id, source_key FROM assets WHERE deleted_at <= {now} - :keep_ms ORDER BY deleted_at LIMIT :n
   FOR UPDATE  --@postgres

-- name: purge_spans
DELETE FROM spans WHERE asset_id = :id

-- name: purge_artifacts
DELETE FROM artifacts WHERE asset_id = :id

-- name: purge_renditions
DELETE FROM renditions WHERE asset_id = :id

-- name: purge_versions
DELETE FROM versions WHERE asset_id = :id

-- name: purge_asset
DELETE FROM assets WHERE id = :id AND deleted_at IS NOT NULL

-- name: mark_playable
-- The first version that can be watched, and only the first time.
UPDATE assets SET playable_at = {now}, updated_at = {now} WHERE id = :id AND playable_at IS NULL RETURNING id

-- name: mark_searchable
UPDATE assets SET searchable_at = {now}, updated_at = {now} WHERE id = :id

-- name: publish
-- The one pointer that is switched. An older version never takes the place of a newer one.
UPDATE assets
   SET version = :n, ready_at = coalesce(ready_at, {now}), playable_at = coalesce(playable_at, {now}), updated_at = {now}
 WHERE id = :id
   AND version < :n
RETURNING id

-- name: mark_published
UPDATE versions SET published_at = {now}, changes = changes + 1 WHERE asset_id = :id AND n = :n

-- name: supersede
UPDATE versions SET superseded_at = {now} WHERE asset_id = :id AND n < :n AND superseded_at IS NULL

-- name: add_version
INSERT INTO versions (asset_id, n, job_id, options, created_at)
SELECT CAST(:asset_id AS {uuid}), coalesce(max(n), 0) + 1, CAST(:job_id AS {uuid}), :options, {now}
  FROM versions
 WHERE asset_id = :asset_id
RETURNING n

-- name: version_of_job
SELECT asset_id, n, grid, options FROM versions WHERE job_id = :job_id

-- name: versions
SELECT n, job_id, grid, options, changes, laid_out, created_at, closed_at, published_at, superseded_at
  FROM versions
 WHERE asset_id = :asset_id
 ORDER BY n

-- name: set_grid
UPDATE versions SET grid = :grid, changes = changes + 1 WHERE asset_id = :asset_id AND n = :n

-- name: touch_version
UPDATE versions SET changes = changes + 1 WHERE asset_id = :asset_id AND n = :n

-- name: close_version
UPDATE versions SET closed_at = {now}, changes = changes + 1 WHERE asset_id = :asset_id AND n = :n AND closed_at IS NULL RETURNING n

-- name: versions_to_lay_out
SELECT versions.asset_id, versions.n, versions.changes
  FROM versions
 WHERE versions.changes > versions.laid_out
 ORDER BY versions.asset_id, versions.n
 LIMIT :n

-- name: laid_out
UPDATE versions SET laid_out = :changes WHERE asset_id = :asset_id AND n = :n AND laid_out < :changes

-- name: lay_out_anew
UPDATE versions SET laid_out = 0

-- name: superseded_versions
-- As long as the folder does not show the newer version, the older one is still needed there.
SELECT versions.asset_id, versions.n
  FROM versions
  JOIN assets ON assets.id = versions.asset_id
  JOIN versions AS published ON published.asset_id = assets.id AND published.n = assets.version
 WHERE versions.superseded_at <= {now} - :keep_ms
   AND published.laid_out = published.changes
 ORDER BY versions.superseded_at
 LIMIT :n

-- name: drop_artifacts
DELETE FROM artifacts WHERE asset_id = :asset_id AND version = :n

-- name: drop_renditions
DELETE FROM renditions WHERE asset_id = :asset_id AND version = :n

-- name: drop_version
DELETE FROM versions WHERE asset_id = :asset_id AND n = :n

-- name: add_renditions
INSERT INTO renditions (asset_id, version, name, width, height, channels, language, maxrate_bps, required, status, segments_total)
SELECT CAST(:asset_id AS {uuid}), CAST(:version AS integer), r.name, r.width, r.height, r.channels, r.language, r.maxrate_bps, r.required, r.status, r.segments_total
  FROM {rows:renditions(name text, width integer, height integer, channels integer, language text, maxrate_bps integer,
                        required boolean, status text, segments_total integer)} AS r
 WHERE TRUE
    ON CONFLICT DO NOTHING

-- name: renditions
SELECT name, width, height, channels, language, maxrate_bps, required, codecs, init_sha256, status, segments_total, segments_completed,
       started_at, completed_at, error
  FROM renditions
 WHERE asset_id = :asset_id
   AND version = :version
 ORDER BY channels, height DESC, name

-- name: chunk_in_work
-- Whether a chunk of a version is being encoded.
SELECT tasks.id
  FROM versions
  JOIN tasks ON tasks.job_id = versions.job_id
 WHERE versions.asset_id = :asset_id
   AND versions.n = :n
   AND tasks.step = 'transcode'
   AND tasks.state = 'running'
 LIMIT 1

-- name: grow_rendition
-- Count segments that were committed. A rendition that failed in another chunk stays failed.
UPDATE renditions
   SET segments_completed = segments_completed + :n,
       codecs = :codecs,
       init_sha256 = :init_sha256,
       started_at = coalesce(started_at, {now}),
       status = CASE WHEN status = 'failed' THEN 'failed'
                     WHEN segments_completed + :n = segments_total THEN 'completed' ELSE 'in_progress' END,
       completed_at = CASE WHEN status <> 'failed' AND segments_completed + :n = segments_total THEN {now} END
 WHERE asset_id = :asset_id
   AND version = :version
   AND name = :name
   AND coalesce(codecs, :codecs) = :codecs
   AND coalesce(init_sha256, :init_sha256) = :init_sha256
RETURNING name

-- name: fail_rendition
UPDATE renditions
   SET status = 'failed', error = :error, completed_at = NULL
 WHERE asset_id = :asset_id AND version = :version AND name = :name

-- name: copy_renditions
-- What a new version takes over from an older one as it is.
INSERT INTO renditions (asset_id, version, name, width, height, channels, language, maxrate_bps, required, codecs, init_sha256, status,
                        segments_total, segments_completed, started_at, completed_at)
SELECT asset_id, CAST(:to AS integer), name, width, height, channels, language, maxrate_bps, required, codecs, init_sha256, status,
       segments_total, segments_completed, started_at, completed_at
  FROM renditions
 WHERE asset_id = :asset_id
   AND version = :from
   AND status = 'completed'
   AND name IN (SELECT name FROM {rows:names(name text)} AS n)

-- name: add_artifacts
-- A name that exists is left as it is: the inits of a rendition's chunks are the same.
INSERT INTO artifacts (name, asset_id, version, key, bytes, sha256, task_id, epoch, created_at)
SELECT a.name, CAST(:asset_id AS {uuid}), CAST(:version AS integer), a.key, a.bytes, a.sha256, CAST(:task_id AS bigint), CAST(:epoch AS integer), {now}
  FROM {rows:artifacts(name text, key text, bytes bigint, sha256 text)} AS a
 WHERE TRUE
    ON CONFLICT (name) DO NOTHING

-- name: copy_artifacts
INSERT INTO artifacts (name, asset_id, version, key, bytes, sha256, task_id, epoch, created_at)
SELECT CAST(:to_prefix AS text) || substr(name, length(CAST(:from_prefix AS text)) + 1), asset_id, CAST(:to AS integer), key, bytes, sha256, task_id, epoch, created_at
  FROM artifacts
 WHERE asset_id = :asset_id
   AND version = :from
   AND name LIKE :starts

-- name: artifact
SELECT name, asset_id, version, key, bytes, sha256 FROM artifacts WHERE name = :name

-- name: artifacts
SELECT name, key, bytes, sha256, task_id, epoch
  FROM artifacts
 WHERE asset_id = :asset_id
   AND version = :version
 ORDER BY name

-- name: keys_in_use
-- Which of these keys some name still stands for.
SELECT DISTINCT artifacts.key
  FROM {rows:keys(key text)} AS k
  JOIN artifacts ON artifacts.key = k.key

-- name: attempt_is_live
-- Whether the attempt that writes into a folder may still be at work.
SELECT id FROM tasks WHERE id = :task_id AND state = 'running' AND lease_epoch = :epoch

-- name: add_spans
INSERT INTO spans (asset_id, kind, start_ms, end_ms, text, normalized, hash, confidence, x, y, width, height, language, terms, indexed)
SELECT CAST(:asset_id AS {uuid}), s.kind, s.start_ms, s.end_ms, s.text, s.normalized, s.hash, s.confidence, s.x, s.y, s.width, s.height,
       s.language, s.terms, s.indexed
  FROM {rows:spans(kind text, start_ms bigint, end_ms bigint, text text, normalized text, hash text, confidence double precision,
                   x integer, y integer, width integer, height integer, language text, terms text, indexed integer)} AS s
 WHERE TRUE
RETURNING id

-- name: add_entities
INSERT INTO entities (span_id, asset_id, kind, value, normalized, begins, ends)
SELECT e.span_id, CAST(:asset_id AS {uuid}), e.kind, e.value, e.normalized, e.begins, e.ends
  FROM {rows:entities(span_id bigint, kind text, value text, normalized text, begins integer, ends integer)} AS e

-- name: spans
-- What was read from the picture.
SELECT id, start_ms, end_ms, text, normalized, confidence, x, y, width, height, language
  FROM spans
 WHERE asset_id = :asset_id
   AND kind = 'screen'
 ORDER BY start_ms, id

-- name: entities
SELECT span_id, kind, value, normalized, begins, ends FROM entities WHERE asset_id = :asset_id ORDER BY id
