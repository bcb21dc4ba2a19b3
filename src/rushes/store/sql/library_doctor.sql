-- What `rushes doctor` asks about the library. Each check returns the rows that break it: `id`, and a
-- `detail` where one helps.

-- name: doctor_pointers
SELECT assets.id, assets.version AS detail
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = assets.version
 WHERE assets.version > 0
   AND (versions.closed_at IS NULL OR versions.published_at IS NULL)
 LIMIT :n

-- name: doctor_texts
SELECT asset_id AS id, 'text' AS detail
  FROM spans
 WHERE NOT EXISTS (SELECT 1 FROM assets WHERE assets.id = spans.asset_id)
 UNION
SELECT asset_id, 'entity'
  FROM entities
 WHERE NOT EXISTS (SELECT 1 FROM spans WHERE spans.id = entities.span_id AND spans.asset_id = entities.asset_id)
 LIMIT :n

-- name: doctor_unowned
SELECT asset_id AS id, 'version' AS detail
  FROM versions
 WHERE NOT EXISTS (SELECT 1 FROM assets WHERE assets.id = versions.asset_id)
 UNION
SELECT asset_id, 'quality'
  FROM renditions
 WHERE NOT EXISTS (SELECT 1 FROM versions WHERE versions.asset_id = renditions.asset_id AND versions.n = renditions.version)
 UNION
SELECT asset_id, 'file'
  FROM artifacts
 WHERE NOT EXISTS (SELECT 1 FROM versions WHERE versions.asset_id = artifacts.asset_id AND versions.n = artifacts.version)
 LIMIT :n

-- name: asset_ids
-- All of them, deleted ones too.
SELECT id FROM assets ORDER BY id

-- name: files_of_asset
-- Every file that a row names: where it lies, and how to know it again.
SELECT key, bytes, sha256 FROM artifacts WHERE asset_id = :asset_id
 UNION
SELECT source_key, bytes, sha256 FROM assets WHERE id = :asset_id
 ORDER BY key

-- name: is_named
SELECT 1 AS named FROM artifacts WHERE key = :key
 UNION
SELECT 1 FROM assets WHERE source_key = :key
