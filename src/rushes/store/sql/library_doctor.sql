-- What `rushes doctor` asks about the library. Each check returns the rows that break it: `id`, and a
-- `detail` where one helps.

-- name: doctor_pointers
SELECT assets.id, assets.version AS detail
  FROM assets
  LEFT JOIN versions ON versions.asset_id = assets.id AND versions.n = assets.version
 WHERE assets.version > 0
   AND (versions.closed_at IS NULL OR versions.published_at IS NULL)
 LIMIT :n

-- name: doctor_unaccepted
-- Files of an attempt that did not end well, or that lie where another attempt wrote.
SELECT artifacts.asset_id AS id, artifacts.name AS detail
  FROM artifacts
 WHERE substr(artifacts.key, 1, length({attempt_folder})) <> {attempt_folder}
    OR NOT EXISTS (SELECT 1
                     FROM attempts
                    WHERE attempts.task_id = artifacts.task_id
                      AND attempts.epoch = artifacts.epoch
                      AND attempts.outcome = 'done')
 LIMIT :n

-- fragment: attempt_folder
'objects/' || artifacts.asset_id || '/' || artifacts.task_id || '-' || artifacts.epoch || '/'

-- name: doctor_texts
SELECT asset_id AS id, 'text' AS detail
  FROM spans
 WHERE NOT EXISTS (SELECT 1 FROM assets WHERE assets.id = spans.asset_id)
 UNION
SELECT asset_id, 'entity'
  FROM entities
 WHERE NOT EXISTS (SELECT 1 FROM spans WHERE spans.id = entities.span_id AND spans.asset_id = entities.asset_id)
 LIMIT :n

-- name: doctor_index
SELECT id, 'not in the index' AS detail FROM spans WHERE terms <> '' AND id NOT IN (SELECT id FROM spans_fts_docsize)  --@sqlite
 UNION ALL  --@sqlite
SELECT id, 'not a text' FROM spans_fts_docsize WHERE id NOT IN (SELECT id FROM spans WHERE terms <> '')  --@sqlite
SELECT id, NULL AS detail FROM spans WHERE (terms <> '') <> (lexemes IS NOT NULL)  --@postgres
 LIMIT :n

-- name: doctor_vocabulary
-- Words that are counted, and not as often as texts of videos that are not deleted have them.
SELECT word AS id, sum(n) AS detail
  FROM (SELECT owner, word, n FROM vocabulary
         UNION ALL
        SELECT assets.owner, t.value, -count(DISTINCT spans.id)  --@sqlite
        SELECT assets.owner, t.value COLLATE "C", -count(DISTINCT spans.id)  --@postgres
          FROM assets
          JOIN spans ON spans.asset_id = assets.id
          JOIN json_each('["' || replace(spans.terms, ' ', '","') || '"]') AS t  --@sqlite
         CROSS JOIN LATERAL unnest(string_to_array(spans.terms, ' ')) AS t(value)  --@postgres
         WHERE assets.deleted_at IS NULL
           AND t.value <> ''
           AND substr(t.value, 1, 1) <> ':'
         GROUP BY assets.owner, t.value) AS counted
 GROUP BY owner, word
HAVING sum(n) <> 0
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
 WHERE version > 0
   AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.asset_id = artifacts.asset_id AND versions.n = artifacts.version)
 UNION
SELECT asset_id, 'file of a clip'
  FROM artifacts
 WHERE version = 0
   AND NOT EXISTS (SELECT 1 FROM clips WHERE clips.asset_id = artifacts.asset_id
                                         AND artifacts.name = 'clips/' || clips.asset_id || '/' || clips.id || '.mp4')
 UNION
SELECT asset_id, 'clip'
  FROM clips
 WHERE NOT EXISTS (SELECT 1 FROM assets WHERE assets.id = clips.asset_id)
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
